#pragma once

/// From the streams that a cache is made of to its catalog.

#include <mdstream/cache/detail/catalog.hpp>
#include <mdstream/cache/options.hpp>
#include <mdstream/format/index.hpp>
#include <mdstream/hash/detail/hash_set.hpp>
#include <mdstream/store/opened_store.hpp>

#include <string>
#include <vector>

namespace mdstream::inline v0::detail {

/// Absolute, with no `.`, `..`, doubled or closing slash, so that equal places have equal names.
[[nodiscard]] std::string normal_path(const std::string& path);

/// `index` has to outlive the catalog.
[[nodiscard]] catalog_stream stream_of_index(const dataset_index& index, std::string name,
                                             std::string directory, const std::string& hash,
                                             hash_set hashes);

/// Whether a remote is the very directory that it would be cached in.
[[nodiscard]] bool is_same_place(const opened_store& remote, const std::string& prefix,
                                 const std::string& directory);

/// Throws `errc::invalid_argument` for options that cannot be right, `errc::unsupported` for a
/// hash that the program cannot compute.
[[nodiscard]] std::vector<catalog_stream> describe_streams(const std::vector<cache_stream>& streams,
                                                           hash_set hashes);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/cache/detail/impl/describe_streams.ipp>
#endif
