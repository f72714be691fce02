#pragma once

#include <mdstream/codec/bz2.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <limits>
#include <new>

namespace mdstream::inline v0::codec {

MDSTREAM_INLINE bz2::bz2(int level) : level_(level) {}

MDSTREAM_INLINE bool bz2::serves(std::string_view name) noexcept { return name == "bz2"; }

MDSTREAM_INLINE bz2 bz2::open(std::string_view text) {
  const compression_name parsed = parse_compression(text);
  if (!serves(parsed.name)) detail::fail_unknown_codec(text, "bz2");
  return bz2(detail::checked_level(parsed, 1, 9, 9));
}

MDSTREAM_INLINE int bz2::level() const noexcept { return level_; }

MDSTREAM_INLINE std::vector<std::byte> bz2::compress(bytes_view raw) const {
  bz_stream stream{};
  if (BZ2_bzCompressInit(&stream, level_, 0, 0) != BZ_OK) throw std::bad_alloc();
  const cleanup end{stream, &BZ2_bzCompressEnd};
  // the bound that libbz2 documents
  std::vector<std::byte> zip(raw.size() + raw.size() / 100 + 600);
  mutable_bytes room(zip);
  int result = BZ_RUN_OK;
  while (result != BZ_STREAM_END) {
    const bool last = give(stream, raw);
    take(stream, room);
    result = BZ2_bzCompress(&stream, last ? BZ_FINISH : BZ_RUN);
    advance(stream, raw, room);
  }
  zip.resize(zip.size() - room.size());
  return zip;
}

MDSTREAM_INLINE std::error_code bz2::decompress(bytes_view zip, mutable_bytes raw,
                                                diagnostics& where) const {
  const std::size_t expected = raw.size();
  do {
    bz_stream stream{};
    if (BZ2_bzDecompressInit(&stream, 0, 0) != BZ_OK) throw std::bad_alloc();
    const cleanup end{stream, &BZ2_bzDecompressEnd};
    while (true) {
      (void)give(stream, zip);
      std::byte beyond{};  // libbz2 needs room even where nothing more may come
      const bool full = raw.empty();
      mutable_bytes room = full ? mutable_bytes(&beyond, 1) : raw;
      take(stream, room);
      const std::size_t before = zip.size() + room.size();
      const int result = BZ2_bzDecompress(&stream);
      advance(stream, zip, room);
      if (full && room.empty()) return detail::wrong_raw_size(where, "bzip2", "more", expected);
      if (!full) raw = room;
      if (result == BZ_STREAM_END) break;
      if (result == BZ_MEM_ERROR) throw std::bad_alloc();
      if (result != BZ_OK) return detail::corrupt_stream(where, "the bzip2 data are damaged");
      if (zip.size() + room.size() == before)
        return detail::corrupt_stream(where, "the bzip2 data are cut short");
    }
  } while (!zip.empty());
  if (!raw.empty())
    return detail::wrong_raw_size(where, "bzip2", std::to_string(expected - raw.size()), expected);
  return {};
}

MDSTREAM_INLINE bz2::cleanup::~cleanup() { end(&stream); }

MDSTREAM_INLINE unsigned bz2::piece(std::size_t size) noexcept {
  return static_cast<unsigned>(std::min<std::size_t>(size, std::numeric_limits<unsigned>::max()));
}

MDSTREAM_INLINE bool bz2::give(bz_stream& stream, bytes_view in) noexcept {
  stream.next_in = reinterpret_cast<char*>(const_cast<std::byte*>(in.data()));
  stream.avail_in = piece(in.size());
  return stream.avail_in == in.size();
}

MDSTREAM_INLINE void bz2::take(bz_stream& stream, mutable_bytes out) noexcept {
  stream.next_out = reinterpret_cast<char*>(out.data());
  stream.avail_out = piece(out.size());
}

MDSTREAM_INLINE void bz2::advance(const bz_stream& stream, bytes_view& in,
                                  mutable_bytes& out) noexcept {
  in = in.subspan(piece(in.size()) - stream.avail_in);
  out = out.subspan(piece(out.size()) - stream.avail_out);
}

}  // namespace mdstream::inline v0::codec
