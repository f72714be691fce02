#pragma once

/// Digests by name: of the hashes of a policy, and of XXH64 whatever it is.

#include <mdstream/core/bytes.hpp>
#include <mdstream/hash/detail/hash_set.hpp>
#include <mdstream/hash/hash.hpp>

#include <string>
#include <string_view>

namespace mdstream::inline v0 {

/// The digest of `bytes` under the hash of that name. Throws errc::unsupported for one that the
/// program does not compute.
///
///     const std::string digest = mds::hash_of<mds::any_openssl_hash>("sha256", bytes);
template <hash_policy H>
[[nodiscard]] std::string hash_of(std::string_view name, bytes_view bytes) {
  return detail::hash_set::of<H>().hex_of(name, bytes);
}

}  // namespace mdstream::inline v0
