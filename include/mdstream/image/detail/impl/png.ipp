#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/image/png.hpp>
#include <mdstream/version.hpp>

#include <csetjmp>
#include <cstring>
#include <new>
#include <string>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void png_errors::on_error(png_structp state, png_const_charp text) {
  auto* self = static_cast<png_errors*>(png_get_error_ptr(state));
  std::strncpy(self->text, text, sizeof self->text - 1);
  png_longjmp(state, 1);
}

MDSTREAM_INLINE bool png_errors::failed() const {
  if (is_out_of_memory) throw std::bad_alloc();
  return false;
}

MDSTREAM_INLINE void png_errors::on_warning(png_structp, png_const_charp) {}

MDSTREAM_INLINE png_voidp png_errors::on_allocate(png_structp state, png_alloc_size_t bytes) {
  void* const out = ::operator new(bytes, std::nothrow);
  if (out == nullptr) static_cast<png_errors*>(png_get_mem_ptr(state))->is_out_of_memory = true;
  return out;
}

MDSTREAM_INLINE void png_errors::on_free(png_structp, png_voidp memory) {
  ::operator delete(memory);
}

MDSTREAM_INLINE png_decoder::png_decoder(bytes_view file) : rest_(file) {
  state_ = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &errors_, &png_errors::on_error,
                                    &png_errors::on_warning, &errors_, &png_errors::on_allocate,
                                    &png_errors::on_free);
  if (state_ == nullptr) throw std::bad_alloc();
  info_ = png_create_info_struct(state_);
  if (info_ == nullptr) {
    png_destroy_read_struct(&state_, nullptr, nullptr);
    throw std::bad_alloc();
  }
  png_set_read_fn(state_, this, &on_read);
}

MDSTREAM_INLINE png_decoder::~png_decoder() { png_destroy_read_struct(&state_, &info_, nullptr); }

MDSTREAM_INLINE bool png_decoder::begin() {
  if (setjmp(png_jmpbuf(state_)) != 0) return errors_.failed();
  png_read_info(state_, info_);
  png_set_expand(state_);
  if (png_get_bit_depth(state_, info_) == 16) png_set_swap(state_);
  passes_ = png_set_interlace_handling(state_);
  png_read_update_info(state_, info_);
  return true;
}

MDSTREAM_INLINE bool png_decoder::read(std::byte* pixels) {
  if (setjmp(png_jmpbuf(state_)) != 0) return errors_.failed();
  const std::size_t row = png_get_rowbytes(state_, info_);
  for (int pass = 0; pass < passes_; ++pass)
    for (std::uint32_t y = 0; y < height(); ++y)
      png_read_row(state_, reinterpret_cast<png_bytep>(pixels + row * y), nullptr);
  png_read_end(state_, nullptr);
  return true;
}

MDSTREAM_INLINE std::uint32_t png_decoder::width() const noexcept {
  return png_get_image_width(state_, info_);
}

MDSTREAM_INLINE std::uint32_t png_decoder::height() const noexcept {
  return png_get_image_height(state_, info_);
}

MDSTREAM_INLINE std::uint32_t png_decoder::channels() const noexcept {
  return png_get_channels(state_, info_);
}

MDSTREAM_INLINE std::uint32_t png_decoder::bits() const noexcept {
  return png_get_bit_depth(state_, info_);
}

MDSTREAM_INLINE std::size_t png_decoder::row_bytes() const noexcept {
  return png_get_rowbytes(state_, info_);
}

MDSTREAM_INLINE const char* png_decoder::message() const noexcept { return errors_.text; }

MDSTREAM_INLINE void png_decoder::on_read(png_structp state, png_bytep out, std::size_t size) {
  auto* self = static_cast<png_decoder*>(png_get_io_ptr(state));
  if (size > self->rest_.size()) png_error(state, "the file is cut short");
  std::memcpy(out, self->rest_.data(), size);
  self->rest_ = self->rest_.subspan(size);
}

MDSTREAM_INLINE png_encoder::png_encoder() {
  state_ = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, &errors_, &png_errors::on_error,
                                     &png_errors::on_warning, &errors_, &png_errors::on_allocate,
                                     &png_errors::on_free);
  if (state_ == nullptr) throw std::bad_alloc();
  info_ = png_create_info_struct(state_);
  if (info_ == nullptr) {
    png_destroy_write_struct(&state_, nullptr);
    throw std::bad_alloc();
  }
  png_set_write_fn(state_, this, &on_write, &on_flush);
}

MDSTREAM_INLINE png_encoder::~png_encoder() { png_destroy_write_struct(&state_, &info_); }

MDSTREAM_INLINE bool png_encoder::encode(const image_view& image, int level) {
  static constexpr int types[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                  PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
  if (setjmp(png_jmpbuf(state_)) != 0) return errors_.failed();
  png_set_compression_level(state_, level);
  png_set_IHDR(state_, info_, image.width, image.height, static_cast<int>(image.bits),
               types[image.channels - 1], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(state_, info_);
  if (image.bits == 16) png_set_swap(state_);
  const std::size_t row = std::size_t{image.width} * image.channels * (image.bits / 8);
  for (std::uint32_t y = 0; y < image.height; ++y)
    png_write_row(state_, reinterpret_cast<png_const_bytep>(image.pixels.data() + row * y));
  png_write_end(state_, nullptr);
  return true;
}

MDSTREAM_INLINE std::vector<std::byte>& png_encoder::file() noexcept { return file_; }

MDSTREAM_INLINE const png_errors& png_encoder::errors() const noexcept { return errors_; }

MDSTREAM_INLINE void png_encoder::on_write(png_structp state, png_bytep bytes, std::size_t size) {
  auto* self = static_cast<png_encoder*>(png_get_io_ptr(state));
  const auto* data = reinterpret_cast<const std::byte*>(bytes);
  try {
    self->file_.insert(self->file_.end(), data, data + size);
  } catch (...) {  // no exception goes through C
    self->errors_.is_out_of_memory = true;
  }
  if (self->errors_.is_out_of_memory) png_error(state, "no memory for the file");
}

MDSTREAM_INLINE void png_encoder::on_flush(png_structp) {}

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0 {

MDSTREAM_INLINE std::vector<std::byte> encode_png(const image_view& image,
                                                  const png_options& options) {
  detail::check_pixels(image, 4, 16);
  if (options.level < 0 || options.level > 9)
    throw error(errc::invalid_argument,
                "the level of a PNG file is 0 to 9, not " + std::to_string(options.level));
  detail::png_encoder encoder;
  if (!encoder.encode(image, options.level))
    throw error(errc::invalid_argument, diagnostics{.what = "pixels can not be encoded as PNG",
                                                    .cause = encoder.errors().text});
  return std::move(encoder.file());
}

MDSTREAM_INLINE decoded_image decode_png(bytes_view file, const image_limits& limits) {
  detail::png_decoder decoder(file);
  const auto fail = [&] {
    throw error(errc::corrupt,
                diagnostics{.what = "a PNG file can not be decoded", .cause = decoder.message()});
  };
  if (!decoder.begin()) fail();
  detail::check_image_size(decoder.width(), decoder.height(), limits);
  decoded_image out{.width = decoder.width(),
                    .height = decoder.height(),
                    .channels = decoder.channels(),
                    .bits = decoder.bits()};
  out.pixels.resize(decoder.row_bytes() * out.height);
  if (!decoder.read(out.pixels.data())) fail();
  return out;
}

}  // namespace mdstream::inline v0
