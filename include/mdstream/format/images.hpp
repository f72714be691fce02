#pragma once

/// Images as samples hold them: Pillow's raw pixels, and lists of image files. Nothing is decoded
/// here; see image/jpeg.hpp and image/png.hpp for pixels of files.

#include <mdstream/core/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0 {

/// An image of the encoding `pil`: rows from the top, channels of a pixel side by side. Owns
/// nothing.
///
///     const mds::pil_image image = sample.get<"image">();  // of a column of mds::pil
///     if (image.mode == "RGB") use(image.width, image.height, image.pixels);
struct pil_image {
  std::uint32_t width = 0;   ///< pixels
  std::uint32_t height = 0;  ///< pixels
  std::string_view mode{};   ///< Pillow's name: "RGB", "L", "1", "I;16", ...
  bytes_view pixels{};

  friend bool operator==(const pil_image& a, const pil_image& b) noexcept {
    return a.width == b.width && a.height == b.height && a.mode == b.mode &&
           as_text(a.pixels) == as_text(b.pixels);
  }
};

/// Bytes of one row of `width` pixels, or nothing for a mode that is not known.
[[nodiscard]] constexpr std::optional<std::uint64_t> pil_row_bytes(std::string_view mode,
                                                                   std::uint32_t width) noexcept {
  const std::uint64_t w = width;
  if (mode == "1") return (w + 7) / 8;
  for (const std::string_view name : {"L", "P"})
    if (mode == name) return w;
  for (const std::string_view name : {"LA", "PA", "La", "I;16", "I;16L", "I;16B", "I;16N"})
    if (mode == name) return 2 * w;
  for (const std::string_view name : {"RGB", "YCbCr", "LAB", "HSV"})
    if (mode == name) return 3 * w;
  for (const std::string_view name : {"RGBA", "RGBX", "RGBa", "CMYK", "I", "F"})
    if (mode == name) return 4 * w;
  return std::nullopt;
}

/// Parses a value of the encoding `pil`. Throws errc::corrupt, naming the byte, if it is cut short
/// or has not the pixels that size and mode ask for.
[[nodiscard]] pil_image parse_pil(bytes_view value);

/// Adds the bytes of a value of the encoding `pil`. Throws errc::invalid_argument if the pixels do
/// not fit size and mode.
void append_pil(std::string& out, const pil_image& image);

/// Image files, one after another. Owns only the list.
///
///     for (const mds::bytes_view file : sample.get<"pages">()) use(mds::decode_jpeg(file));
using image_files = std::vector<bytes_view>;

namespace detail {

void append_u32(std::string& out, std::size_t value);

}  // namespace detail

/// Parses a value of the encoding `jpeg_array`: u32 count, that many u32 sizes, the files.
/// Throws errc::corrupt, naming the byte, if it is cut short or the count is 0.
[[nodiscard]] image_files parse_jpeg_array(bytes_view value);

/// Parses a value of the encodings `list[...]`: u32 reserved, then as `jpeg_array`; may be empty.
[[nodiscard]] image_files parse_image_list(bytes_view value);

/// The bytes of a value of the encoding `jpeg_array`. Throws errc::invalid_argument if there is no
/// image.
[[nodiscard]] std::string make_jpeg_array(const image_files& files);

/// The bytes of a value of the encodings `list[...]`.
[[nodiscard]] std::string make_image_list(const image_files& files);

/// Parses a value of the encoding `list[pil]`.
[[nodiscard]] std::vector<pil_image> parse_pil_list(bytes_view value);

/// The bytes of a value of the encoding `list[pil]`.
[[nodiscard]] std::string make_pil_list(const std::vector<pil_image>& images);

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/format/detail/impl/images.ipp>
#endif
