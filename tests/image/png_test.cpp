#include <mdstream/image/png.hpp>

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "image/golden_images.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/seed.hpp"

TEST_CASE("png files give the pixels that Pillow gives", "[image]") {
  int compared = 0;
  for (const golden_images::image& each : golden_images::of("png")) {
    const auto got = mdstream::decode_png(mdstream::as_bytes(each.file));
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

TEST_CASE("png files that are damaged, cut short or too large are refused", "[image]") {
  const std::string file = golden_images::of("png").front().file;
  using mdstream::errc;
  support::expect_error(
      [&] { (void)mdstream::decode_png(mdstream::as_bytes(file), {.max_pixels = 3}); },
      errc::corrupt, {"pixels", "refused"});
  support::expect_error([] { (void)mdstream::decode_png({}); }, errc::corrupt);
  for (std::size_t size = 1; size + 16 < file.size(); size += 13)
    support::expect_error([&] { (void)mdstream::decode_png(mdstream::as_bytes(file).first(size)); },
                          errc::corrupt, {"can not be decoded"});
  const unsigned seed = support::test_seed(GENERATE(range(0U, 3U)));
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 200; ++i) {
    std::string changed = file;
    changed[random() % changed.size()] = static_cast<char>(random());
    try {
      (void)mdstream::decode_png(mdstream::as_bytes(changed), {.max_pixels = 1 << 20});
    } catch (const mdstream::error& e) {
      CHECK(e.code() == errc::corrupt);
    }
  }
}

TEST_CASE("pixels of every kind become png files and the same pixels again", "[image]") {
  const std::uint32_t channels = GENERATE(1U, 2U, 3U, 4U);
  const std::uint32_t bits = GENERATE(8U, 16U);
  const int level = GENERATE(0, 6, 9);
  std::mt19937 random(support::test_seed(1));
  mdstream::decoded_image image{.width = 37, .height = 11, .channels = channels, .bits = bits};
  for (std::size_t i = 0; i < std::size_t{37} * 11 * channels * bits / 8; ++i)
    image.pixels.push_back(static_cast<std::byte>(random()));
  const auto again = mdstream::decode_png(mdstream::encode_png(image, {.level = level}));
  CHECK(again.width == 37);
  CHECK(again.height == 11);
  CHECK(again.channels == channels);
  CHECK(again.bits == bits);
  CHECK((again.pixels == image.pixels));
}

TEST_CASE("golden png files are encoded again to files of the same pixels", "[image]") {
  int compared = 0;
  for (const golden_images::image& each : golden_images::of("png")) {
    const auto image = mdstream::decode_png(mdstream::as_bytes(each.file));
    CHECK((mdstream::decode_png(mdstream::encode_png(image)).pixels == image.pixels));
    ++compared;
  }
  CHECK(compared > 3);
}

TEST_CASE("pixels that are no png image are refused, by name", "[image]") {
  using mdstream::errc;
  const std::vector<std::byte> pixels(2000000);
  const auto refused = [&](mdstream::image_view image, std::size_t bytes, const std::string& says,
                           mdstream::png_options options = {}) {
    image.pixels = mdstream::bytes_view(pixels).first(bytes);
    support::expect_error([&] { (void)mdstream::encode_png(image, options); },
                          errc::invalid_argument, {says});
  };
  refused({.width = 8, .height = 8, .channels = 4, .bits = 16}, 511, "511 bytes are not 8 x 8");
  refused({.width = 8, .height = 8, .channels = 5}, 320, "5 channels");
  refused({.width = 8, .height = 8, .bits = 4}, 96, "4 bits");
  refused({.width = 8, .height = 0}, 0, "8 x 0 pixels");
  refused({.width = 8, .height = 8}, 192, "level", {.level = 10});
  refused({.width = 2000000, .height = 1, .channels = 1}, 2000000, "can not be encoded as PNG");
}
