#pragma once

// What every codec has to do.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mdstream/codec/codec.hpp>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/seed.hpp"

namespace codec_conformance {

using bytes = std::vector<std::byte>;

/// Bytes of a kind: random, or repetitive, or all the same.
inline bytes sample_bytes(std::mt19937& random, std::size_t size) {
  bytes out(size);
  const auto kind = random() % 3;
  for (std::size_t i = 0; i < size; ++i)
    out[i] = static_cast<std::byte>(kind == 0 ? random() : kind == 1 ? i % 7 * (i % 64 / 60) : 42);
  return out;
}

/// As `decompress`, by blocks; no more than there is room for may come.
template <mdstream::block_codec Codec>
std::error_code decompress_blocks(const Codec& codec, const bytes& zip, mdstream::mutable_bytes raw,
                                  mdstream::diagnostics& where) {
  std::size_t made = 0;
  return codec.decompress_blocks(
      zip, raw.size(),
      [&](mdstream::bytes_view block) {
        REQUIRE(block.size() <= raw.size() - made);
        std::copy(block.begin(), block.end(), raw.begin() + static_cast<std::ptrdiff_t>(made));
        made += block.size();
      },
      where);
}

template <class Codec>
void check_round_trips(const Codec& codec) {
  const unsigned seed = support::test_seed(GENERATE(range(0U, 3U)));
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{2}, std::size_t{100}, std::size_t{random() % 5000},
        std::size_t{200'000}, std::size_t{1} << 18, std::size_t{700'000}}) {
    const bytes raw = sample_bytes(random, size);
    const bytes zip = codec.compress(raw);
    bytes back(size);
    mdstream::diagnostics where;
    INFO(size << " " << where.what);
    REQUIRE_FALSE(codec.decompress(zip, back, where));
    REQUIRE(back == raw);
    if constexpr (mdstream::block_codec<Codec>) {
      back.assign(size, {});
      REQUIRE_FALSE(decompress_blocks(codec, zip, back, where));
      REQUIRE(back == raw);
    }
  }
}

/// Streams that are cut, changed or do not hold what the index says: an error or, where the format
/// has no checksum, other bytes; never a write outside the target.
template <class Codec>
void check_hostile_input(const Codec& codec) {
  const unsigned seed = support::test_seed(GENERATE(range(0U, 3U)));
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const bytes raw = sample_bytes(random, 3000);
  const bytes zip = codec.compress(raw);
  const auto decompress = [&](const bytes& from, std::size_t size) {
    bytes guarded(size + 64, std::byte{0xA5});
    mdstream::diagnostics where;
    const std::error_code failure =
        codec.decompress(from, mdstream::mutable_bytes(guarded).first(size), where);
    for (std::size_t i = size; i < guarded.size(); ++i) REQUIRE(guarded[i] == std::byte{0xA5});
    if (failure) {
      CHECK(failure == mdstream::errc::corrupt);
      CHECK_FALSE(where.what.empty());
    }
    if constexpr (mdstream::block_codec<Codec>) {
      bytes blocks(size);
      where = {};
      CHECK(decompress_blocks(codec, from, blocks, where) == failure);
      CHECK(where.what.empty() == !failure);
      if (!failure) CHECK(std::equal(blocks.begin(), blocks.end(), guarded.begin()));
    }
    return failure;
  };
  CHECK(decompress(zip, 2999));
  CHECK(decompress(zip, 3001));
  CHECK(decompress(zip, 0));
  CHECK(decompress({}, 3000));
  for (std::size_t size = 0; size < zip.size(); size += 1 + zip.size() / 50) {
    bytes cut(zip.begin(), zip.begin() + static_cast<std::ptrdiff_t>(size));
    CHECK(decompress(cut, 3000));
  }
  for (int i = 0; i < 200; ++i) {
    bytes changed = zip;
    changed[random() % changed.size()] ^= static_cast<std::byte>(1U << (random() % 8));
    (void)decompress(changed, 3000);
  }
  for (int i = 0; i < 50; ++i) (void)decompress(sample_bytes(random, random() % 500), 3000);
}

/// A few bytes that would be many: nothing is made beyond what the index says, whole or by
/// blocks.
template <class Codec>
void check_bomb(const Codec& codec) {
  const bytes zip = codec.compress(bytes(4 << 20));
  bytes guarded(2000, std::byte{0xA5});
  mdstream::diagnostics where;
  CHECK(codec.decompress(zip, mdstream::mutable_bytes(guarded).first(1000), where) ==
        mdstream::errc::corrupt);
  for (std::size_t i = 1000; i < guarded.size(); ++i) REQUIRE(guarded[i] == std::byte{0xA5});
  CHECK_FALSE(where.what.empty());
  if constexpr (mdstream::block_codec<Codec>) {
    where = {};
    CHECK(decompress_blocks(codec, zip, mdstream::mutable_bytes(guarded).first(1000), where) ==
          mdstream::errc::corrupt);
    CHECK_FALSE(where.what.empty());
  }
}

template <class Codec>
void check_all() {
  const Codec codec = Codec::open(Codec().extension());
  SECTION("round trips") { check_round_trips(codec); }
  SECTION("hostile input") { check_hostile_input(codec); }
  SECTION("a bomb") { check_bomb(codec); }
}

}  // namespace codec_conformance
