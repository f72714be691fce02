#pragma once

/// PNG files from pixels, and pixels of PNG files. Needs libpng: link mdstream::png.

#if !__has_include(<png.h>)
#error "mdstream/image/png.hpp needs <png.h>: install libpng's headers and link mdstream::png"
#endif

#include <mdstream/core/bytes.hpp>
#include <mdstream/image/image.hpp>

#include <png.h>
#include <cstddef>
#include <vector>

namespace mdstream::inline v0 {
namespace detail {

/// What libpng says before it jumps on errors. No C++ object with a destructor lives between setjmp
/// and a jump.
struct png_errors {
  char text[128] = {};
  bool is_out_of_memory = false;

  /// After a jump: false, or `std::bad_alloc` where memory ran out.
  [[nodiscard]] bool failed() const;

  // Of a state whose pointers for errors and memory are to a png_errors.
  [[noreturn]] static void on_error(png_structp state, png_const_charp text);
  static void on_warning(png_structp, png_const_charp);
  static png_voidp on_allocate(png_structp state, png_alloc_size_t bytes);
  static void on_free(png_structp, png_voidp memory);
};

/// libpng's state for reading.
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
  static void on_read(png_structp state, png_bytep out, std::size_t size);

  bytes_view rest_;
  png_structp state_ = nullptr;
  png_infop info_ = nullptr;
  int passes_ = 1;
  png_errors errors_;
};

/// libpng's state for writing, into memory.
class png_encoder {
 public:
  png_encoder();
  png_encoder(const png_encoder&) = delete;
  png_encoder& operator=(const png_encoder&) = delete;
  ~png_encoder();

  [[nodiscard]] bool encode(const image_view& image, int level);

  [[nodiscard]] std::vector<std::byte>& file() noexcept;
  [[nodiscard]] const png_errors& errors() const noexcept;

 private:
  static void on_write(png_structp state, png_bytep bytes, std::size_t size);
  static void on_flush(png_structp);

  std::vector<std::byte> file_;
  png_structp state_ = nullptr;
  png_infop info_ = nullptr;
  png_errors errors_;
};

}  // namespace detail

/// How PNG files are written.
struct png_options {
  int level = 6;  ///< of zlib, 0 (none) to 9 (smallest)
};

/// Encodes pixels as a PNG file: 1 to 4 channels of 8 or 16 bits. Decoding gives the same pixels.
/// Thread safety: any number of calls at a time. Throws errc::invalid_argument for pixels that are
/// no such image, a level outside its bounds, and sides above 1,000,000 pixels; std::bad_alloc
/// where memory runs out.
///
///     out.write(mds::col<"mask">(mds::encode_png(image)));
[[nodiscard]] std::vector<std::byte> encode_png(const image_view& image,
                                                const png_options& options = {});

/// Decodes a PNG file. Palettes become RGB or RGBA, grays of less than 8 bits become 8; 16 bits
/// stay. Colours are not converted. Thread safety: any number of calls at a time. Throws
/// errc::corrupt for a file that is no PNG, is damaged or cut short, or larger than the limits
/// allow; std::bad_alloc if memory runs out.
///
///     const mds::decoded_image image = mds::decode_png(file);  // image.channels, image.bits
[[nodiscard]] decoded_image decode_png(bytes_view file, const image_limits& limits = {});

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/image/detail/impl/png.ipp>
#endif
