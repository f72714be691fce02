#pragma once

/// Whether a shard that a killed writer stored is complete, and was written with the same options.

#include <mdstream/codec/detail/codec_set.hpp>
#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/core/json/value.hpp>
#include <mdstream/format/sample_layout.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::detail {

/// Returns the number of samples of a complete shard, of its raw data and its meta file (empty
/// where the format has none). Throws errc::corrupt if it is not complete, errc::schema_mismatch if
/// it was written with other options.
using stored_shard_check = std::function<std::uint64_t(bytes_view data, bytes_view meta)>;

/// A `stored_shard_check` of MDS shards. `config`: the options that they embed.
[[nodiscard]] std::uint64_t check_stored_mds(bytes_view shard, const json::object& config,
                                             const sample_layout& layout);

/// The same of shards of rows, whose data begin with `head` and whose meta files embed `config`.
[[nodiscard]] std::uint64_t check_stored_rows(bytes_view data, bytes_view meta,
                                              std::string_view head, const json::object& config);

/// Checks the entry of a shard in an index: throws errc::schema_mismatch if it was written with
/// other options.
void check_entry(std::string_view entry, const json::object& config, const diagnostics& where);

/// Decompresses a file whose raw size no index tells yet. Throws errc::corrupt if it is cut short,
/// and errc::unsupported for a codec that has to know the size.
[[nodiscard]] std::vector<std::byte> decompress_stored(const opened_codec& codec, bytes_view zip);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/writer/detail/impl/stored_shards.ipp>
#endif
