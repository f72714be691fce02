#include <mdstream/codec/codec.hpp>

#include <mdstream/codec/detail/codec_set.hpp>
#include <mdstream/codec/none.hpp>
#include <mdstream/codec/zstd.hpp>

#include <string>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace codec_test {

using both = mdstream::any_codec<mdstream::codec::none, mdstream::codec::zstd>;
using only_none = mdstream::any_codec<mdstream::codec::none>;

}  // namespace codec_test

TEST_CASE("a compression's text is taken apart", "[codec]") {
  using mdstream::parse_compression;
  CHECK(parse_compression("zstd").name == "zstd");
  CHECK_FALSE(parse_compression("zstd").level);
  CHECK(parse_compression("br:11").level == 11);
  CHECK(parse_compression("").name.empty());
  for (const char* bad : {"zstd:", "zstd:x", "zstd:-1", "zstd:1x", "zstd: 1", "zstd:1:2",
                          "zstd:99999999999", "zstd:+1"})
    support::expect_error([&] { (void)parse_compression(bad); }, mdstream::errc::invalid_argument,
                          {bad});
}

TEST_CASE("a codec is chosen by the name in the index", "[codec]") {
  using codec_test::both;
  CHECK(both::open("zstd:5").extension() == "zstd");
  CHECK(both::open("").extension().empty());
  CHECK(both::served() == "zstd");
  const auto zip = both::open("zstd").compress(mdstream::as_bytes("some text"));
  std::string raw(9, ' ');
  mdstream::diagnostics where;
  CHECK_FALSE(both::open("zstd").decompress(zip, std::as_writable_bytes(std::span(raw)), where));
  CHECK(raw == "some text");
}

TEST_CASE("the codec that was chosen tells whether it makes blocks", "[codec]") {
  const auto has_blocks = [](const auto& codec) {
    return mdstream::with_codec(
        codec, []<class Chosen>(const Chosen&) { return mdstream::block_codec<Chosen>; });
  };
  static_assert(!mdstream::block_codec<codec_test::both>);
  CHECK(has_blocks(codec_test::both::open("zstd:5")));
  CHECK_FALSE(has_blocks(codec_test::both::open("")));
  CHECK(has_blocks(mdstream::codec::zstd()));
  CHECK_FALSE(has_blocks(mdstream::codec::none()));
}

TEST_CASE("a codec that the list lacks is an error that says what to add", "[codec]") {
  using mdstream::errc;
  support::expect_error(
      [] { (void)codec_test::only_none::open("zstd:3"); }, errc::unsupported,
      {"\"zstd:3\"", "<mdstream/codec/zstd.hpp>", "mdstream::zstd", "serves none"});
  support::expect_error([] { (void)codec_test::both::open("br"); }, errc::unsupported,
                        {"(zstd)", "<mdstream/codec/br.hpp>", "mdstream::br"});
  support::expect_error([] { (void)codec_test::both::open("lz4"); }, errc::unsupported,
                        {"\"lz4\"", "no codec of that name"});
  support::expect_error([] { (void)mdstream::codec::zstd::open(""); }, errc::unsupported, {"zstd"});
}

TEST_CASE("a set of codecs opens what its policy serves", "[codec]") {
  using mdstream::detail::codec_set;
  constexpr codec_set codecs = codec_set::of<codec_test::both>();
  CHECK(codecs.serves("zstd"));
  CHECK(codecs.serves(""));
  CHECK_FALSE(codecs.serves("br"));
  support::expect_error([&] { (void)codecs.open("br"); }, mdstream::errc::unsupported, {"(zstd)"});
  for (const std::string name : {"", "zstd:5"}) {
    const auto codec = codecs.open(name);
    CHECK(codec->extension() == name.substr(0, 4));
    CHECK(codec->gives_blocks() == !name.empty());
    const auto zip = codec->compress(mdstream::as_bytes("some text"));
    mdstream::diagnostics where;
    std::string raw(9, ' '), blocks;
    CHECK_FALSE(codec->decompress(zip, std::as_writable_bytes(std::span(raw)), where));
    CHECK(raw == "some text");
    const auto take = [&](mdstream::bytes_view block) { blocks += mdstream::as_text(block); };
    CHECK_FALSE(codec->decompress_blocks(zip, 9, take, where));
    CHECK(blocks == "some text");
    blocks.clear();
    CHECK(codec->decompress_blocks(zip, 8, take, where) == mdstream::errc::corrupt);
    CHECK(blocks.size() <= 8);
  }
}
