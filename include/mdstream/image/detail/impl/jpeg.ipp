#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/image/jpeg.hpp>
#include <mdstream/version.hpp>

#include <jerror.h>
#include <algorithm>
#include <new>
#include <string>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE jpeg_error_mgr* jpeg_errors::use() {
  jpeg_std_error(&base);
  base.error_exit = [](j_common_ptr state) {
    auto* errors = reinterpret_cast<jpeg_errors*>(state->err);
    state->err->format_message(state, errors->text);
    std::longjmp(errors->exit, 1);
  };
  base.emit_message = [](j_common_ptr state, int level) {
    if (level < 0) ++state->err->num_warnings;
  };
  return &base;
}

MDSTREAM_INLINE bool jpeg_errors::failed() const {
  if (base.msg_code == JERR_OUT_OF_MEMORY) throw std::bad_alloc();
  return false;
}

MDSTREAM_INLINE jpeg_decoder::jpeg_decoder() {
  state_.err = errors_.use();
  if (setjmp(errors_.exit) != 0) {
    jpeg_destroy_decompress(&state_);
    throw std::bad_alloc();
  }
  jpeg_create_decompress(&state_);
}

MDSTREAM_INLINE jpeg_decoder::~jpeg_decoder() { jpeg_destroy_decompress(&state_); }

MDSTREAM_INLINE bool jpeg_decoder::begin(bytes_view file) {
  if (setjmp(errors_.exit) != 0) return errors_.failed();
  jpeg_mem_src(&state_, reinterpret_cast<const unsigned char*>(file.data()),
               static_cast<unsigned long>(file.size()));
  jpeg_read_header(&state_, TRUE);
  return true;
}

MDSTREAM_INLINE void jpeg_decoder::ask_for_rgb() noexcept { state_.out_color_space = JCS_RGB; }

MDSTREAM_INLINE bool jpeg_decoder::read(std::byte* pixels) {
  if (setjmp(errors_.exit) != 0) return errors_.failed();
  jpeg_start_decompress(&state_);
  const std::size_t row =
      std::size_t{state_.output_width} * static_cast<std::size_t>(state_.output_components);
  while (state_.output_scanline < state_.output_height) {
    auto* line = reinterpret_cast<JSAMPROW>(pixels + row * state_.output_scanline);
    jpeg_read_scanlines(&state_, &line, 1);
  }
  jpeg_finish_decompress(&state_);
  return true;
}

MDSTREAM_INLINE std::uint32_t jpeg_decoder::width() const noexcept { return state_.image_width; }

MDSTREAM_INLINE std::uint32_t jpeg_decoder::height() const noexcept { return state_.image_height; }

MDSTREAM_INLINE std::uint32_t jpeg_decoder::channels() const noexcept {
  switch (state_.out_color_space) {
    case JCS_GRAYSCALE: return 1;
    case JCS_CMYK:
    case JCS_YCCK: return 4;
    default: return 3;
  }
}

MDSTREAM_INLINE bool jpeg_decoder::is_plain() const noexcept {
  if (state_.progressive_mode || state_.arith_code || state_.data_precision != 8 ||
      state_.comps_in_scan != state_.num_components)
    return false;
  if (state_.jpeg_color_space == JCS_GRAYSCALE) return true;
  const jpeg_component_info* const parts = state_.comp_info;
  return state_.jpeg_color_space == JCS_YCbCr && parts[0].h_samp_factor <= 2 &&
         parts[0].v_samp_factor <= 2 && is_unit(parts[1]) && is_unit(parts[2]);
}

MDSTREAM_INLINE long jpeg_decoder::warnings() const noexcept { return errors_.base.num_warnings; }

MDSTREAM_INLINE const char* jpeg_decoder::message() const noexcept { return errors_.text; }

MDSTREAM_INLINE bool jpeg_decoder::is_unit(const jpeg_component_info& part) noexcept {
  return part.h_samp_factor == 1 && part.v_samp_factor == 1;
}

MDSTREAM_INLINE jpeg_encoder::jpeg_encoder() {
  state_.err = errors_.use();
  if (setjmp(errors_.exit) != 0) {
    jpeg_destroy_compress(&state_);
    throw std::bad_alloc();
  }
  jpeg_create_compress(&state_);
  destination_.base.init_destination = &begin_file;
  destination_.base.empty_output_buffer = &grow_file;
  destination_.base.term_destination = &end_file;
  state_.dest = &destination_.base;
}

