#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/image/image.hpp>
#include <mdstream/version.hpp>

#include <string>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void check_image_size(std::uint64_t width, std::uint64_t height,
                                      const image_limits& limits) {
  if (width == 0 || height == 0 || width > limits.max_pixels / height)
    throw error(errc::corrupt, "an image of " + std::to_string(width) + " x " +
                                   std::to_string(height) + " pixels is refused");
}

}  // namespace mdstream::inline v0::detail
