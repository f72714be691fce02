#include <mdstream/hash/xxh64.hpp>

#include <mdstream/hash/choice.hpp>
#include <mdstream/hash/xxhash.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace xxh64_test {

using mdstream::hash::xxh64;

TEST_CASE("xxh64 is the library's XXH64, whole and in pieces of any size", "[hash]") {
  std::vector<std::byte> bytes(300);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 167 + 13);
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const std::uint64_t expected = XXH64(bytes.data(), size, 0);
    xxh64 whole;
    whole.update({bytes.data(), size});
    CHECK(whole.value() == expected);
    for (const std::size_t piece : {1, 7, 31, 32, 33, 64}) {
      xxh64 pieces;
      for (std::size_t at = 0; at < size; at += piece)
        pieces.update({bytes.data() + at, std::min(piece, size - at)});
      CHECK(pieces.value() == expected);
    }
  }
}

TEST_CASE("every program computes xxh64, whatever its policies name", "[hash]") {
  const mdstream::bytes_view text = mdstream::as_bytes("abc");
  CHECK(mdstream::hash_of<mdstream::any_hash<>>("xxh64", text) == "44bc2cf5ad770999");
  using mdstream::errc;
  support::expect_error([&] { (void)mdstream::hash_of<mdstream::any_hash<>>("sha1", text); },
                        errc::unsupported, {"\"sha1\""});
}

}  // namespace xxh64_test
