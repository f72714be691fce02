#pragma once

/// Batches of JPEG files as RGB images in one block of memory, gray files too: where each lies, and
/// its pixels. Needs libjpeg (libjpeg-turbo): link mdstream::jpeg.

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/image/image.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// Where an image of a batch lies: rows from the top without gaps, 3 bytes a pixel.
struct rgb_image {
  std::uint64_t at = 0;      ///< bytes from the block's beginning, a multiple of 256
  std::uint32_t width = 0;   ///< pixels
  std::uint32_t height = 0;  ///< pixels
  bool plain = false;        ///< a whole file of the kind that decoders in hardware take

  [[nodiscard]] std::uint64_t bytes() const noexcept;
};

/// Where the pixels of several images lie in one block.
struct rgb_layout {
  std::vector<rgb_image> images{};  ///< in the order of the files
  std::uint64_t bytes = 0;          ///< size of the block
};

namespace detail {

/// Calls `step`; what it throws names the image.
template <class Step>
void for_image(std::size_t number, Step&& step) try {
  std::forward<Step>(step)();
} catch (const error& e) {
  throw error(e.code(),
              diagnostics{.what = "image " + std::to_string(number) + " of the batch is refused",
                          .cause = e.what()});
}

}  // namespace detail

/// Reads the files' headers and lays their images side by side. Throws `errc::corrupt` for what is
/// no JPEG file or larger than the limits allow, `errc::unsupported` for CMYK, and names the image.
///
///     const mds::rgb_layout layout = mds::lay_out_jpegs(files);
///     std::vector<std::byte> block(layout.bytes);
///     for (std::size_t i = 0; i < files.size(); ++i)
///       mds::decode_jpeg_rgb(files[i], layout.images[i], block.data() + layout.images[i].at);
[[nodiscard]] rgb_layout lay_out_jpegs(std::span<const bytes_view> files,
                                       const image_limits& limits = {});

/// Decodes one file into `pixels`, which takes `place.bytes()`. Throws `errc::corrupt` if it is
/// damaged, cut short, or not the file that the place was made for; `std::bad_alloc` where memory
/// runs out. Thread safety: any number of calls at a time.
void decode_jpeg_rgb(bytes_view file, const rgb_image& place, std::byte* pixels);

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/image/detail/impl/jpeg_batch.ipp>
#endif
