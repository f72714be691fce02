#pragma once

/// Pixels of PNG files. Needs libpng: link mdstream::png.

#if !__has_include(<png.h>)
#error "mdstream/image/png.hpp needs <png.h>: install libpng's headers and link mdstream::png"
#endif

#include <mdstream/core/bytes.hpp>
#include <mdstream/image/image.hpp>

#include <png.h>

namespace mdstream::inline v0 {
namespace detail {

/// libpng's state, and where it jumps on errors. No C++ object with a destructor lives between
/// setjmp and a jump.
class png_decoder {
 public:
  explicit png_decoder(bytes_view file);
  png_decoder(const png_decoder&) = delete;
  png_decoder& operator=(const png_decoder&) = delete;
  ~png_decoder();

  /// Reads the header and asks for whole bytes: palettes and small grays become what they stand
  /// for.
  [[nodiscard]] bool begin();

  [[nodiscard]] bool read(std::byte* pixels);

  [[nodiscard]] std::uint32_t width() const noexcept;
  [[nodiscard]] std::uint32_t height() const noexcept;
  [[nodiscard]] std::uint32_t channels() const noexcept;
  [[nodiscard]] std::uint32_t bits() const noexcept;
  [[nodiscard]] std::size_t row_bytes() const noexcept;
  [[nodiscard]] const char* message() const noexcept;

 private:
  [[noreturn]] static void on_error(png_structp state, png_const_charp text);
  static void on_warning(png_structp, png_const_charp);
  static void on_read(png_structp state, png_bytep out, std::size_t size);

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
[[nodiscard]] decoded_image decode_png(bytes_view file, const image_limits& limits = {});

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/image/detail/impl/png.ipp>
#endif
