#pragma once

/// Batches of JPEG files as RGB images in one block of memory, gray files too: where each lies, and
/// its pixels. Needs libjpeg (libjpeg-turbo): link mdstream::jpeg.

#include <mdstream/image/jpeg.hpp>

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

  [[nodiscard]] std::uint64_t bytes() const noexcept { return std::uint64_t{3} * width * height; }
};

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

/// Opens a file that is to become RGB.
inline void begin_rgb(jpeg_decoder& decoder, bytes_view file, const image_limits& limits) {
  if (!decoder.begin(file))
    throw error(errc::corrupt,
                diagnostics{.what = "a JPEG file can not be decoded", .cause = decoder.message()});
  check_image_size(decoder.width(), decoder.height(), limits);
  if (decoder.channels() > 3)
    throw error(errc::unsupported, "a JPEG file of 4 channels has no RGB pixels");
}

[[nodiscard]] inline bool ends_as_jpeg(bytes_view file) noexcept {
  return file.size() >= 2 && file[file.size() - 2] == std::byte{0xff} &&
         file[file.size() - 1] == std::byte{0xd9};
}

}  // namespace detail

/// Reads the files' headers and lays their images side by side. Throws `errc::corrupt` for what is
/// no JPEG file or larger than the limits allow, `errc::unsupported` for CMYK, and names the image.
[[nodiscard]] inline rgb_layout lay_out_jpegs(std::span<const bytes_view> files,
                                              const image_limits& limits = {}) {
  rgb_layout out;
  out.images.reserve(files.size());
  for (const bytes_view file : files) {
    rgb_image image{.at = out.bytes};
    detail::for_image(out.images.size(), [&] {
      detail::jpeg_decoder decoder;
      detail::begin_rgb(decoder, file, limits);
      image.width = decoder.width();
      image.height = decoder.height();
      image.plain = decoder.is_plain() && detail::ends_as_jpeg(file);
    });
    out.bytes += (image.bytes() + 255) / 256 * 256;
    out.images.push_back(image);
  }
  return out;
}

/// Decodes one file into `pixels`, which takes `place.bytes()`. Throws `errc::corrupt` if it is
/// damaged, cut short, or not the file that the place was made for.
inline void decode_jpeg_rgb(bytes_view file, const rgb_image& place, std::byte* pixels) {
  detail::jpeg_decoder decoder;
  // What is laid out was found to be within the limits.
  detail::begin_rgb(decoder, file, {.max_pixels = std::uint64_t{place.width} * place.height});
  if (decoder.width() != place.width || decoder.height() != place.height)
    throw error(errc::corrupt, "a JPEG file is not of the size that it was laid out for");
  decoder.ask_for_rgb();
  const bool decoded = decoder.read(pixels);
  if (!decoded || decoder.warnings() != 0)
    throw error(errc::corrupt, diagnostics{.what = "a JPEG file can not be decoded",
                                           .cause = decoded ? "the data are damaged or cut short"
                                                            : decoder.message()});
}

}  // namespace mdstream::inline v0
