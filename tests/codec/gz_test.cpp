#include <mdstream/codec/gz.hpp>

#include "codec/conformance.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

TEST_CASE("codec gz conforms", "[codec]") { codec_conformance::check_all<mdstream::codec::gz>(); }

TEST_CASE("gz levels are 0 to 9, normally 9", "[codec]") {
  using mdstream::codec::gz;
  CHECK(gz::open("gz").level() == 9);
  CHECK(gz::open("gz:0").level() == 0);
  support::expect_error([] { (void)gz::open("gz:10"); }, mdstream::errc::invalid_argument,
                        {"gz:10", "0 to 9"});
}

TEST_CASE("gz reads several members and zeros after them, and writes no time", "[codec]") {
  const mdstream::codec::gz codec;
  const std::string raw(10'000, 'x');
  const auto zip = codec.compress(mdstream::as_bytes(raw));
  CHECK(mdstream::load<std::uint32_t>(zip.data() + 4) == 0);
  auto more = zip;
  more.insert(more.end(), zip.begin(), zip.end());
  more.resize(more.size() + 7);
  std::vector<std::byte> back(2 * raw.size());
  mdstream::diagnostics where;
  CHECK_FALSE(codec.decompress(more, back, where));
  CHECK(back.back() == std::byte{'x'});
  more.back() = std::byte{1};
  CHECK(codec.decompress(more, back, where));
}
