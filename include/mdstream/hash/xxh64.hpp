#pragma once

/// XXH64, seed 0, digest in canonical (big-endian) form: the hash that writers record when they are
/// not told otherwise, and that every program can check. Needs no library.
/// Source: the xxHash fast digest algorithm, version 0.1.1 (Yann Collet), section "XXH64".

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/detail/hex.hpp>
#include <mdstream/hash/hash.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace mdstream::inline v0::hash {

/// XXH64, without a library: the default of writers.
///
///     mds::hash::xxh64 hash;
///     hash.update(mds::as_bytes("a"));
///     const std::string digest = hash.hex();  // "d24ec4f1a98c6e5b"
class xxh64 {
 public:
  [[nodiscard]] static bool serves(std::string_view name) noexcept { return name == "xxh64"; }

  [[nodiscard]] static xxh64 open(std::string_view name) {
    if (!serves(name)) mdstream::detail::fail_unknown_hash(name, "xxh64");
    return {};
  }

  void update(bytes_view bytes) noexcept {
    total_ += bytes.size();
    if (kept_ != 0) {
      const std::size_t more = std::min(bytes.size(), stripe - kept_);
      std::copy_n(bytes.data(), more, rest_.data() + kept_);
      kept_ += more;
      bytes = bytes.subspan(more);
      if (kept_ < stripe) return;
      add(rest_.data(), stripe);
      kept_ = 0;
    }
    const std::size_t whole = bytes.size() / stripe * stripe;
    add(bytes.data(), whole);
    kept_ = bytes.size() - whole;
    std::copy_n(bytes.data() + whole, kept_, rest_.data());
  }

  [[nodiscard]] std::uint64_t value() const noexcept {
    std::uint64_t hash = p5;
    if (total_ >= stripe) {
      hash = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) +
             std::rotl(lanes_[3], 18);
      for (const std::uint64_t lane : lanes_) hash = (hash ^ round(0, lane)) * p1 + p4;
    }
    hash += total_;
    const std::byte* at = rest_.data();
    std::size_t left = kept_;
    for (; left >= 8; at += 8, left -= 8)
      hash = std::rotl(hash ^ round(0, load<std::uint64_t>(at)), 27) * p1 + p4;
    for (; left >= 4; at += 4, left -= 4)
      hash = std::rotl(hash ^ (load<std::uint32_t>(at) * p1), 23) * p2 + p3;
    for (; left > 0; ++at, --left)
      hash = std::rotl(hash ^ (std::to_integer<std::uint64_t>(*at) * p5), 11) * p1;
    hash = (hash ^ (hash >> 33)) * p2;
    hash = (hash ^ (hash >> 29)) * p3;
    return hash ^ (hash >> 32);
  }

  [[nodiscard]] std::string hex() const {
    std::array<std::byte, 8> digest;
    for (unsigned i = 0; i < 8; ++i) digest[i] = static_cast<std::byte>(value() >> (56 - 8 * i));
    return mdstream::detail::to_hex(digest);
  }

 private:
  static constexpr std::uint64_t p1 = 0x9e3779b185ebca87, p2 = 0xc2b2ae3d27d4eb4f,
                                 p3 = 0x165667b19e3779f9, p4 = 0x85ebca77c2b2ae63,
                                 p5 = 0x27d4eb2f165667c5;
  static constexpr std::size_t stripe = 32;

  template <class T>
  [[nodiscard]] static std::uint64_t load(const std::byte* from) noexcept {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  [[nodiscard]] static std::uint64_t round(std::uint64_t lane, std::uint64_t input) noexcept {
    return std::rotl(lane + input * p2, 31) * p1;
  }

  /// Whole stripes.
  void add(const std::byte* from, std::size_t bytes) noexcept {
    auto [a, b, c, d] = lanes_;
    for (const std::byte* const end = from + bytes; from != end; from += stripe) {
      a = round(a, load<std::uint64_t>(from));
      b = round(b, load<std::uint64_t>(from + 8));
      c = round(c, load<std::uint64_t>(from + 16));
      d = round(d, load<std::uint64_t>(from + 24));
    }
    lanes_ = {a, b, c, d};
  }

  std::array<std::uint64_t, 4> lanes_{p1 + p2, p2, 0, 0 - p1};
  std::array<std::byte, stripe> rest_{};
  std::size_t kept_ = 0;
  std::uint64_t total_ = 0;
};

static_assert(hash_policy<xxh64>);

}  // namespace mdstream::inline v0::hash
