#pragma once

/// gzip. Needs zlib: link mdstream::gz.

#if !__has_include(<zlib.h>)
#error "mdstream/codec/gz.hpp needs <zlib.h>: install zlib's headers and link mdstream::gz"
#endif

#include <mdstream/codec/codec.hpp>

#include <zlib.h>
#include <algorithm>
#include <limits>
#include <new>

namespace mdstream::inline v0 {
namespace codec {

/// Levels 0 to 9, normally 9. Writes one member without a time, so that equal data give equal
/// files; reads any number of members, and zeros after the last.
class gz {
 public:
  explicit gz(int level = 9) : level_(level) {}

  [[nodiscard]] static bool serves(std::string_view name) noexcept { return name == "gz"; }

  [[nodiscard]] static gz open(std::string_view text) {
    const compression_name parsed = parse_compression(text);
    if (!serves(parsed.name)) detail::fail_unknown_codec(text, "gz");
    return gz(detail::checked_level(parsed, 0, 9, 9));
  }

  [[nodiscard]] static constexpr std::string_view extension() noexcept { return "gz"; }
  [[nodiscard]] int level() const noexcept { return level_; }

  /// Throws std::bad_alloc.
  [[nodiscard]] std::vector<std::byte> compress(bytes_view raw) const {
    z_stream stream{};
    if (deflateInit2(&stream, level_, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::bad_alloc();
    const cleanup end{stream, &deflateEnd};
    std::vector<std::byte> zip(deflateBound(&stream, raw.size()));
    mutable_bytes room(zip);
    int result = Z_OK;
    while (result == Z_OK) {
      const bool last = give(stream, raw);
      take(stream, room);
      result = deflate(&stream, last ? Z_FINISH : Z_NO_FLUSH);
      advance(stream, raw, room);
    }
    zip.resize(zip.size() - room.size());
    return zip;
  }

  [[nodiscard]] std::error_code decompress(bytes_view zip, mutable_bytes raw,
                                           diagnostics& where) const {
    const std::size_t expected = raw.size();
    do {
      z_stream stream{};
      if (inflateInit2(&stream, gzip_window) != Z_OK) throw std::bad_alloc();
      const cleanup end{stream, &inflateEnd};
      int result = Z_OK;
      while (result == Z_OK) {
        (void)give(stream, zip);
        std::byte beyond{};  // inflate needs room even where nothing more may come
        mutable_bytes room = raw.empty() ? mutable_bytes(&beyond, 1) : raw;
        take(stream, room);
        const bool full = raw.empty();
        result = inflate(&stream, Z_NO_FLUSH);
        advance(stream, zip, room);
        if (full && room.empty()) return detail::wrong_raw_size(where, "gzip", "more", expected);
        if (!full) raw = room;
      }
      if (result != Z_STREAM_END) {
        if (stream.msg != nullptr) where.cause = stream.msg;
        return detail::corrupt_stream(where, result == Z_BUF_ERROR ? "the gzip data are cut short"
                                                                   : "the gzip data are damaged");
      }
      while (!zip.empty() && zip.front() == std::byte{0}) zip = zip.subspan(1);
    } while (!zip.empty());
    if (!raw.empty())
      return detail::wrong_raw_size(where, "gzip", std::to_string(expected - raw.size()), expected);
    return {};
  }

 private:
  static constexpr int gzip_window = 15 + 16;

  struct cleanup {
    z_stream& stream;
    int (*end)(z_stream*);
    ~cleanup() { end(&stream); }
  };

  // zlib counts in 32 bits: buffers are given to it in pieces.
  static uInt piece(std::size_t size) noexcept {
    return static_cast<uInt>(std::min<std::size_t>(size, std::numeric_limits<uInt>::max()));
  }

  /// Gives zlib the next piece of input; true if it is the last.
  static bool give(z_stream& stream, bytes_view in) noexcept {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
    stream.avail_in = piece(in.size());
    return stream.avail_in == in.size();
  }
  static void take(z_stream& stream, mutable_bytes out) noexcept {
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = piece(out.size());
  }
  static void advance(const z_stream& stream, bytes_view& in, mutable_bytes& out) noexcept {
    in = in.subspan(piece(in.size()) - stream.avail_in);
    out = out.subspan(piece(out.size()) - stream.avail_out);
  }

  int level_;
};

static_assert(codec_policy<gz>);

}  // namespace codec
}  // namespace mdstream::inline v0
