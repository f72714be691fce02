// The fuzz targets of image files.

#include <mdstream/image/jpeg.hpp>
#include <mdstream/image/png.hpp>

#include <string_view>

#include "fuzz/refusal.hpp"
#include "fuzz/targets.hpp"

namespace fuzz {

namespace {

constexpr mdstream::image_limits limits{.max_pixels = 1 << 16};

void check(const mdstream::decoded_image& image) {
  const std::uint64_t values = std::uint64_t{image.width} * image.height * image.channels;
  require(values != 0 && std::uint64_t{image.width} * image.height <= limits.max_pixels);
  require(image.pixels.size() == values * (image.bits / 8));
}

}  // namespace

void jpeg(std::string_view input) {
  allow_refusal([&] { check(mdstream::decode_jpeg(mdstream::as_bytes(input), limits)); });
}

void png(std::string_view input) {
  allow_refusal([&] {
    const auto image = mdstream::decode_png(mdstream::as_bytes(input), limits);
    check(image);
    const auto again = mdstream::decode_png(mdstream::encode_png(image, {.level = 1}), limits);
    require(again.pixels == image.pixels);
  });
}

}  // namespace fuzz
