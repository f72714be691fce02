#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/format/images.hpp>
#include <mdstream/version.hpp>

#include <cstring>
#include <limits>

namespace mdstream::inline v0::detail {

[[noreturn]] MDSTREAM_INLINE void fail_image(std::string what, std::size_t byte) {
  throw error(errc::corrupt, diagnostics{.what = std::move(what), .byte = byte});
}

MDSTREAM_INLINE bool pixels_fit(const pil_image& image) noexcept {
  const auto row = pil_row_bytes(image.mode, image.width);
  // 2^34 bytes a row times 2^32 rows fits in 66 bits: compare by division
  return !row || (image.height == 0 || *row == 0 ? image.pixels.empty()
                                                 : image.pixels.size() / image.height == *row &&
                                                       image.pixels.size() % image.height == 0);
}

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0 {

MDSTREAM_INLINE pil_image parse_pil(bytes_view value) {
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

MDSTREAM_INLINE void append_pil(std::string& out, const pil_image& image) {
  if (!detail::pixels_fit(image))
    throw error(errc::invalid_argument, "the image has not the pixels of its size and mode");
  std::byte header[12];
  store_to(header, image.width);
  store_to(header + 4, image.height);
  store_to(header + 8, static_cast<std::uint32_t>(image.mode.size()));
  out.append(as_text(header)).append(image.mode).append(as_text(image.pixels));
}

}  // namespace mdstream::inline v0

namespace mdstream::inline v0::detail {

/// Takes `count` sizes at `at`, then that many files, apart.
MDSTREAM_INLINE image_files split_files(bytes_view value, std::size_t at, std::uint32_t count) {
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

MDSTREAM_INLINE void append_u32(std::string& out, std::size_t value) {
  if (value > std::numeric_limits<std::uint32_t>::max())
    throw error(errc::invalid_argument, "a list of images is too large");
  std::byte bytes[4];
  store_to(bytes, static_cast<std::uint32_t>(value));
  out.append(as_text(bytes));
}

MDSTREAM_INLINE void append_files(std::string& out, const image_files& files) {
  append_u32(out, files.size());
  for (const bytes_view file : files) append_u32(out, file.size());
  for (const bytes_view file : files) out.append(as_text(file));
}

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0 {

MDSTREAM_INLINE image_files parse_jpeg_array(bytes_view value) {
  if (value.size() < 4) detail::fail_image("a list of images without its length", value.size());
  const auto count = load<std::uint32_t>(value.data());
  if (count == 0) detail::fail_image("a jpeg_array without images", 0);
  return detail::split_files(value, 4, count);
}

MDSTREAM_INLINE image_files parse_image_list(bytes_view value) {
  if (value.size() < 8) detail::fail_image("a list of images without its length", value.size());
  return detail::split_files(value, 8, load<std::uint32_t>(value.data() + 4));
}

MDSTREAM_INLINE std::string make_jpeg_array(const image_files& files) {
  if (files.empty()) throw error(errc::invalid_argument, "a jpeg_array has at least one image");
  std::string out;
  detail::append_files(out, files);
  return out;
}

MDSTREAM_INLINE std::string make_image_list(const image_files& files) {
  std::string out(4, '\0');
  detail::append_files(out, files);
  return out;
}

MDSTREAM_INLINE std::vector<pil_image> parse_pil_list(bytes_view value) {
  std::vector<pil_image> out;
  for (const bytes_view each : parse_image_list(value)) out.push_back(parse_pil(each));
  return out;
}

MDSTREAM_INLINE std::string make_pil_list(const std::vector<pil_image>& images) {
  std::vector<std::string> encoded(images.size());
  image_files files;
  for (std::size_t i = 0; i < images.size(); ++i) {
    append_pil(encoded[i], images[i]);
    files.push_back(as_bytes(encoded[i]));
  }
  return make_image_list(files);
}

}  // namespace mdstream::inline v0
