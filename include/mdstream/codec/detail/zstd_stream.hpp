#pragma once

/// Zstandard, piece by piece. Needs libzstd: link mdstream::zstd.

#include <mdstream/codec/detail/stream_decoder.hpp>
#include <mdstream/version.hpp>

#include <zstd.h>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace mdstream::inline v0::detail {

/// Reads any number of frames, with windows of up to 128 MiB, as level 22 makes them.
class zstd_decoder final : public stream_decoder {
 public:
  zstd_decoder();

  MDSTREAM_INLINE std::size_t decode(bytes_view& in, mutable_bytes out) override;

  [[nodiscard]] MDSTREAM_INLINE bool may_end() const override;

  /// The beginnings of frames, which need no state.
  MDSTREAM_INLINE void note_entries(const entry_spacing& spacing) override;
  [[nodiscard]] MDSTREAM_INLINE std::vector<entry_point> take_entries() override;

 private:
  struct release {
    void operator()(ZSTD_DCtx* context) const noexcept;
  };

  std::unique_ptr<ZSTD_DCtx, release> context_;
  bool may_end_ = false;
  bool keeps_back_ = false;  // what a full buffer had no room for comes without further input
  std::optional<entry_notes> notes_;
  std::uint64_t made_ = 0, used_ = 0;  // bytes of the calls before
};

/// Objects whose keys end in `.zst`.
[[nodiscard]] stream_decoder_choice zstd_stream();

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/codec/detail/impl/zstd_stream.ipp>
#endif