MDSTREAM_INLINE jpeg_encoder::~jpeg_encoder() { jpeg_destroy_compress(&state_); }

MDSTREAM_INLINE bool jpeg_encoder::encode(const image_view& image, int quality) {
  if (setjmp(errors_.exit) != 0) return errors_.failed();
  state_.image_width = image.width;
  state_.image_height = image.height;
  state_.input_components = static_cast<int>(image.channels);
  state_.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&state_);
  jpeg_set_quality(&state_, quality, TRUE);
  jpeg_start_compress(&state_, TRUE);
  const std::size_t row = std::size_t{image.width} * image.channels;
  while (state_.next_scanline < state_.image_height) {
    // libjpeg does not write to its input, though the type would let it.
    auto* line = reinterpret_cast<JSAMPROW>(
        const_cast<std::byte*>(image.pixels.data() + row * state_.next_scanline));
    jpeg_write_scanlines(&state_, &line, 1);
  }
  jpeg_finish_compress(&state_);
  return true;
}

MDSTREAM_INLINE std::vector<std::byte>& jpeg_encoder::file() noexcept { return destination_.file; }

MDSTREAM_INLINE const jpeg_errors& jpeg_encoder::errors() const noexcept { return errors_; }

MDSTREAM_INLINE void jpeg_encoder::begin_file(j_compress_ptr state) { give_space(state, 0); }

MDSTREAM_INLINE boolean jpeg_encoder::grow_file(j_compress_ptr state) {
  // Called when all space is used.
  give_space(state, reinterpret_cast<memory_destination*>(state->dest)->file.size());
  return TRUE;
}

MDSTREAM_INLINE void jpeg_encoder::end_file(j_compress_ptr state) {
  auto& file = reinterpret_cast<memory_destination*>(state->dest)->file;
  file.resize(file.size() - state->dest->free_in_buffer);
}

MDSTREAM_INLINE void jpeg_encoder::give_space(j_compress_ptr state, std::size_t used) {
  auto& file = reinterpret_cast<memory_destination*>(state->dest)->file;
  bool has_memory = true;
  try {
    file.resize(std::max<std::size_t>(4096, 2 * used));
  } catch (...) {  // no exception goes through C
    has_memory = false;
  }
  if (!has_memory) ERREXIT1(state, JERR_OUT_OF_MEMORY, 0);
  state->dest->next_output_byte = reinterpret_cast<JOCTET*>(file.data() + used);
  state->dest->free_in_buffer = file.size() - used;
}

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0 {

MDSTREAM_INLINE std::vector<std::byte> encode_jpeg(const image_view& image,
                                                   const jpeg_options& options) {
  if (image.channels == 2)
    throw error(errc::invalid_argument, "a JPEG file is gray or RGB, without alpha");
  detail::check_pixels(image, 3, 8);
  if (options.quality < 1 || options.quality > 100)
    throw error(errc::invalid_argument,
                "the quality of a JPEG file is 1 to 100, not " + std::to_string(options.quality));
  detail::jpeg_encoder encoder;
  if (!encoder.encode(image, options.quality))
    throw error(errc::invalid_argument, diagnostics{.what = "pixels can not be encoded as JPEG",
                                                    .cause = encoder.errors().text});
  return std::move(encoder.file());
}

MDSTREAM_INLINE decoded_image decode_jpeg(bytes_view file, const image_limits& limits) {
  detail::jpeg_decoder decoder;
  const auto fail = [&](const char* cause) {
    throw error(errc::corrupt,
                diagnostics{.what = "a JPEG file can not be decoded", .cause = cause});
  };
  if (!decoder.begin(file)) fail(decoder.message());
  detail::check_image_size(decoder.width(), decoder.height(), limits);
  decoded_image out{
      .width = decoder.width(), .height = decoder.height(), .channels = decoder.channels()};
  out.pixels.resize(std::size_t{out.width} * out.height * out.channels);
  if (!decoder.read(out.pixels.data())) fail(decoder.message());
  if (decoder.warnings() != 0) fail("the data are damaged or cut short");
  return out;
}

}  // namespace mdstream::inline v0
