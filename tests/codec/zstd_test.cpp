#include <mdstream/codec/zstd.hpp>

#include <string>
#include <vector>

#include "codec/conformance.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

TEST_CASE("codec zstd conforms", "[codec]") {
  codec_conformance::check_all<mdstream::codec::zstd>();
}

TEST_CASE("zstd levels are 1 to 22, normally 3", "[codec]") {
  using mdstream::codec::zstd;
  CHECK(zstd::open("zstd").level() == 3);
  CHECK(zstd::open("zstd:22").level() == 22);
  for (const char* bad : {"zstd:0", "zstd:23"})
    support::expect_error([&] { (void)zstd::open(bad); }, mdstream::errc::invalid_argument,
                          {bad, "1 to 22"});
}

TEST_CASE("zstd writes one frame with its content size, and reads several", "[codec]") {
  const mdstream::codec::zstd codec;
  const std::string raw(10'000, 'x');
  const auto zip = codec.compress(mdstream::as_bytes(raw));
  CHECK(ZSTD_getFrameContentSize(zip.data(), zip.size()) == raw.size());
  CHECK(ZSTD_findFrameCompressedSize(zip.data(), zip.size()) == zip.size());
  auto twice = zip;
  twice.insert(twice.end(), zip.begin(), zip.end());
  std::vector<std::byte> back(2 * raw.size());
  mdstream::diagnostics where;
  CHECK_FALSE(codec.decompress(twice, back, where));
  back.assign(back.size(), {});
  CHECK_FALSE(codec_conformance::decompress_blocks(codec, twice, back, where));
  CHECK(std::all_of(back.begin(), back.end(), [](std::byte b) { return b == std::byte{'x'}; }));
}

TEST_CASE("a zstd frame that makes more than it should ends at the first block too many",
          "[codec]") {
  const mdstream::codec::zstd codec;
  const auto bomb = codec.compress(std::vector<std::byte>(std::size_t{64} << 20));
  REQUIRE(bomb.size() < 10'000);
  std::size_t taken = 0;
  mdstream::diagnostics where;
  CHECK(codec.decompress_blocks(
            bomb, 1'000'000, [&](mdstream::bytes_view block) { taken += block.size(); }, where) ==
        mdstream::errc::corrupt);
  CHECK(taken <= 1'000'000);
  CHECK(where.what.find("more bytes") != std::string::npos);
}
