#pragma once

#include <mdstream/hash/xxhash.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::hash::detail {

MDSTREAM_INLINE void xxh32_family::reset(state& s) noexcept { XXH32_reset(&s, 0); }

MDSTREAM_INLINE void xxh32_family::update(state& s, bytes_view b) noexcept {
  XXH32_update(&s, b.data(), b.size());
}

MDSTREAM_INLINE XXH32_canonical_t xxh32_family::digest(const state& s) noexcept {
  XXH32_canonical_t out;
  XXH32_canonicalFromHash(&out, XXH32_digest(&s));
  return out;
}

MDSTREAM_INLINE void xxh3_64_family::reset(state& s) noexcept { XXH3_64bits_reset(&s); }

MDSTREAM_INLINE void xxh3_64_family::update(state& s, bytes_view b) noexcept {
  XXH3_64bits_update(&s, b.data(), b.size());
}

MDSTREAM_INLINE XXH64_canonical_t xxh3_64_family::digest(const state& s) noexcept {
  XXH64_canonical_t out;
  XXH64_canonicalFromHash(&out, XXH3_64bits_digest(&s));
  return out;
}

MDSTREAM_INLINE void xxh3_128_family::reset(state& s) noexcept { XXH3_128bits_reset(&s); }

MDSTREAM_INLINE void xxh3_128_family::update(state& s, bytes_view b) noexcept {
  XXH3_128bits_update(&s, b.data(), b.size());
}

MDSTREAM_INLINE XXH128_canonical_t xxh3_128_family::digest(const state& s) noexcept {
  XXH128_canonical_t out;
  XXH128_canonicalFromHash(&out, XXH3_128bits_digest(&s));
  return out;
}

}  // namespace mdstream::inline v0::hash::detail
