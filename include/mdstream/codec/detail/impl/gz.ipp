#pragma once

#include <mdstream/codec/gz.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <limits>
#include <new>

namespace mdstream::inline v0::codec {

MDSTREAM_INLINE gz::gz(int level) : level_(level) {}

MDSTREAM_INLINE bool gz::serves(std::string_view name) noexcept { return name == "gz"; }

MDSTREAM_INLINE gz gz::open(std::string_view text) {
  const compression_name parsed = parse_compression(text);
  if (!serves(parsed.name)) detail::fail_unknown_codec(text, "gz");
  return gz(detail::checked_level(parsed, 0, 9, 9));
}

MDSTREAM_INLINE int gz::level() const noexcept { return level_; }

MDSTREAM_INLINE std::vector<std::byte> gz::compress(bytes_view raw) const {
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

MDSTREAM_INLINE std::error_code gz::decompress(bytes_view zip, mutable_bytes raw,
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
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
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

MDSTREAM_INLINE gz::cleanup::~cleanup() { end(&stream); }

MDSTREAM_INLINE uInt gz::piece(std::size_t size) noexcept {
  return static_cast<uInt>(std::min<std::size_t>(size, std::numeric_limits<uInt>::max()));
}

MDSTREAM_INLINE bool gz::give(z_stream& stream, bytes_view in) noexcept {
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
  stream.avail_in = piece(in.size());
  return stream.avail_in == in.size();
}

MDSTREAM_INLINE void gz::take(z_stream& stream, mutable_bytes out) noexcept {
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = piece(out.size());
}

MDSTREAM_INLINE void gz::advance(const z_stream& stream, bytes_view& in,
                                 mutable_bytes& out) noexcept {
  in = in.subspan(piece(in.size()) - stream.avail_in);
  out = out.subspan(piece(out.size()) - stream.avail_out);
}

}  // namespace mdstream::inline v0::codec
