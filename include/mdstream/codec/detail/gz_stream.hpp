#pragma once

/// gzip, piece by piece. Needs zlib: link mdstream::gz.

#include <mdstream/codec/detail/stream_decoder.hpp>
#include <mdstream/version.hpp>

#include <zlib.h>
#include <cstddef>

namespace mdstream::inline v0::detail {

/// Reads any number of members, and zeros after the last.
class gz_decoder final : public stream_decoder {
 public:
  gz_decoder();
  gz_decoder(const gz_decoder&) = delete;
  gz_decoder& operator=(const gz_decoder&) = delete;
  MDSTREAM_INLINE ~gz_decoder() override;

  MDSTREAM_INLINE std::size_t decode(bytes_view& in, mutable_bytes out) override;

  [[nodiscard]] MDSTREAM_INLINE bool may_end() const override;

 private:
  static uInt piece(std::size_t size) noexcept;

  z_stream stream_{};
  bool between_members_ = true, any_ = false;
  bool keeps_back_ = false;  // what a full buffer had no room for comes without further input
};

/// Objects whose keys end in `.gz`.
[[nodiscard]] stream_decoder_choice gz_stream();

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/codec/detail/impl/gz_stream.ipp>
#endif
