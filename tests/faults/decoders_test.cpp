// Decoders whose memory runs out: that is no damage of their data.

#include <mdstream/codec/br.hpp>
#include <mdstream/codec/bz2.hpp>
#include <mdstream/codec/gz.hpp>
#include <mdstream/codec/zstd.hpp>
#include <mdstream/image/jpeg.hpp>
#include <mdstream/image/png.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <random>
#include <string>
#include <system_error>
#include <vector>

#include "support/allocation_faults.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

namespace decoders_test {

namespace mds = mdstream;
using bytes = std::vector<std::byte>;

/// Fails each allocation of `decode` in turn: it has to return the same bytes all the same, or to
/// throw `std::bad_alloc`.
template <class Decode>
void check_each_allocation(const bytes& expected, const Decode& decode) {
  REQUIRE((decode() == expected));
  int failures = 0;
  bool some_fail = true;
  for (std::size_t number = 1; some_fail; ++number) {
    INFO("allocation " << number);
    bytes got;
    std::string other;
    bool ran_out = false;
    support::failing_allocation fault(number);
    try {
      got = decode();
    } catch (const std::bad_alloc&) {
      ran_out = true;
    } catch (const std::exception& e) {
      fault.end();
      other = e.what();
    }
    some_fail = fault.end();
    CHECK(other == "");
    if (ran_out)
      ++failures;
    else
      CHECK((got == expected));
  }
  CHECK(failures > 0);
  CHECK((decode() == expected));
}

/// Bytes that compress, but not into one block.
bytes raw_bytes() {
  std::mt19937 random(support::test_seed());
  bytes out(500'000);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<std::byte>(i % 3 == 0 ? random() % 16 : i / 1000);
  return out;
}

template <class Codec>
void check_codec() {
  const bytes raw = raw_bytes();
  const Codec codec;
  const bytes zip = codec.compress(raw);
  check_each_allocation(raw, [&] {
    bytes back(raw.size());
    mds::diagnostics where;
    if (const std::error_code failure = codec.decompress(zip, back, where); failure)
      throw mds::error(failure, where);
    return back;
  });
}

/// The same of what is decoded piece by piece.
void check_stream(const bytes& zip, const mds::detail::stream_decoder_choice& choice) {
  const bytes raw = raw_bytes();
  check_each_allocation(raw, [&] {
    bytes back(raw.size());
    const auto decoder = choice.open();
    mds::bytes_view in(zip);
    for (std::size_t at = 0, piece = 0; at < back.size(); at += piece) {
      piece = std::min<std::size_t>(10'000, back.size() - at);
      if (decoder->decode(in, mds::mutable_bytes(back).subspan(at, piece)) != piece)
        throw mds::error(mds::errc::corrupt, "too few bytes");
    }
    return back;
  });
}

mds::decoded_image noise() {
  mds::decoded_image out{.width = 200, .height = 150, .channels = 3};
  std::mt19937 random(support::test_seed());
  out.pixels.resize(std::size_t{200} * 150 * 3);
  for (std::byte& each : out.pixels) each = static_cast<std::byte>(random());
  return out;
}

}  // namespace decoders_test

TEST_CASE("a codec whose memory runs out says so, and nothing of the data", "[faults]") {
  using namespace decoders_test;
  SECTION("zstd") { check_codec<mds::codec::zstd>(); }
  SECTION("gz") { check_codec<mds::codec::gz>(); }
  SECTION("bz2") { check_codec<mds::codec::bz2>(); }
  SECTION("br") { check_codec<mds::codec::br>(); }
  SECTION("zstd, in blocks") {
    const bytes raw = raw_bytes();
    const mds::codec::zstd codec;
    const bytes zip = codec.compress(raw);
    check_each_allocation(raw, [&] {
      bytes back;
      mds::diagnostics where;
      const auto take = [&](mds::bytes_view block) {
        back.insert(back.end(), block.begin(), block.end());
      };
      if (const auto failure = codec.decompress_blocks(zip, raw.size(), take, where); failure)
        throw mds::error(failure, where);
      return back;
    });
  }
  SECTION("zstd, foreign") {
    check_stream(mds::codec::zstd().compress(raw_bytes()), mds::codec::zstd::stream());
  }
  SECTION("gz, foreign") {
    check_stream(mds::codec::gz().compress(raw_bytes()), mds::codec::gz::stream());
  }
}

TEST_CASE("an image whose decoder runs out of memory is not a damaged one", "[faults]") {
  using namespace decoders_test;
  SECTION("jpeg") {
    const bytes file = mds::encode_jpeg(noise());
    check_each_allocation(mds::decode_jpeg(file).pixels,
                          [&] { return mds::decode_jpeg(file).pixels; });
  }
  SECTION("png") {
    const bytes file = mds::encode_png(noise());
    check_each_allocation(mds::decode_png(file).pixels,
                          [&] { return mds::decode_png(file).pixels; });
  }
}
