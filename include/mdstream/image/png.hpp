#pragma once

/// Pixels of PNG files. Needs libpng: link mdstream::png.

#if !__has_include(<png.h>)
#error "mdstream/image/png.hpp needs <png.h>: install libpng's headers and link mdstream::png"
#endif

#include <mdstream/core/bytes.hpp>
#include <mdstream/image/image.hpp>

#include <png.h>
#include <csetjmp>
#include <cstring>
#include <new>
#include <string>

namespace mdstream::inline v0 {
namespace detail {

/// libpng's state, and where it jumps on errors. No C++ object with a destructor lives between
/// setjmp and a jump.
class png_decoder {
 public:
  explicit png_decoder(bytes_view file) : rest_(file) {
    state_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, &on_error, &on_warning);
    if (state_ == nullptr) throw std::bad_alloc();
    info_ = png_create_info_struct(state_);
    if (info_ == nullptr) {
      png_destroy_read_struct(&state_, nullptr, nullptr);
      throw std::bad_alloc();
    }
    png_set_read_fn(state_, this, &on_read);
  }
  png_decoder(const png_decoder&) = delete;
  png_decoder& operator=(const png_decoder&) = delete;
  ~png_decoder() { png_destroy_read_struct(&state_, &info_, nullptr); }

  /// Reads the header and asks for whole bytes: palettes and small grays become what they stand
  /// for.
  [[nodiscard]] bool begin() {
    if (setjmp(png_jmpbuf(state_)) != 0) return false;
    png_read_info(state_, info_);
    png_set_expand(state_);
    if (png_get_bit_depth(state_, info_) == 16) png_set_swap(state_);
    passes_ = png_set_interlace_handling(state_);
    png_read_update_info(state_, info_);
    return true;
  }

  [[nodiscard]] bool read(std::byte* pixels) {
    if (setjmp(png_jmpbuf(state_)) != 0) return false;
    const std::size_t row = png_get_rowbytes(state_, info_);
    for (int pass = 0; pass < passes_; ++pass)
      for (std::uint32_t y = 0; y < height(); ++y)
        png_read_row(state_, reinterpret_cast<png_bytep>(pixels + row * y), nullptr);
    png_read_end(state_, nullptr);
    return true;
  }

  [[nodiscard]] std::uint32_t width() const noexcept { return png_get_image_width(state_, info_); }
  [[nodiscard]] std::uint32_t height() const noexcept {
    return png_get_image_height(state_, info_);
  }
  [[nodiscard]] std::uint32_t channels() const noexcept { return png_get_channels(state_, info_); }
  [[nodiscard]] std::uint32_t bits() const noexcept { return png_get_bit_depth(state_, info_); }
  [[nodiscard]] std::size_t row_bytes() const noexcept { return png_get_rowbytes(state_, info_); }
  [[nodiscard]] const char* message() const noexcept { return message_; }

 private:
  [[noreturn]] static void on_error(png_structp state, png_const_charp text) {
    auto* self = static_cast<png_decoder*>(png_get_error_ptr(state));
    std::strncpy(self->message_, text, sizeof self->message_ - 1);
    png_longjmp(state, 1);
  }
  static void on_warning(png_structp, png_const_charp) {}
  static void on_read(png_structp state, png_bytep out, std::size_t size) {
    auto* self = static_cast<png_decoder*>(png_get_io_ptr(state));
    if (size > self->rest_.size()) png_error(state, "the file is cut short");
    std::memcpy(out, self->rest_.data(), size);
    self->rest_ = self->rest_.subspan(size);
  }

  bytes_view rest_;
  png_structp state_ = nullptr;
  png_infop info_ = nullptr;
  int passes_ = 1;
  char message_[128] = {};
};

}  // namespace detail

/// Decodes a PNG file. Palettes become RGB or RGBA, grays of less than 8 bits become 8; 16 bits
/// stay. Colours are not converted. Throws errc::corrupt if it is none, is damaged or cut short, or
/// larger than the limits allow.
[[nodiscard]] inline decoded_image decode_png(bytes_view file, const image_limits& limits = {}) {
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
