#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/image/jpeg.hpp>
#include <mdstream/image/jpeg_batch.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0 {

MDSTREAM_INLINE std::uint64_t rgb_image::bytes() const noexcept {
  return std::uint64_t{3} * width * height;
}

}  // namespace mdstream::inline v0

namespace mdstream::inline v0::detail {

/// Opens a file that is to become RGB.
MDSTREAM_INLINE void begin_rgb(jpeg_decoder& decoder, bytes_view file, const image_limits& limits) {
  if (!decoder.begin(file))
    throw error(errc::corrupt,
                diagnostics{.what = "a JPEG file can not be decoded", .cause = decoder.message()});
  check_image_size(decoder.width(), decoder.height(), limits);
  if (decoder.channels() > 3)
    throw error(errc::unsupported, "a JPEG file of 4 channels has no RGB pixels");
}

MDSTREAM_INLINE bool ends_as_jpeg(bytes_view file) noexcept {
  return file.size() >= 2 && file[file.size() - 2] == std::byte{0xff} &&
         file[file.size() - 1] == std::byte{0xd9};
}

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0 {

MDSTREAM_INLINE rgb_layout lay_out_jpegs(std::span<const bytes_view> files,
                                         const image_limits& limits) {
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

MDSTREAM_INLINE void decode_jpeg_rgb(bytes_view file, const rgb_image& place, std::byte* pixels) {
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
