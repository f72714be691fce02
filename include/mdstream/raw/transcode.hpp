#pragma once

/// Makes the MDS shard of one cut.

#include <mdstream/core/crc32c.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/raw/format.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0::raw {

/// A cut's rows as an MDS shard.
struct transcoded {
  std::vector<std::byte> shard{};
  std::uint64_t samples = 0;
  std::uint64_t skipped = 0;  ///< rows that were left out, where the options allow it
};

/// How many rows of a cut can be read, where the options have others left out: what an index has to
/// tell as the cut's samples then.
[[nodiscard]] inline std::uint64_t readable_samples(const source_format& format,
                                                    const std::vector<column>& columns,
                                                    const cut_source& source) {
  sample_sink out(format.settings(), columns, std::string(source.first().key));
  format.get().transcode(source, out);
  return out.samples();
}

/// Adds the samples of a cut, whose bytes `source` has, to `out`. Throws errc::corrupt, naming the
/// object, if the bytes are not those that were cut, or make another number of samples.
inline void transcode_into(const source_format& format, const cut& expected,
                           const cut_source& source, sample_sink& out) {
  const std::uint64_t before = out.samples();
  diagnostics where{.url = std::string(source.first().key), .byte = source.first().offset};
  if (expected.crc32c && mdstream::crc32c(source.bytes()) != *expected.crc32c) {
    where.what = "the object has changed since it was indexed: the checksum of " +
                 std::to_string(source.bytes().size()) + " bytes differs";
    throw error(errc::corrupt, std::move(where));
  }
  format.get().transcode(source, out);
  const std::uint64_t found = out.samples() - before;
  if (found == expected.samples) return;
  where.what = "the index says that " + std::to_string(expected.samples) +
               " samples begin here, but there are " + std::to_string(found);
  throw error(errc::corrupt, std::move(where));
}

/// The MDS shard of a cut. Throws as `transcode_into` does, and what the format refuses: an error
/// that names object, sample and byte.
[[nodiscard]] inline transcoded transcode(const source_format& format,
                                          const std::vector<column>& columns, const cut& expected,
                                          const cut_source& source) {
  sample_sink out(format.settings(), columns, std::string(source.first().key), expected.bytes);
  transcode_into(format, expected, source, out);
  const bytes_view shard = out.finish();
  return {{shard.begin(), shard.end()}, out.samples(), out.skipped()};
}

}  // namespace mdstream::inline v0::raw
