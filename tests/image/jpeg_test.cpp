#include <mdstream/image/jpeg.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "image/golden_images.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/seed.hpp"

TEST_CASE("jpeg files give the pixels that Pillow gives", "[image]") {
  int compared = 0;
  for (const golden_images::image& each : golden_images::of("jpeg")) {
    const auto got = mdstream::decode_jpeg(mdstream::as_bytes(each.file));
    INFO(each.mode << " " << each.width << " x " << each.height);
    CHECK(got.width == each.width);
    CHECK(got.height == each.height);
    if (each.mode != "L" && each.mode != "RGB" && each.mode != "RGBA" && each.mode != "LA")
      continue;
    CHECK(got.channels == each.mode.size());
    CHECK((mdstream::as_text(got.pixels) == each.pixels));
    ++compared;
  }
  CHECK(compared > 3);
}

TEST_CASE("jpeg files that are damaged, cut short or too large are refused", "[image]") {
  const std::string file = golden_images::of("jpeg").front().file;
  using mdstream::errc;
  support::expect_error(
      [&] { (void)mdstream::decode_jpeg(mdstream::as_bytes(file), {.max_pixels = 3}); },
      errc::corrupt, {"pixels", "refused"});
  support::expect_error([] { (void)mdstream::decode_jpeg({}); }, errc::corrupt);
  for (std::size_t size = 1; size + 16 < file.size(); size += 13)
    support::expect_error(
        [&] { (void)mdstream::decode_jpeg(mdstream::as_bytes(file).first(size)); }, errc::corrupt,
        {"can not be decoded"});
  const unsigned seed = support::test_seed(GENERATE(range(0U, 3U)));
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 200; ++i) {
    std::string changed = file;
    changed[random() % changed.size()] = static_cast<char>(random());
    try {
      (void)mdstream::decode_jpeg(mdstream::as_bytes(changed), {.max_pixels = 1 << 20});
    } catch (const mdstream::error& e) {
      CHECK(e.code() == errc::corrupt);
    }
  }
}

namespace jpeg_test {

/// Channels that rise smoothly in different directions, which JPEG keeps nearly as they are.
mdstream::decoded_image slopes(std::uint32_t width, std::uint32_t height, std::uint32_t channels) {
  mdstream::decoded_image out{.width = width, .height = height, .channels = channels};
  for (std::uint32_t y = 0; y < height; ++y)
    for (std::uint32_t x = 0; x < width; ++x) {
      const std::uint32_t values[] = {255 * x / width, 255 * y / height,
                                      255 - 127 * (x + y) / (width + height)};
      for (std::uint32_t c = 0; c < channels; ++c)
        out.pixels.push_back(static_cast<std::byte>(values[c]));
    }
  return out;
}

int largest_difference(const mdstream::decoded_image& a, const mdstream::decoded_image& b) {
  int out = 0;
  for (std::size_t i = 0; i < a.pixels.size(); ++i)
    out = std::max(out,
                   std::abs(std::to_integer<int>(a.pixels[i]) - std::to_integer<int>(b.pixels[i])));
  return out;
}

}  // namespace jpeg_test

TEST_CASE("pixels become jpeg files of the same image", "[image]") {
  using namespace jpeg_test;
  const std::uint32_t channels = GENERATE(1U, 3U);
  const std::uint32_t width = GENERATE(1U, 16U, 61U);
  const mdstream::decoded_image image = slopes(width, 40, channels);
  const std::vector<std::byte> file = mdstream::encode_jpeg(image, {.quality = 100});
  const mdstream::decoded_image again = mdstream::decode_jpeg(file);
  REQUIRE(again.width == width);
  REQUIRE(again.height == 40);
  REQUIRE(again.channels == channels);
  CHECK(largest_difference(image, again) <= 12);
  CHECK(mdstream::encode_jpeg(image) == mdstream::encode_jpeg(image, {.quality = 75}));
  if (width == 61) {
    CHECK(mdstream::encode_jpeg(image, {.quality = 10}).size() < file.size());
    CHECK(largest_difference(
              image, mdstream::decode_jpeg(mdstream::encode_jpeg(image, {.quality = 1}))) > 12);
  }
}

TEST_CASE("pixels that are no jpeg image are refused, by name", "[image]") {
  using mdstream::errc;
  const std::vector<std::byte> pixels(8 * 8 * 4);
  const auto of = [&](std::uint32_t width, std::uint32_t height, std::uint32_t channels,
                      std::uint32_t bits, std::size_t bytes) {
    return mdstream::image_view{width, height, channels, bits,
                                mdstream::bytes_view(pixels).first(bytes)};
  };
  const auto refused = [](const mdstream::image_view& image, const std::string& says,
                          mdstream::jpeg_options options = {}) {
    support::expect_error([&] { (void)mdstream::encode_jpeg(image, options); },
                          errc::invalid_argument, {says});
  };
  refused(of(8, 8, 3, 8, 191), "191 bytes are not 8 x 8 pixels with 3 channels of 8 bits");
  refused(of(8, 8, 3, 8, 193), "193 bytes");
  refused(of(0, 8, 3, 8, 0), "0 x 8 pixels with 3 channels of 8 bits are no image");
  refused(of(8, 8, 4, 8, 256), "4 channels");
  refused(of(8, 8, 2, 8, 128), "alpha");
  refused(of(8, 8, 1, 16, 128), "16 bits");
  refused(of(0xFFFFFFFF, 0xFFFFFFFF, 3, 8, 192), "192 bytes are not");
  refused(of(8, 8, 3, 8, 192), "quality", {.quality = 0});
  refused(of(8, 8, 3, 8, 192), "quality", {.quality = 101});
  const std::vector<std::byte> wide(70000);
  refused({.width = 70000, .height = 1, .channels = 1, .pixels = wide}, "65500");
}
