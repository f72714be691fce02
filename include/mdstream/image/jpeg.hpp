#pragma once

/// JPEG files from pixels, and pixels of JPEG files. Needs libjpeg (libjpeg-turbo): link
/// mdstream::jpeg.

#if !__has_include(<jpeglib.h>)
#error \
    "mdstream/image/jpeg.hpp needs <jpeglib.h>: install libjpeg-turbo's headers and link mdstream::jpeg"
#endif

#include <mdstream/core/bytes.hpp>
#include <mdstream/image/image.hpp>

#include <jpeglib.h>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mdstream::inline v0 {
namespace detail {

/// Where libjpeg jumps on errors. No C++ object with a destructor lives between setjmp and a jump.
struct jpeg_errors {
  jpeg_error_mgr base;  // first: libjpeg passes its address
  std::jmp_buf exit;
  char text[JMSG_LENGTH_MAX];

  /// What a state gets before it is created. Warnings are counted, not printed.
  [[nodiscard]] jpeg_error_mgr* use();
  /// After a jump: false, or `std::bad_alloc` where memory ran out.
  [[nodiscard]] bool failed() const;
};

/// libjpeg's state for reading.
class jpeg_decoder {
 public:
  jpeg_decoder();
  jpeg_decoder(const jpeg_decoder&) = delete;
  jpeg_decoder& operator=(const jpeg_decoder&) = delete;
  ~jpeg_decoder();

  /// Reads the header and decides on the output: gray stays gray, YCbCr becomes RGB. False for
  /// what is damaged; `read` as well.
  [[nodiscard]] bool begin(bytes_view file);

  /// Gray files become RGB as well. Call after `begin`, for files of up to 3 channels.
  void ask_for_rgb() noexcept;

  [[nodiscard]] bool read(std::byte* pixels);

  [[nodiscard]] std::uint32_t width() const noexcept;
  [[nodiscard]] std::uint32_t height() const noexcept;

  /// Channels of the output. Call after `begin`.
  [[nodiscard]] std::uint32_t channels() const noexcept;

  /// Whether the file is of the kind that decoders in hardware take: one sequential scan of 8 bits
  /// in Huffman's code, gray or YCbCr whose colours are halved or not. Call after `begin`.
  [[nodiscard]] bool is_plain() const noexcept;
  [[nodiscard]] long warnings() const noexcept;
  [[nodiscard]] const char* message() const noexcept;

 private:
  static bool is_unit(const jpeg_component_info& part) noexcept;

  jpeg_decompress_struct state_{};
  jpeg_errors errors_{};
};

/// libjpeg's state for writing, into memory.
class jpeg_encoder {
 public:
  jpeg_encoder();
  jpeg_encoder(const jpeg_encoder&) = delete;
  jpeg_encoder& operator=(const jpeg_encoder&) = delete;
  ~jpeg_encoder();

  [[nodiscard]] bool encode(const image_view& image, int quality);

  /// What `encode` made.
  [[nodiscard]] std::vector<std::byte>& file() noexcept;
  [[nodiscard]] const jpeg_errors& errors() const noexcept;

 private:
  /// libjpeg's destination, which comes first, and the bytes that it is given.
  struct memory_destination {
    jpeg_destination_mgr base;
    std::vector<std::byte> file;
  };

  static void begin_file(j_compress_ptr state);
  static boolean grow_file(j_compress_ptr state);
  static void end_file(j_compress_ptr state);
  /// Has libjpeg write behind the file's first `used` bytes, of which it gets more.
  static void give_space(j_compress_ptr state, std::size_t used);

  jpeg_compress_struct state_{};
  jpeg_errors errors_{};
  memory_destination destination_{};
};

}  // namespace detail

/// How JPEG files are written.
struct jpeg_options {
  int quality = 75;  ///< 1 to 100; the default is Pillow's
};

/// Encodes pixels as a JPEG file. Gray or RGB of 8 bits. Lossy: decoding gives other pixels.
///
///     out.write(mds::col<"image">(mds::encode_jpeg(image)), mds::col<"class">(3));
///
/// Thread safety: any number of calls at a time. Throws errc::invalid_argument for pixels that are
/// no such image, a quality outside its bounds, and sides above 65,500 pixels; std::bad_alloc where
/// memory runs out.
[[nodiscard]] std::vector<std::byte> encode_jpeg(const image_view& image,
                                                 const jpeg_options& options = {});

/// Decodes a JPEG file: the pixels that Pillow gives with the same libjpeg.
/// Thread safety: any number of calls at a time. Throws errc::corrupt for a file that is no JPEG,
/// is damaged or cut short, or larger than the limits allow; std::bad_alloc if memory runs out.
///
///     const mds::decoded_image image = mds::decode_jpeg(sample.get<"image">());
[[nodiscard]] decoded_image decode_jpeg(bytes_view file, const image_limits& limits = {});

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/image/detail/impl/jpeg.ipp>
#endif
