#pragma once

/// The hashes that a program computes: those of its policies, and XXH64 whatever they are.

#include <mdstream/hash/hash.hpp>
#include <mdstream/hash/xxh64.hpp>

#include <string>
#include <string_view>

namespace mdstream::inline v0 {

namespace detail {

/// Whether a program with this policy computes the hash of that name.
template <hash_policy H>
[[nodiscard]] bool can_hash(std::string_view name) noexcept {
  return H::serves(name) || hash::xxh64::serves(name);
}

/// Throws errc::unsupported for a hash that the program does not compute.
template <hash_policy H>
void require_hash(std::string_view name) {
  if (!can_hash<H>(name)) (void)H::open(name);
}

/// Calls `use(hash)` with a computation of that name. Throws errc::unsupported for one that the
/// program does not compute.
template <hash_policy H, class Use>
[[nodiscard]] std::string with_hash(std::string_view name, const Use& use) {
  if (!H::serves(name) && hash::xxh64::serves(name)) return use(hash::xxh64());
  return use(H::open(name));
}

}  // namespace detail

/// The digest of `bytes` under the hash of that name. Throws errc::unsupported for one that the
/// program does not compute.
template <hash_policy H>
[[nodiscard]] std::string hash_of(std::string_view name, bytes_view bytes) {
  return detail::with_hash<H>(name, [bytes](auto hash) {
    hash.update(bytes);
    return hash.hex();
  });
}

}  // namespace mdstream::inline v0
