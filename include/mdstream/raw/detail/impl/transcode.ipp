#pragma once

#include <mdstream/core/detail/crc32c.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/format/detail/shard_config_json.hpp>
#include <mdstream/raw/detail/transcode.hpp>
#include <mdstream/version.hpp>

#include <string>
#include <utility>

namespace mdstream::inline v0::raw::detail {

MDSTREAM_INLINE std::uint64_t estimated_shard_bytes(const sample_layout& layout, const cut& each,
                                                    std::uint64_t key_bytes) {
  const std::string config =
      json::dump(mdstream::detail::mds_config(layout, "", {}, 0), json::key_order::sorted);
  const std::uint64_t header = 8 + config.size();
  if (const auto size = layout.fixed_sample_size()) return header + each.samples * (*size + 4);
  std::uint64_t heads = 4;  // of a sample: its offset, the sizes of columns, and what has one size
  for (const column_layout& column : layout.columns()) heads += column.size.value_or(4);
  return header + each.bytes + each.samples * heads + key_bytes;
}

MDSTREAM_INLINE std::uint64_t readable_samples(const source_format& format,
                                               const std::vector<column>& columns,
                                               const cut_source& source) {
  sample_sink out(format.settings(), columns, std::string(source.first().key));
  detail::naming_object(source.first().key, [&] { format.get().transcode(source, out); });
  return out.samples();
}

MDSTREAM_INLINE void transcode_into(const source_format& format, const cut& expected,
                                    const cut_source& source, sample_sink& out) {
  const std::uint64_t before = out.samples();
  diagnostics where{.url = std::string(source.first().key), .byte = source.first().offset};
  std::uint64_t bytes = source.bytes().size(), expected_bytes = expected.bytes;
  const auto ranges = format.get().ranges(expected);
  if (ranges) {
    expected_bytes = 0;
    for (const byte_range& each : *ranges) expected_bytes += each.bytes;
  }
  if (ranges || format.get().takes_whole_objects()) {
    bytes = 0;
    for (const part& each : source.parts) bytes += each.bytes.size();
  }
  if (bytes != expected_bytes) {
    where.what = "the index says that a shard has " + std::to_string(expected_bytes) +
                 " bytes, but the object has " + std::to_string(bytes) + " of them";
    throw error(errc::corrupt, std::move(where));
  }
  if (expected.crc32c && mdstream::detail::crc32c(source.bytes()) != *expected.crc32c) {
    where.what = "the object has changed since it was indexed: the checksum of " +
                 std::to_string(source.bytes().size()) + " bytes differs";
    throw error(errc::corrupt, std::move(where));
  }
  detail::naming_object(source.first().key, [&] { format.get().transcode(source, out); });
  const std::uint64_t found = out.samples() - before;
  if (found == expected.samples) return;
  where.what = "the index says that " + std::to_string(expected.samples) +
               " samples begin here, but there are " + std::to_string(found);
  throw error(errc::corrupt, std::move(where));
}

MDSTREAM_INLINE transcoded transcode(const source_format& format,
                                     const std::vector<column>& columns, const cut& expected,
                                     const cut_source& source) {
  sample_sink out(format.settings(), columns, std::string(source.first().key), expected.bytes,
                  expected.samples);
  transcode_into(format, expected, source, out);
  const bytes_view shard = out.finish();
  return {{shard.begin(), shard.end()}, out.samples(), out.skipped()};
}

}  // namespace mdstream::inline v0::raw::detail
