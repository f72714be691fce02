#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/raw/detail/object_cutter.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace mdstream::inline v0::raw::detail {

MDSTREAM_INLINE object_cutter::object_cutter(const source_format& format, std::string key,
                                             std::optional<std::uint64_t> object_bytes)
    : object_cutter(format, std::move(key), object_bytes, 0, cut_sink::no_end) {}

MDSTREAM_INLINE object_cutter::object_cutter(const source_format& format, std::string key,
                                             std::optional<std::uint64_t> object_bytes,
                                             std::uint64_t from, std::uint64_t to)
    : format_(format.get().clone()),
      sink_(format.settings(), from, to),
      max_row_bytes_(format.settings().max_row_bytes.value),
      key_(std::move(key)),
      object_bytes_(object_bytes),
      at_(from == 0 ? 0 : from - std::min(from, format_->look_behind())),
      aligned_(from == 0) {
  if (!format_->reads_tail()) return;
  wanted_ = std::min(object_bytes_.value_or(0), first_tail_bytes);
  at_ = object_bytes_.value_or(0) - wanted_;
}

MDSTREAM_INLINE std::optional<byte_range> object_cutter::next() const {
  if (done_) return std::nullopt;
  return byte_range{at_, wanted_};
}

MDSTREAM_INLINE void object_cutter::feed(bytes_view bytes, bool last) {
  detail::naming_object(key_, [&] {
    const window in{at_, bytes, last, object_bytes_};
    format_->reads_tail() ? take_tail(in) : take(in);
  });
}

MDSTREAM_INLINE void object_cutter::take_tail(const window& in) {
  if (!in.object_bytes)
    throw error(errc::unsupported,
                "the object tells at its end what it holds, and is compressed "
                "as a whole: decompress it");
  if (in.bytes.size() < wanted_) {
    if (in.last || (tried_ && in.bytes.size() <= *tried_))
      throw error(errc::corrupt, diagnostics{.what = "the object is shorter than its listing says",
                                             .byte = in.offset + in.bytes.size()});
    tried_ = in.bytes.size();
    return;
  }
  const std::uint64_t needed = format_->tail_bytes(in);
  if (needed > in.bytes.size()) {
    if (needed > max_row_bytes_ || needed > *in.object_bytes)
      throw error(errc::corrupt,
                  diagnostics{.what = "the object says that its last " + std::to_string(needed) +
                                      " bytes tell what it holds, which is more "
                                      "than it has or than max_row_bytes",
                              .byte = in.offset});
    wanted_ = needed;
    at_ = *in.object_bytes - needed;
    tried_.reset();
    return;
  }
  format_->cut(in, sink_);
  done_ = true;
}

MDSTREAM_INLINE void object_cutter::take(const window& in) {
  std::uint64_t used = 0;
  if (!aligned_) {
    const bool shows = in.bytes.size() >= sink_.from() - in.offset;
    if (!shows && in.last)
      throw error(errc::corrupt,
                  diagnostics{.what = "the object ends before the stretch that begins at byte " +
                                      std::to_string(sink_.from()) +
                                      ": it is shorter than its listing says",
                              .byte = in.offset + in.bytes.size()});
    const auto begin = shows ? format_->resync(in, sink_.from()) : std::nullopt;
    aligned_ = begin.has_value();
    if (begin) used = *begin - in.offset;
  }
  if (aligned_ && used <= in.bytes.size() && in.offset + used < sink_.to()) {
    const bytes_view rest = in.bytes.subspan(static_cast<std::size_t>(used));
    const std::uint64_t cut =
        format_->cut({in.offset + used, rest, in.last, in.object_bytes}, sink_);
    if (format_->sums())
      sink_.add_to_checksums({in.offset + used, rest.first(static_cast<std::size_t>(
                                                    std::min<std::uint64_t>(cut, rest.size())))});
    used += cut;
  }
  const std::uint64_t seen = aligned_ ? in.offset + used : in.offset + in.bytes.size();
  done_ = in.last || sink_.is_full() || seen >= sink_.to();
  if (in.last && aligned_ && seen < sink_.to() && !sink_.is_full()) check_end(in, used);
  at_ += used;
  wanted_ = window_bytes;
  if (used == 0 && !done_) return grow(in);
  tried_.reset();
}

MDSTREAM_INLINE void object_cutter::check_end(const window& in, std::uint64_t used) {
  if (used == in.bytes.size()) return;
  throw error(errc::corrupt, diagnostics{.what = "the object ends within a sample",
                                         .byte = in.offset + in.bytes.size()});
}

MDSTREAM_INLINE void object_cutter::grow(const window& in) {
  if (in.bytes.empty() || (tried_ && in.bytes.size() <= *tried_))
    throw error(errc::corrupt, diagnostics{.what = "the object has no more bytes, though it is "
                                                   "not said to end",
                                           .byte = in.offset + in.bytes.size()});
  tried_ = in.bytes.size();
  const std::uint64_t most = max_row_bytes_ + window_bytes;
  if (in.bytes.size() >= most)
    throw error(errc::unsupported,
                diagnostics{.what = "a row is larger than max_row_bytes, " +
                                    std::to_string(max_row_bytes_) + ", or never ends",
                            .byte = in.offset});
  wanted_ = std::min(most, 2 * std::max<std::uint64_t>(window_bytes, in.bytes.size()));
}

MDSTREAM_INLINE object_cuts cut_object(const source_format& format, std::string key,
                                       bytes_view bytes) {
  object_cutter cutter(format, std::move(key), bytes.size());
  while (const auto wanted = cutter.next()) {
    const std::uint64_t begin = std::min<std::uint64_t>(wanted->offset, bytes.size());
    const std::uint64_t count = std::min(wanted->bytes, bytes.size() - begin);
    cutter.feed(bytes.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count)),
                begin + count == bytes.size());
  }
  return cutter.finish();
}

MDSTREAM_INLINE column_inference infer_columns(const source_format& format, std::string_view key,
                                               const window& in) {
  column_inference out;
  detail::naming_object(key, [&] { format.get().infer(in, out); });
  return out;
}

MDSTREAM_INLINE std::uint64_t stretches(const source_format& format, std::uint64_t bytes) {
  if (format.get().look_behind() == 0) return 1;
  const std::uint64_t each = format.settings().shard_bytes.value;
  return bytes / each + (bytes % each != 0 || bytes == 0 ? 1 : 0);
}

MDSTREAM_INLINE object_cuts join_stretches(std::vector<object_cuts> found) {
  object_cuts out;
  if (!found.empty()) {
    out.note = std::move(found.front().note);
    out.entries = std::move(found.front().entries);
  }
  for (object_cuts& each : found)
    out.cuts.insert(out.cuts.end(), std::make_move_iterator(each.cuts.begin()),
                    std::make_move_iterator(each.cuts.end()));
  return out;
}

}  // namespace mdstream::inline v0::raw::detail
