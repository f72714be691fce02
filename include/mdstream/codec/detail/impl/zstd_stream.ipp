#pragma once

#include <mdstream/codec/detail/zstd_stream.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/version.hpp>

#include <zstd_errors.h>
#include <new>
#include <string>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE zstd_decoder::zstd_decoder() : context_(ZSTD_createDCtx()) {
  if (context_ == nullptr) throw std::bad_alloc();
  constexpr int of_level_22 = 27;
  ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, of_level_22);
}

MDSTREAM_INLINE std::size_t zstd_decoder::decode(bytes_view& in, mutable_bytes out) {
  ZSTD_outBuffer to{out.data(), out.size(), 0};
  ZSTD_inBuffer from{in.data(), in.size(), 0};
  while (to.pos < to.size && (from.pos < from.size || keeps_back_)) {
    const std::size_t left = ZSTD_decompressStream(context_.get(), &to, &from);
    if (ZSTD_getErrorCode(left) == ZSTD_error_frameParameter_windowTooLarge)
      throw error(errc::unsupported,
                  "the zstd data ask for a window of more than 128 MiB of memory: compress them "
                  "with --long=27 at most");
    if (ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation) throw std::bad_alloc();
    if (ZSTD_isError(left))
      throw error(errc::corrupt, diagnostics{.what = "the zstd data are damaged",
                                             .cause = ZSTD_getErrorName(left)});
    keeps_back_ = left != 0 && to.pos == to.size;
    may_end_ = left == 0;
    if (may_end_ && notes_) notes_->place(made_ + to.pos, used_ + from.pos);
  }
  in = in.subspan(from.pos);
  made_ += to.pos;
  used_ += from.pos;
  return to.pos;
}

MDSTREAM_INLINE bool zstd_decoder::may_end() const { return may_end_; }

MDSTREAM_INLINE void zstd_decoder::note_entries(const entry_spacing& spacing) {
  notes_.emplace(spacing);
}

MDSTREAM_INLINE std::vector<entry_point> zstd_decoder::take_entries() {
  if (!notes_) return {};
  notes_->reached(made_);
  return notes_->take();
}

MDSTREAM_INLINE void zstd_decoder::release::operator()(ZSTD_DCtx* context) const noexcept {
  ZSTD_freeDCtx(context);
}

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE stream_decoder_choice zstd_stream() {
  return {
      ".zst",
      []() -> std::unique_ptr<stream_decoder> { return std::make_unique<detail::zstd_decoder>(); },
      [](const entry_point& at) -> std::unique_ptr<stream_decoder> {
        if (!at.state.empty())
          throw error(errc::corrupt, "an entry point of zstd data has a state of " +
                                         std::to_string(at.state.size()) +
                                         " bytes, though frames need none");
        return std::make_unique<detail::zstd_decoder>();
      }};
}

}  // namespace mdstream::inline v0::detail
