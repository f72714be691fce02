#include <mdstream/hash/hash.hpp>

#include <mdstream/hash/choice.hpp>
#include <mdstream/hash/xxhash.hpp>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

TEST_CASE("digests have the sizes of the format's names", "[hash]") {
  CHECK(mdstream::digest_bytes("sha1") == 20U);
  CHECK(mdstream::digest_bytes("xxh3_128") == 16U);
  CHECK_FALSE(mdstream::digest_bytes("crc32"));
  CHECK(mdstream::detail::to_hex(mdstream::as_bytes("\x0F\xA0")) == "0fa0");
}

TEST_CASE("a hash is chosen by name", "[hash]") {
  using some = mdstream::any_hash<mdstream::hash::xxh64, mdstream::hash::xxh32>;
  CHECK(some::served() == "xxh32, xxh64");
  CHECK(mdstream::hash_of<some>("xxh64", mdstream::as_bytes("abc")) == "44bc2cf5ad770999");
  using mdstream::errc;
  support::expect_error([] { (void)some::open("xxh3_64"); }, errc::unsupported,
                        {"xxh32, xxh64", "<mdstream/hash/xxhash.hpp>", "mdstream::xxhash"});
  support::expect_error([] { (void)some::open("sha1"); }, errc::unsupported,
                        {"\"sha1\"", "<mdstream/hash/openssl.hpp>", "mdstream::openssl"});
  support::expect_error([] { (void)mdstream::any_hash<>::open("md4"); }, errc::unsupported,
                        {"serves none", "no hash of that name"});
}

TEST_CASE("a set of hashes computes what its policy serves, and XXH64 whatever it is", "[hash]") {
  using mdstream::errc;
  using mdstream::detail::hash_set;
  constexpr hash_set none = hash_set::of<mdstream::any_hash<>>();
  CHECK(none.serves("xxh64"));
  CHECK_FALSE(none.serves("xxh32"));
  CHECK(none.hex_of("xxh64", mdstream::as_bytes("abc")) == "44bc2cf5ad770999");
  none.require("xxh64");
  support::expect_error([&] { none.require("xxh32"); }, errc::unsupported, {"serves none"});
  support::expect_error([&] { (void)none.open("sha1"); }, errc::unsupported, {"\"sha1\""});
  const auto running = hash_set::of<mdstream::any_hash<mdstream::hash::xxh32>>().open("xxh32");
  running->update(mdstream::as_bytes("a"));
  running->update(mdstream::as_bytes("bc"));
  CHECK(running->hex() == "32d153ff");
}
