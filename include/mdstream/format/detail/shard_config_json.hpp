#pragma once

/// The configuration of a shard as JSON: what MDS shards embed, and what entries of the index hold.

#include <mdstream/core/json/value.hpp>
#include <mdstream/format/sample_layout.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace mdstream::inline v0::detail {

/// The members of every shard's entry in the index, whatever its format.
[[nodiscard]] json::object common_config(shard_format format, const std::string& compression,
                                         const std::vector<std::string>& hashes,
                                         std::uint64_t size_limit);

/// The configuration of MDS shards of that layout.
[[nodiscard]] json::object mds_config(const sample_layout& layout, const std::string& compression,
                                      const std::vector<std::string>& hashes,
                                      std::uint64_t size_limit);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/format/detail/impl/shard_config_json.ipp>
#endif
