#include <mdstream/codec/bz2.hpp>

#include "codec/conformance.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

TEST_CASE("codec bz2 conforms", "[codec]") { codec_conformance::check_all<mdstream::codec::bz2>(); }

TEST_CASE("bz2 levels are 1 to 9, normally 9", "[codec]") {
  using mdstream::codec::bz2;
  CHECK(bz2::open("bz2").level() == 9);
  support::expect_error([] { (void)bz2::open("bz2:0"); }, mdstream::errc::invalid_argument,
                        {"bz2:0", "1 to 9"});
}

TEST_CASE("bz2 reads several streams", "[codec]") {
  const mdstream::codec::bz2 codec;
  const std::string raw(10'000, 'x');
  auto zip = codec.compress(mdstream::as_bytes(raw));
  const auto once = zip;
  zip.insert(zip.end(), once.begin(), once.end());
  std::vector<std::byte> back(2 * raw.size());
  mdstream::diagnostics where;
  CHECK_FALSE(codec.decompress(zip, back, where));
}
