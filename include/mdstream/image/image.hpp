#pragma once

/// Pixels in memory, as decoders of image files give them.

#include <mdstream/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0 {

/// An image: rows from the top, channels of a pixel side by side, no gaps.
struct decoded_image {
  std::uint32_t width = 0;     ///< pixels
  std::uint32_t height = 0;    ///< pixels
  std::uint32_t channels = 0;  ///< 1 gray, 2 gray and alpha, 3 RGB, 4 RGBA (JPEG: CMYK)
  std::uint32_t bits = 8;      ///< of a channel: 8, or 16 in little-endian
  std::vector<std::byte> pixels{};
};

/// What a decoder accepts.
struct image_limits {
  /// Larger images are refused before memory is taken: a few bytes can claim to be any size.
  std::uint64_t max_pixels = std::uint64_t{1} << 28;
};

namespace detail {

inline void check_image_size(std::uint64_t width, std::uint64_t height,
                             const image_limits& limits) {
  if (width == 0 || height == 0 || width > limits.max_pixels / height)
    throw error(errc::corrupt, "an image of " + std::to_string(width) + " x " +
                                   std::to_string(height) + " pixels is refused");
}

}  // namespace detail
}  // namespace mdstream::inline v0
