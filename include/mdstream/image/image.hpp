#pragma once

/// Pixels in memory, as decoders of image files give them.

#include <cstddef>
#include <cstdint>
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

void check_image_size(std::uint64_t width, std::uint64_t height, const image_limits& limits);

}  // namespace detail
}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/image/detail/impl/image.ipp>
#endif
