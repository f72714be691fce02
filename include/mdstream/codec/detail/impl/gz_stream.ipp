#pragma once

#include <mdstream/codec/detail/gz_stream.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <limits>
#include <memory>
#include <new>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE gz_decoder::gz_decoder() {
  constexpr int gzip_window = 15 + 16;
  if (inflateInit2(&stream_, gzip_window) != Z_OK) throw std::bad_alloc();
}

MDSTREAM_INLINE gz_decoder::~gz_decoder() { inflateEnd(&stream_); }

MDSTREAM_INLINE std::size_t gz_decoder::decode(bytes_view& in, mutable_bytes out) {
  std::size_t made = 0;
  while (made < out.size() && (!in.empty() || keeps_back_)) {
    if (between_members_ && any_) {
      const auto data =
          std::find_if(in.begin(), in.end(), [](std::byte b) { return b != std::byte{0}; });
      in = in.subspan(static_cast<std::size_t>(data - in.begin()));
      if (in.empty()) break;
      inflateReset(&stream_);
    }
    between_members_ = false;
    any_ = true;
    const mutable_bytes room = out.subspan(made);
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
    stream_.avail_in = piece(in.size());
    stream_.next_out = reinterpret_cast<Bytef*>(room.data());
    stream_.avail_out = piece(room.size());
    const int result = inflate(&stream_, Z_NO_FLUSH);
    in = in.subspan(piece(in.size()) - stream_.avail_in);
    made += piece(room.size()) - stream_.avail_out;
    keeps_back_ = result == Z_OK && stream_.avail_out == 0;
    if (result == Z_STREAM_END) {
      between_members_ = true;
    } else if (result == Z_MEM_ERROR) {
      throw std::bad_alloc();
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      throw error(errc::corrupt, diagnostics{.what = "the gzip data are damaged",
                                             .cause = stream_.msg == nullptr ? "" : stream_.msg});
    }
  }
  return made;
}

MDSTREAM_INLINE bool gz_decoder::may_end() const { return between_members_ && any_; }

MDSTREAM_INLINE uInt gz_decoder::piece(std::size_t size) noexcept {
  return static_cast<uInt>(std::min<std::size_t>(size, std::numeric_limits<uInt>::max()));
}

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE stream_decoder_choice gz_stream() {
  return {".gz", []() -> std::unique_ptr<stream_decoder> {
            return std::make_unique<detail::gz_decoder>();
          }};
}

}  // namespace mdstream::inline v0::detail
