#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/image/image.hpp>
#include <mdstream/version.hpp>

#include <cstdint>
#include <string>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void check_image_size(std::uint64_t width, std::uint64_t height,
                                      const image_limits& limits) {
  if (width == 0 || height == 0 || width > limits.max_pixels / height)
    throw error(errc::corrupt, "an image of " + std::to_string(width) + " x " +
                                   std::to_string(height) + " pixels is refused");
}

MDSTREAM_INLINE void check_pixels(const image_view& image, std::uint32_t channels,
                                  std::uint32_t bits) {
  const std::string what = std::to_string(image.width) + " x " + std::to_string(image.height) +
                           " pixels with " + std::to_string(image.channels) + " channels of " +
                           std::to_string(image.bits) + " bits";
  if (image.width == 0 || image.height == 0)
    throw error(errc::invalid_argument, what + " are no image");
  if (image.channels == 0 || image.channels > channels || (image.bits != 8 && image.bits != 16) ||
      image.bits > bits)
    throw error(errc::invalid_argument, what + " can not be encoded: up to " +
                                            std::to_string(channels) + " channels of " +
                                            (bits == 16 ? "8 or 16" : "8") + " bits can");
  // Both sides are below 2^32, so that the rows of one channel fit, and the product may not.
  std::uint64_t bytes = std::uint64_t{image.channels} * (image.bits / 8) * image.width;
  if (__builtin_mul_overflow(bytes, std::uint64_t{image.height}, &bytes) ||
      bytes != image.pixels.size())
    throw error(errc::invalid_argument,
                std::to_string(image.pixels.size()) + " bytes are not " + what);
}

}  // namespace mdstream::inline v0::detail
