#include <mdstream/image/jpeg.hpp>

#include <random>
#include <string>

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
