#pragma once

/// gzip. Needs zlib: link mdstream::gz.

#if !__has_include(<zlib.h>)
#error "mdstream/codec/gz.hpp needs <zlib.h>: install zlib's headers and link mdstream::gz"
#endif

#include <mdstream/codec/codec.hpp>
#include <mdstream/codec/detail/gz_stream.hpp>

#include <zlib.h>

namespace mdstream::inline v0 {
namespace codec {

/// Compresses by gzip, levels 0 to 9, normally 9. Writes one member without a time, so that equal
/// data give equal files; reads any number of members, and zeros after the last.
///
///     const std::vector<std::byte> file = mds::codec::gz(6).compress(raw);
class gz {
 public:
  explicit gz(int level = 9);

  [[nodiscard]] static bool serves(std::string_view name) noexcept;

  [[nodiscard]] static gz open(std::string_view text);

  /// For foreign files that are compressed.
  [[nodiscard]] static detail::stream_decoder_choice stream() { return detail::gz_stream(); }

  [[nodiscard]] static constexpr std::string_view extension() noexcept { return "gz"; }
  [[nodiscard]] int level() const noexcept;

  /// Throws std::bad_alloc.
  [[nodiscard]] std::vector<std::byte> compress(bytes_view raw) const;

  [[nodiscard]] std::error_code decompress(bytes_view zip, mutable_bytes raw,
                                           diagnostics& where) const;

 private:
  static constexpr int gzip_window = 15 + 16;

  struct cleanup {
    z_stream& stream;
    int (*end)(z_stream*);
    ~cleanup();
  };

  // zlib counts in 32 bits: buffers are given to it in pieces.
  static uInt piece(std::size_t size) noexcept;

  /// Gives zlib the next piece of input; true if it is the last.
  static bool give(z_stream& stream, bytes_view in) noexcept;
  static void take(z_stream& stream, mutable_bytes out) noexcept;
  static void advance(const z_stream& stream, bytes_view& in, mutable_bytes& out) noexcept;

  int level_;
};

static_assert(codec_policy<gz>);

}  // namespace codec
}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/codec/detail/impl/gz.ipp>
#endif
