#pragma once

// What every codec has to do.

#include <cstddef>
#include <cstdint>
#include <mdstream/codec/codec.hpp>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "support/catch.hpp"

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

template <class Codec>
void check_round_trips(const Codec& codec) {
  const auto seed = GENERATE(take(3, random(0, 1 << 30)));
  INFO("seed " << seed);
  std::mt19937 random(static_cast<unsigned>(seed));
  for (const std::size_t size : {std::size_t{1}, std::size_t{2}, std::size_t{100},
                                 std::size_t{random() % 5000}, std::size_t{200'000}}) {
    const bytes raw = sample_bytes(random, size);
    const bytes zip = codec.compress(raw);
    bytes back(size);
    mdstream::diagnostics where;
    INFO(size << " " << where.what);
    REQUIRE_FALSE(codec.decompress(zip, back, where));
    REQUIRE(back == raw);
  }
}

/// Streams that are cut, changed or do not hold what the index says: an error or, where the format
/// has no checksum, other bytes; never a write outside the target.
template <class Codec>
void check_hostile_input(const Codec& codec) {
  const auto seed = GENERATE(take(3, random(0, 1 << 30)));
  INFO("seed " << seed);
  std::mt19937 random(static_cast<unsigned>(seed));
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

template <class Codec>
void check_all() {
  const Codec codec = Codec::open(Codec().extension());
  SECTION("round trips") { check_round_trips(codec); }
  SECTION("hostile input") { check_hostile_input(codec); }
}

}  // namespace codec_conformance
