#pragma once

/// Which of the hashes that an index records a file is checked by.

#include <mdstream/format/file_info.hpp>
#include <mdstream/hash/detail/hash_set.hpp>

#include <string>
#include <string_view>

namespace mdstream::inline v0::detail {

/// Asked for in place of a hash's name: no hash is checked.
inline constexpr std::string_view no_hash = "none";

/// The hash to check a file by: that of the name asked for; when none is asked for, the cheapest of
/// those that are recorded and can be computed. Null: there is none.
[[nodiscard]] const file_hash* choose_hash(const file_info& file, std::string_view asked,
                                           hash_set hashes);

/// The digest of an open file. Throws as reading does.
[[nodiscard]] std::string hash_of_file(hash_set hashes, std::string_view name, int fd,
                                       const std::string& path);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/cache/detail/impl/choose_hash.ipp>
#endif
