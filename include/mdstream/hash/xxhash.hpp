#pragma once

/// The xxHash family, seed 0, digests in canonical (big-endian) form. Needs only xxHash's header:
/// link mdstream::xxhash.

#if !__has_include(<xxhash.h>)
#error \
    "mdstream/hash/xxhash.hpp needs <xxhash.h>: install xxHash's header and link mdstream::xxhash"
#endif

#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <mdstream/hash/hash.hpp>
#include <mdstream/hash/xxh64.hpp>

#include <xxhash.h>

namespace mdstream::inline v0 {
namespace hash {

namespace detail {

struct xxh32_family {
  static constexpr std::string_view name = "xxh32";
  static constexpr std::string_view alias = name;
  using state = XXH32_state_t;
  static void reset(state& s) noexcept;
  static void update(state& s, bytes_view b) noexcept;
  static XXH32_canonical_t digest(const state& s) noexcept;
};

struct xxh3_64_family {
  static constexpr std::string_view name = "xxh3_64";
  static constexpr std::string_view alias = name;
  using state = XXH3_state_t;
  static void reset(state& s) noexcept;
  static void update(state& s, bytes_view b) noexcept;
  static XXH64_canonical_t digest(const state& s) noexcept;
};

struct xxh3_128_family {
  static constexpr std::string_view name = "xxh3_128";
  static constexpr std::string_view alias = "xxh128";
  using state = XXH3_state_t;
  static void reset(state& s) noexcept;
  static void update(state& s, bytes_view b) noexcept;
  static XXH128_canonical_t digest(const state& s) noexcept;
};

template <class Family>
class xx {
 public:
  xx() noexcept { Family::reset(state_); }

  [[nodiscard]] static bool serves(std::string_view name) noexcept {
    return name == Family::name || name == Family::alias;
  }

  [[nodiscard]] static xx open(std::string_view name) {
    if (!serves(name)) mdstream::detail::fail_unknown_hash(name, Family::name);
    return {};
  }

  void update(bytes_view bytes) noexcept {
    if (!bytes.empty()) Family::update(state_, bytes);
  }

  [[nodiscard]] std::string hex() const {
    const auto digest = Family::digest(state_);
    return mdstream::detail::to_hex({reinterpret_cast<const std::byte*>(&digest), sizeof digest});
  }

 private:
  typename Family::state state_;
};

}  // namespace detail

/// XXH32.
using xxh32 = detail::xx<detail::xxh32_family>;
/// XXH3 in 64 bits.
using xxh3_64 = detail::xx<detail::xxh3_64_family>;
/// XXH3 in 128 bits.
using xxh3_128 = detail::xx<detail::xxh3_128_family>;
using xxh128 = xxh3_128;  ///< the same hash under its other name

static_assert(hash_policy<xxh32> && hash_policy<xxh3_64> && hash_policy<xxh3_128>);

}  // namespace hash

/// All of the family by name.
using any_xxhash = any_hash<hash::xxh32, hash::xxh64, hash::xxh3_64, hash::xxh3_128>;

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/hash/detail/impl/xxhash.ipp>
#endif
