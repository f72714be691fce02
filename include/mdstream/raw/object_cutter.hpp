#pragma once

/// Cuts an object into virtual shards: asks for its bytes, range by range, and gives its cuts.

#include <mdstream/core/error.hpp>
#include <mdstream/raw/format.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::raw {

/// A range of an object's plain bytes.
struct byte_range {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;

  friend bool operator==(const byte_range&, const byte_range&) = default;
};

/// What was found in an object, or in a stretch of it.
struct object_cuts {
  std::vector<cut> cuts{};
  std::string note{};  ///< what the format has to know of the object

  friend bool operator==(const object_cuts&, const object_cuts&) = default;
};

/// Cuts one object, or the stretch [from, to) of it: the samples that begin there. The result does
/// not depend on how the bytes are fed. Not for two threads at once.
///
///     object_cutter cutter(format, key, size);
///     while (const auto wanted = cutter.next())
///       cutter.feed(bytes_of(key, *wanted), is_end);
///     object_cuts found = cutter.finish();
class object_cutter {
 public:
  static constexpr std::uint64_t window_bytes = std::uint64_t{1} << 20;

  /// All of the object. `key` is what errors name; `object_bytes`: of all of it, where it is known.
  object_cutter(const source_format& format, std::string key,
                std::optional<std::uint64_t> object_bytes)
      : object_cutter(format, std::move(key), object_bytes, 0, cut_sink::no_end) {}

  /// The stretch [from, to); see `stretches`.
  object_cutter(const source_format& format, std::string key,
                std::optional<std::uint64_t> object_bytes, std::uint64_t from, std::uint64_t to)
      : format_(format.get().clone()),
        sink_(format.settings(), from, to),
        max_row_bytes_(format.settings().max_row_bytes.value),
        key_(std::move(key)),
        object_bytes_(object_bytes),
        at_(from == 0 ? 0 : from - std::min(from, format_->look_behind())),
        aligned_(from == 0) {}

  /// The bytes it needs next; nothing where it is done. The object may end before.
  [[nodiscard]] std::optional<byte_range> next() const {
    if (done_) return std::nullopt;
    return byte_range{at_, wanted_};
  }

  /// Takes bytes from `next()->offset` on, at best as many as wanted; `last`: the object ends with
  /// them. Where `next()` gives the same offset again, they were too few. Throws what the format
  /// refuses, naming object and byte.
  void feed(bytes_view bytes, bool last) {
    try {
      take({at_, bytes, last, object_bytes_});
    } catch (const error& e) {
      diagnostics where = e.where();
      where.url = key_;
      throw error(e.code(), std::move(where));
    }
  }

  /// What was found. Precondition: `next()` is nothing.
  [[nodiscard]] object_cuts finish() { return {sink_.finish(), sink_.note()}; }

 private:
  void take(const window& in) {
    std::uint64_t used = 0;
    if (!aligned_) {
      const auto begin = format_->resync(in, sink_.from());
      aligned_ = begin.has_value();
      if (begin) used = *begin - in.offset;
    }
    if (aligned_ && in.offset + used < sink_.to()) {
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
    if (used == 0 && !done_) grow(in);
  }

  static void check_end(const window& in, std::uint64_t used) {
    if (used == in.bytes.size()) return;
    throw error(errc::corrupt, diagnostics{.what = "the object ends within a sample",
                                           .byte = in.offset + in.bytes.size()});
  }

  /// Nothing of the window could be used: it holds less than a row.
  void grow(const window& in) {
    const std::uint64_t most = max_row_bytes_ + window_bytes;
    if (in.bytes.size() >= most)
      throw error(errc::unsupported,
                  diagnostics{.what = "a row is larger than max_row_bytes, " +
                                      std::to_string(max_row_bytes_) + ", or never ends",
                              .byte = in.offset});
    wanted_ = std::min(most, 2 * std::max<std::uint64_t>(window_bytes, in.bytes.size()));
  }

  std::unique_ptr<detail::erased_format> format_;
  cut_sink sink_;
  std::uint64_t max_row_bytes_;
  std::string key_;
  std::optional<std::uint64_t> object_bytes_;
  std::uint64_t at_;
  std::uint64_t wanted_ = window_bytes;
  bool aligned_;
  bool done_ = false;
};

/// Cuts an object that lies in memory.
[[nodiscard]] inline object_cuts cut_object(const source_format& format, std::string key,
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

/// The columns that an object's first rows have. No rows: more bytes are needed, unless the
/// object ends with them. Throws what the format refuses, naming object and byte.
[[nodiscard]] inline column_inference infer_columns(const source_format& format,
                                                    std::string_view key, const window& in) {
  column_inference out;
  try {
    format.get().infer(in, out);
  } catch (const error& e) {
    diagnostics where = e.where();
    where.url = key;
    throw error(e.code(), std::move(where));
  }
  return out;
}

/// How many stretches of an object of so many plain bytes can be cut in parallel: stretch k is
/// [k, k + 1) times `shard_bytes`. 1 where the format has to begin at the object's beginning.
[[nodiscard]] inline std::uint64_t stretches(const source_format& format, std::uint64_t bytes) {
  if (format.get().look_behind() == 0) return 1;
  const std::uint64_t each = format.settings().shard_bytes.value;
  return bytes / each + (bytes % each != 0 || bytes == 0 ? 1 : 0);
}

/// The cuts of an object from those of its stretches, in their order.
[[nodiscard]] inline object_cuts join_stretches(std::vector<object_cuts> found) {
  object_cuts out{.note = found.empty() ? "" : std::move(found.front().note)};
  for (object_cuts& each : found)
    out.cuts.insert(out.cuts.end(), std::make_move_iterator(each.cuts.begin()),
                    std::make_move_iterator(each.cuts.end()));
  return out;
}

}  // namespace mdstream::inline v0::raw
