#pragma once

/// gzip, piece by piece. Needs zlib: link mdstream::gz.

#include <mdstream/codec/detail/stream_decoder.hpp>
#include <mdstream/version.hpp>

#include <zlib.h>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace mdstream::inline v0::detail {

/// Reads any number of members, and zeros after the last.
class gz_decoder final : public stream_decoder {
 public:
  gz_decoder();
  /// Of what lies from an entry point on: a member's beginning, or a block in a member, whose
  /// checksum and size cannot be checked then. Those of later members are. Throws errc::corrupt for
  /// a damaged state.
  explicit gz_decoder(const entry_point& at);
  gz_decoder(const gz_decoder&) = delete;
  gz_decoder& operator=(const gz_decoder&) = delete;
  MDSTREAM_INLINE ~gz_decoder() override;

  MDSTREAM_INLINE std::size_t decode(bytes_view& in, mutable_bytes out) override;

  [[nodiscard]] MDSTREAM_INLINE bool may_end() const override;

  /// The beginnings of members, which need no state, and of deflate blocks. The state of a block is
  /// a byte with the number of bits of its first byte that belong to it, where 0 stands for all,
  /// and the bytes before it, up to 32 KiB of its member, as a zlib stream.
  MDSTREAM_INLINE void note_entries(const entry_spacing& spacing) override;
  [[nodiscard]] MDSTREAM_INLINE std::vector<entry_point> take_entries() override;

 private:
  static constexpr int gzip_window = 15 + 16;
  static constexpr std::size_t window_bytes = std::size_t{1} << 15;
  static constexpr std::size_t trailer_bytes = 8;

  static uInt piece(std::size_t size) noexcept;

  /// Gives zlib the bits that stand in front of whole bytes after an entry point.
  void prime(bytes_view& in);
  /// Takes what zlib does not see of the trailer of a member that was entered.
  void skip_trailer(bytes_view& in);
  /// Notes where zlib stopped, if a block begins there.
  void note_block(std::uint64_t plain, std::uint64_t packed);
  /// Of the block that begins where zlib stopped, with the bytes before it as they are.
  [[nodiscard]] std::vector<std::byte> state_of_block();

  z_stream stream_{};
  bool between_members_ = true, any_ = false;
  bool keeps_back_ = false;  // what a full buffer had no room for comes without further input
  bool is_entered_ = false;  // in a member's middle: zlib sees no header and no trailer
  int first_bits_ = 0;       // of the next byte
  std::size_t trailer_left_ = 0;
  std::optional<entry_notes> notes_;
  std::uint64_t made_ = 0, used_ = 0;  // bytes of the calls before
};

/// Objects whose keys end in `.gz`.
[[nodiscard]] stream_decoder_choice gz_stream();

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/codec/detail/impl/gz_stream.ipp>
#endif
