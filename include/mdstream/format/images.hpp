#pragma once

/// Images as samples hold them: Pillow's raw pixels, and lists of image files. Nothing is decoded
/// here; see image/jpeg.hpp and image/png.hpp for pixels of files.

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0 {

/// An image of the encoding `pil`: rows from the top, channels of a pixel side by side. Owns
/// nothing.
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

namespace detail {

[[noreturn]] inline void fail_image(std::string what, std::size_t byte) {
  throw error(errc::corrupt, diagnostics{.what = std::move(what), .byte = byte});
}

[[nodiscard]] inline bool pixels_fit(const pil_image& image) noexcept {
  const auto row = pil_row_bytes(image.mode, image.width);
  // 2^34 bytes a row times 2^32 rows fits in 66 bits: compare by division
  return !row || (image.height == 0 || *row == 0 ? image.pixels.empty()
                                                 : image.pixels.size() / image.height == *row &&
                                                       image.pixels.size() % image.height == 0);
}

}  // namespace detail

/// Parses a value of the encoding `pil`. Throws errc::corrupt, naming the byte, if it is cut short
/// or has not the pixels that size and mode ask for.
[[nodiscard]] inline pil_image parse_pil(bytes_view value) {
  if (value.size() < 12) detail::fail_image("an image without its header", value.size());
  const auto mode = load<std::uint32_t>(value.data() + 8);
  if (mode > value.size() - 12) detail::fail_image("an image's mode is cut short", 8);
  pil_image out{.width = load<std::uint32_t>(value.data()),
                .height = load<std::uint32_t>(value.data() + 4),
                .mode = as_text(value.subspan(12, mode)),
                .pixels = value.subspan(12 + std::size_t{mode})};
  if (!detail::pixels_fit(out))
    detail::fail_image(std::to_string(out.pixels.size()) + " bytes are not the pixels of " +
                           std::to_string(out.width) + " x " + std::to_string(out.height) +
                           " in mode " + std::string(out.mode),
                       12 + std::size_t{mode});
  return out;
}

/// Adds the bytes of a value of the encoding `pil`. Throws errc::invalid_argument if the pixels do
/// not fit size and mode.
inline void append_pil(std::string& out, const pil_image& image) {
  if (!detail::pixels_fit(image))
    throw error(errc::invalid_argument, "the image has not the pixels of its size and mode");
  std::byte header[12];
  store_to(header, image.width);
  store_to(header + 4, image.height);
  store_to(header + 8, static_cast<std::uint32_t>(image.mode.size()));
  out.append(as_text(header)).append(image.mode).append(as_text(image.pixels));
}

/// Image files, one after another. Owns only the list.
using image_files = std::vector<bytes_view>;

namespace detail {

/// Takes `count` sizes at `at`, then that many files, apart.
[[nodiscard]] inline image_files split_files(bytes_view value, std::size_t at,
                                             std::uint32_t count) {
  if ((value.size() - at) / 4 < count)
    fail_image("a list of " + std::to_string(count) + " images is cut short", at);
  image_files out;
  out.reserve(count);
  std::size_t begin = at + 4 * std::size_t{count};
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto size = load<std::uint32_t>(value.data() + at + 4 * std::size_t{i});
    if (size > value.size() - begin)
      fail_image("image " + std::to_string(i) + " of a list reaches beyond the value",
                 at + 4 * std::size_t{i});
    out.push_back(value.subspan(begin, size));
    begin += size;
  }
  return out;
}

inline void append_u32(std::string& out, std::size_t value) {
  if (value > std::numeric_limits<std::uint32_t>::max())
    throw error(errc::invalid_argument, "a list of images is too large");
  std::byte bytes[4];
  store_to(bytes, static_cast<std::uint32_t>(value));
  out.append(as_text(bytes));
}

inline void append_files(std::string& out, const image_files& files) {
  append_u32(out, files.size());
  for (const bytes_view file : files) append_u32(out, file.size());
  for (const bytes_view file : files) out.append(as_text(file));
}

}  // namespace detail

/// Parses a value of the encoding `jpeg_array`: u32 count, that many u32 sizes, the files.
/// Throws errc::corrupt, naming the byte, if it is cut short or the count is 0.
[[nodiscard]] inline image_files parse_jpeg_array(bytes_view value) {
  if (value.size() < 4) detail::fail_image("a list of images without its length", value.size());
  const auto count = load<std::uint32_t>(value.data());
  if (count == 0) detail::fail_image("a jpeg_array without images", 0);
  return detail::split_files(value, 4, count);
}

/// Parses a value of the encodings `list[...]`: u32 reserved, then as `jpeg_array`; may be empty.
[[nodiscard]] inline image_files parse_image_list(bytes_view value) {
  if (value.size() < 8) detail::fail_image("a list of images without its length", value.size());
  return detail::split_files(value, 8, load<std::uint32_t>(value.data() + 4));
}

/// The bytes of a value of the encoding `jpeg_array`. Throws errc::invalid_argument if there is no
/// image.
[[nodiscard]] inline std::string make_jpeg_array(const image_files& files) {
  if (files.empty()) throw error(errc::invalid_argument, "a jpeg_array has at least one image");
  std::string out;
  detail::append_files(out, files);
  return out;
}

/// The bytes of a value of the encodings `list[...]`.
[[nodiscard]] inline std::string make_image_list(const image_files& files) {
  std::string out(4, '\0');
  detail::append_files(out, files);
  return out;
}

/// Parses a value of the encoding `list[pil]`.
[[nodiscard]] inline std::vector<pil_image> parse_pil_list(bytes_view value) {
  std::vector<pil_image> out;
  for (const bytes_view each : parse_image_list(value)) out.push_back(parse_pil(each));
  return out;
}

/// The bytes of a value of the encoding `list[pil]`.
[[nodiscard]] inline std::string make_pil_list(const std::vector<pil_image>& images) {
  std::vector<std::string> encoded(images.size());
  image_files files;
  for (std::size_t i = 0; i < images.size(); ++i) {
    append_pil(encoded[i], images[i]);
    files.push_back(as_bytes(encoded[i]));
  }
  return make_image_list(files);
}

}  // namespace mdstream::inline v0
