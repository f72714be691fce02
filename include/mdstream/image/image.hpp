#pragma once

/// Pixels in memory, as decoders of image files give them and encoders take them.

#include <mdstream/core/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mdstream::inline v0 {

/// Pixels to be encoded: rows from the top, channels of a pixel side by side, no gaps. Owns
/// nothing.
///
///     std::vector<std::uint8_t> rgb(32 * 32 * 3);
///     mds::encode_jpeg({.width = 32, .height = 32, .pixels = std::as_bytes(std::span(rgb))});
struct image_view {
  std::uint32_t width = 0;     ///< pixels
  std::uint32_t height = 0;    ///< pixels
  std::uint32_t channels = 3;  ///< 1 gray, 2 gray and alpha, 3 RGB, 4 RGBA
  std::uint32_t bits = 8;      ///< of a channel: 8, or 16 in little-endian
  bytes_view pixels{};
};

/// An image: rows from the top, channels of a pixel side by side, no gaps.
struct decoded_image {
  std::uint32_t width = 0;     ///< pixels
  std::uint32_t height = 0;    ///< pixels
  std::uint32_t channels = 0;  ///< 1 gray, 2 gray and alpha, 3 RGB, 4 RGBA (JPEG: CMYK)
  std::uint32_t bits = 8;      ///< of a channel: 8, or 16 in little-endian
  std::vector<std::byte> pixels{};

  operator image_view() const noexcept { return {width, height, channels, bits, pixels}; }
};

/// What a decoder accepts.
///
///     const mds::decoded_image image = mds::decode_jpeg(file, {.max_pixels = 4096 * 4096});
struct image_limits {
  /// Larger images are refused before memory is taken: a few bytes can claim to be any size.
  std::uint64_t max_pixels = std::uint64_t{1} << 28;
};

namespace detail {

void check_image_size(std::uint64_t width, std::uint64_t height, const image_limits& limits);

/// Throws errc::invalid_argument unless the pixels are those of an image of that size, with at most
/// `channels` channels of at most `bits` bits.
void check_pixels(const image_view& image, std::uint32_t channels, std::uint32_t bits);

}  // namespace detail
}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/image/detail/impl/image.ipp>
#endif
