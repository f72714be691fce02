#pragma once

#include <mdstream/codec/detail/gz_stream.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE gz_decoder::gz_decoder() {
  if (inflateInit2(&stream_, gzip_window) != Z_OK) throw std::bad_alloc();
}

MDSTREAM_INLINE gz_decoder::gz_decoder(const entry_point& at) : gz_decoder() {
  if (at.state.empty()) return;
  const int bits = std::to_integer<int>(at.state.front());
  if (bits > 7)
    throw error(errc::corrupt, "an entry point of gzip data begins with " + std::to_string(bits) +
                                   " bits of a byte");
  std::vector<std::byte> window(window_bytes);
  uLongf size = window.size();
  const int result = uncompress(reinterpret_cast<Bytef*>(window.data()), &size,
                                reinterpret_cast<const Bytef*>(at.state.data() + 1),
                                static_cast<uLong>(at.state.size() - 1));
  if (result == Z_MEM_ERROR) throw std::bad_alloc();
  if (result != Z_OK || size == 0)
    throw error(errc::corrupt,
                result == Z_BUF_ERROR
                    ? "the window of an entry point of gzip data is larger than 32 KiB or cut short"
                    : "the window of an entry point of gzip data is damaged or empty");
  inflateReset2(&stream_, -15);
  inflateSetDictionary(&stream_, reinterpret_cast<const Bytef*>(window.data()),
                       static_cast<uInt>(size));
  is_entered_ = any_ = true;
  between_members_ = false;
  first_bits_ = bits;
}

MDSTREAM_INLINE gz_decoder::~gz_decoder() { inflateEnd(&stream_); }

MDSTREAM_INLINE std::size_t gz_decoder::decode(bytes_view& in, mutable_bytes out) {
  const std::size_t given = in.size();
  std::size_t made = 0;
  while (made < out.size() && (!in.empty() || keeps_back_)) {
    if (trailer_left_ != 0) {
      skip_trailer(in);
      continue;
    }
    if (first_bits_ != 0) prime(in);
    if (between_members_ && any_) {
      const auto data =
          std::find_if(in.begin(), in.end(), [](std::byte b) { return b != std::byte{0}; });
      in = in.subspan(static_cast<std::size_t>(data - in.begin()));
      if (in.empty()) break;
      if (notes_) notes_->place(made_ + made, used_ + given - in.size());
      inflateReset2(&stream_, gzip_window);
    }
    between_members_ = false;
    any_ = true;
    const mutable_bytes room = out.subspan(made);
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
    stream_.avail_in = piece(in.size());
    stream_.next_out = reinterpret_cast<Bytef*>(room.data());
    stream_.avail_out = piece(room.size());
    const int result = inflate(&stream_, notes_ ? Z_BLOCK : Z_NO_FLUSH);
    in = in.subspan(piece(in.size()) - stream_.avail_in);
    made += piece(room.size()) - stream_.avail_out;
    keeps_back_ = result == Z_OK && stream_.avail_out == 0;
    if (result == Z_STREAM_END) {
      between_members_ = true;
      if (std::exchange(is_entered_, false)) trailer_left_ = trailer_bytes;
    } else if (result == Z_MEM_ERROR) {
      throw std::bad_alloc();
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      throw error(errc::corrupt, diagnostics{.what = "the gzip data are damaged",
                                             .cause = stream_.msg == nullptr ? "" : stream_.msg});
    } else if (notes_) {
      note_block(made_ + made, used_ + given - in.size());
    }
  }
  made_ += made;
  used_ += given - in.size();
  return made;
}

MDSTREAM_INLINE void gz_decoder::prime(bytes_view& in) {
  const int bits = std::exchange(first_bits_, 0);
  inflatePrime(&stream_, bits, std::to_integer<int>(in.front()) >> (8 - bits));
  in = in.subspan(1);
}

MDSTREAM_INLINE void gz_decoder::skip_trailer(bytes_view& in) {
  const std::size_t count = std::min(trailer_left_, in.size());
  in = in.subspan(count);
  trailer_left_ -= count;
}

MDSTREAM_INLINE void gz_decoder::note_block(std::uint64_t plain, std::uint64_t packed) {
  constexpr int begins = 128, follows_last = 64;
  // Before the first byte of a member, the member's beginning is the place.
  if ((stream_.data_type & (begins | follows_last)) != begins || stream_.total_out == 0) return;
  const bool within_byte = (stream_.data_type & 7) != 0;
  notes_->place(plain, packed - (within_byte ? 1 : 0), [this] { return state_of_block(); });
}

MDSTREAM_INLINE std::vector<std::byte> gz_decoder::state_of_block() {
  std::vector<std::byte> out(1 + window_bytes);
  out.front() = static_cast<std::byte>(stream_.data_type & 7);
  uInt size = 0;
  inflateGetDictionary(&stream_, reinterpret_cast<Bytef*>(out.data() + 1), &size);
  out.resize(1 + size);
  return out;
}

MDSTREAM_INLINE void gz_decoder::note_entries(const entry_spacing& spacing) {
  notes_.emplace(spacing);
}

MDSTREAM_INLINE std::vector<entry_point> gz_decoder::take_entries() {
  if (!notes_) return {};
  notes_->reached(made_);
  std::vector<entry_point> out = notes_->take();
  for (entry_point& each : out) {
    if (each.state.empty()) continue;
    const auto plain = static_cast<uLong>(each.state.size() - 1);
    uLongf size = compressBound(plain);
    std::vector<std::byte> packed(1 + size);
    packed.front() = each.state.front();
    if (compress(reinterpret_cast<Bytef*>(packed.data() + 1), &size,
                 reinterpret_cast<const Bytef*>(each.state.data() + 1), plain) != Z_OK)
      throw std::bad_alloc();
    packed.resize(1 + size);
    each.state = std::move(packed);
  }
  return out;
}

MDSTREAM_INLINE bool gz_decoder::may_end() const {
  return between_members_ && any_ && trailer_left_ == 0;
}

MDSTREAM_INLINE uInt gz_decoder::piece(std::size_t size) noexcept {
  return static_cast<uInt>(std::min<std::size_t>(size, std::numeric_limits<uInt>::max()));
}

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE stream_decoder_choice gz_stream() {
  return {
      ".gz",
      []() -> std::unique_ptr<stream_decoder> { return std::make_unique<detail::gz_decoder>(); },
      [](const entry_point& at) -> std::unique_ptr<stream_decoder> {
        return std::make_unique<detail::gz_decoder>(at);
      }};
}

}  // namespace mdstream::inline v0::detail
