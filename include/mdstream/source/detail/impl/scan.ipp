#pragma once

#include <mdstream/raw/detail/transcode.hpp>
#include <mdstream/raw/tokens.hpp>
#include <mdstream/source/detail/scan.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::uint64_t stretch_of::to() const {
  return number + 1 == count ? raw::cut_sink::no_end
                             : (number + 1) * format->settings().shard_bytes.value;
}

MDSTREAM_INLINE std::uint64_t stretch_of::bytes() const {
  return std::min(to(), scanned().bytes) - std::min(from(), scanned().bytes);
}

MDSTREAM_INLINE error with_url(const error& e, const any_async_store& store,
                               const std::string& key) {
  diagnostics where = e.where();
  if (where.url == key || where.url.empty()) where.url = store.url(key);
  return error(e.code(), std::move(where));
}

MDSTREAM_INLINE raw::detail::column_inference first_columns(
    const raw::source_format& format, const std::string& key,
    std::optional<std::uint64_t> object_bytes, plain_bytes& bytes, std::uint64_t enough) {
  const std::uint64_t most =
      format.settings().max_row_bytes.value + raw::detail::object_cutter::window_bytes;
  std::uint64_t wanted = raw::detail::object_cutter::window_bytes, rows_before = 0;
  while (true) {
    const plain_bytes::piece piece = bytes.at(0, wanted);
    raw::detail::column_inference out;
    raw::window in{0, piece.bytes, piece.last, object_bytes};
    while (true) {
      try {
        out.merge(raw::detail::infer_columns(format, key, in));
        break;
      } catch (const error& e) {
        const std::uint64_t bad = e.where().byte.value_or(0);
        if (!format.settings().skip_bad || e.code() != errc::corrupt || bad < in.offset) throw;
        const auto next = format.get().resync(in, bad + 1);
        if (bad > in.offset)
          out.merge(raw::detail::infer_columns(
              format, key,
              {in.offset, in.bytes.first(static_cast<std::size_t>(bad - in.offset)), false}));
        if (!next || *next <= in.offset || *next > in.offset + in.bytes.size()) break;
        in.bytes = in.bytes.subspan(static_cast<std::size_t>(*next - in.offset));
        in.offset = *next;
      }
    }
    const bool grows = out.rows() == 0 || out.rows() > rows_before;
    if (piece.last || out.rows() >= raw::detail::column_inference::rows_of_an_object || !grows)
      return out;
    if (wanted >= (out.rows() == 0 ? most : enough)) return out;
    rows_before = out.rows();
    wanted *= 2;
  }
}

/// Tells the rows of each cut that can be read; cuts without any go. Returns how many were left
/// out.
MDSTREAM_INLINE std::uint64_t leave_bad_rows_out(const raw::source_format& format,
                                                 const std::string& key,
                                                 raw::detail::object_cuts& found,
                                                 plain_bytes& bytes) {
  std::uint64_t skipped = 0;
  for (raw::cut& each : found.cuts) {
    const plain_bytes::piece piece = bytes.at(each.offset, each.bytes);
    const raw::part part{key, each.offset, piece.bytes};
    const std::uint64_t rows = raw::detail::readable_samples(format, format.settings().columns,
                                                             {{&part, 1}, found.note, each.extra});
    skipped += each.samples - std::min(rows, each.samples);
    each.samples = rows;
  }
  std::erase_if(found.cuts, [](const raw::cut& each) { return each.samples == 0; });
  return skipped;
}

MDSTREAM_INLINE entry_spacing spacing_of(std::uint64_t shard_bytes, std::uint64_t object_bytes) {
  constexpr std::uint64_t least = std::uint64_t{256} << 10, most_points = 2048;
  const std::uint64_t shards = shard_bytes < least ? (least - 1) / shard_bytes + 1 : 1;
  return {.plain = shards * shard_bytes, .packed = object_bytes / most_points};
}

/// Adds what was found of entry points.
MDSTREAM_INLINE void add_entries(const std::vector<entry_point>& found,
                                 const raw::detail::listed_object& of,
                                 raw::detail::object_entries& entries,
                                 std::vector<std::byte>& states) {
  for (const entry_point& each : found) {
    entries.add(each.plain, each.packed, each.state.size(), of.key, of.bytes);
    states.insert(states.end(), each.state.begin(), each.state.end());
  }
}

MDSTREAM_INLINE raw::detail::scan_record scan_stretch(const any_async_store& store,
                                                      const stream_decoders& decoders,
                                                      const stretch_of& what,
                                                      const scan_request& wanted,
                                                      const std::stop_token& stop) {
  const raw::detail::listed_object& from = what.scanned();
  const raw::source_format& format = *what.format;
  raw::detail::scan_record out{
      .file = what.object->file, .beside = what.object->beside, .stretch = what.number};
  try {
    const auto open = [&] {
      return plain_bytes(store, from, open_decoder(decoders, from.key), what.to(), stop);
    };
    plain_bytes bytes = open();
    std::optional<raw::detail::object_entries> entries;
    if (wanted.notes_entries && !what.object->beside && can_enter(decoders, from.key)) {
      bytes.note_entries(spacing_of(format.settings().shard_bytes.value, from.bytes));
      entries.emplace();
    }
    std::optional<std::uint64_t> object_bytes;
    if (!bytes.is_compressed()) object_bytes = what.object->file.bytes;
    std::uint64_t told = 0;
    const auto tell = [&] {
      const std::uint64_t now = std::min(bytes.bytes_read(), what.bytes());
      if (now > told && wanted.on_bytes) wanted.on_bytes(now - told);
      told = std::max(told, now);
    };
    const bool by_tail = format.get().reads_tail();
    if (wanted.infers && what.number == 0 && !by_tail)
      out.columns = first_columns(format, from.key, object_bytes, bytes);
    if (!wanted.cuts && !by_tail) return out;
    raw::detail::object_cutter cutter(format, from.key, object_bytes, what.from(), what.to());
    raw::window seen;
    while (const auto range = cutter.next()) {
      const plain_bytes::piece piece = bytes.at(range->offset, range->bytes);
      seen = {range->offset, piece.bytes, piece.last, object_bytes};
      cutter.feed(piece.bytes, piece.last);
      if (entries) add_entries(bytes.take_entries(), from, *entries, out.states);
      tell();
    }
    out.found = cutter.finish();
    out.found.entries = std::move(entries);
    if (wanted.infers && by_tail) out.columns = raw::detail::infer_columns(format, from.key, seen);
    if (wanted.leaves_bad_rows_out && !what.object->beside &&
        format.settings().format != raw::tokens::name) {
      plain_bytes again = open();
      out.skipped = leave_bad_rows_out(format, from.key, out.found, again);
    }
    if (wanted.on_bytes) wanted.on_bytes(what.bytes() - told);
  } catch (const error& e) {
    throw with_url(e, store, from.key);
  }
  return out;
}

}  // namespace mdstream::inline v0::detail
