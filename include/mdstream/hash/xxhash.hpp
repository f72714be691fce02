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
  static void reset(state& s) noexcept { XXH32_reset(&s, 0); }
  static void update(state& s, bytes_view b) noexcept { XXH32_update(&s, b.data(), b.size()); }
  static XXH32_canonical_t digest(const state& s) noexcept {
    XXH32_canonical_t out;
    XXH32_canonicalFromHash(&out, XXH32_digest(&s));
    return out;
  }
};

struct xxh3_64_family {
  static constexpr std::string_view name = "xxh3_64";
  static constexpr std::string_view alias = name;
  using state = XXH3_state_t;
  static void reset(state& s) noexcept { XXH3_64bits_reset(&s); }
  static void update(state& s, bytes_view b) noexcept {
    XXH3_64bits_update(&s, b.data(), b.size());
  }
  static XXH64_canonical_t digest(const state& s) noexcept {
    XXH64_canonical_t out;
    XXH64_canonicalFromHash(&out, XXH3_64bits_digest(&s));
    return out;
  }
};

struct xxh3_128_family {
  static constexpr std::string_view name = "xxh3_128";
  static constexpr std::string_view alias = "xxh128";
  using state = XXH3_state_t;
  static void reset(state& s) noexcept { XXH3_128bits_reset(&s); }
  static void update(state& s, bytes_view b) noexcept {
    XXH3_128bits_update(&s, b.data(), b.size());
  }
  static XXH128_canonical_t digest(const state& s) noexcept {
    XXH128_canonical_t out;
    XXH128_canonicalFromHash(&out, XXH3_128bits_digest(&s));
    return out;
  }
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
    return to_hex({reinterpret_cast<const std::byte*>(&digest), sizeof digest});
  }

 private:
  typename Family::state state_;
};

}  // namespace detail

using xxh32 = detail::xx<detail::xxh32_family>;
using xxh3_64 = detail::xx<detail::xxh3_64_family>;
using xxh3_128 = detail::xx<detail::xxh3_128_family>;
using xxh128 = xxh3_128;  ///< the same hash under its other name

static_assert(hash_policy<xxh32> && hash_policy<xxh3_64> && hash_policy<xxh3_128>);

}  // namespace hash

/// All of the family by name.
using any_xxhash = any_hash<hash::xxh32, hash::xxh64, hash::xxh3_64, hash::xxh3_128>;

}  // namespace mdstream::inline v0
