#pragma once

/// 64-bit FNV-1a: fingerprints of datasets, mixes and orders. Not for integrity, not for secrets.
/// Source: the constants of the FNV page by Fowler, Noll and Vo.

#include <mdstream/core/bytes.hpp>

#include <cstdint>
#include <string_view>
#include <type_traits>

namespace mdstream::inline v0 {

/// FNV-1a in 64 bits, step by step: a digest for tests and logs that needs no library. Not for
/// shards.
class fnv1a {
 public:
  fnv1a& add(bytes_view bytes) noexcept {
    for (const std::byte b : bytes) hash_ = (hash_ ^ std::to_integer<std::uint64_t>(b)) * prime;
    return *this;
  }

  /// Adds the little-endian bytes of an integer or a double.
  template <class T>
    requires std::is_arithmetic_v<T>
  fnv1a& add(T value) noexcept {
    std::byte bytes[sizeof(T)];
    store_to(bytes, value);
    return add(bytes_view(bytes));
  }

  /// Adds a text with its length, so that ("ab", "c") and ("a", "bc") differ.
  fnv1a& add(std::string_view text) noexcept {
    add(static_cast<std::uint64_t>(text.size()));
    return add(as_bytes(text));
  }

  [[nodiscard]] std::uint64_t value() const noexcept { return hash_; }

 private:
  static constexpr std::uint64_t prime = 0x100000001b3;
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace mdstream::inline v0
