#pragma once

/// Makes the MDS shard of one cut.

#include <mdstream/raw/format.hpp>

#include <cstdint>
#include <vector>

namespace mdstream::inline v0::raw::detail {

/// A cut's rows as an MDS shard.
struct transcoded {
  std::vector<std::byte> shard{};
  std::uint64_t samples = 0;
  std::uint64_t skipped = 0;  ///< rows that were left out, where the options allow it
};

/// About how many bytes the MDS shard of a cut has: exactly, where samples have one size, and
/// no less, where no column has numbers or JSON that take more room than their text.
/// `key_bytes`: of the keys of its objects.
[[nodiscard]] std::uint64_t estimated_shard_bytes(const sample_layout& layout, const cut& each,
                                                  std::uint64_t key_bytes);

/// How many rows of a cut can be read, where the options have others left out: what an index has to
/// tell as the cut's samples then.
[[nodiscard]] std::uint64_t readable_samples(const source_format& format,
                                             const std::vector<column>& columns,
                                             const cut_source& source);

/// Adds the samples of a cut, whose bytes `source` has, to `out`. Throws errc::corrupt, naming the
/// object, if the bytes are not those that were cut, or make another number of samples.
void transcode_into(const source_format& format, const cut& expected, const cut_source& source,
                    sample_sink& out);

/// The MDS shard of a cut. Throws as `transcode_into` does, and what the format refuses: an error
/// that names object, sample and byte.
[[nodiscard]] transcoded transcode(const source_format& format, const std::vector<column>& columns,
                                   const cut& expected, const cut_source& source);

}  // namespace mdstream::inline v0::raw::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/raw/detail/impl/transcode.ipp>
#endif
