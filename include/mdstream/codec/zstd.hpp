#pragma once

/// Zstandard. Needs libzstd: link mdstream::zstd.

#if !__has_include(<zstd.h>)
#error "mdstream/codec/zstd.hpp needs <zstd.h>: install libzstd's headers and link mdstream::zstd"
#endif

#include <mdstream/codec/codec.hpp>
#include <mdstream/codec/detail/zstd_stream.hpp>

#include <zstd.h>
#include <vector>

namespace mdstream::inline v0 {
namespace codec {

/// Compresses by Zstandard, levels 1 to 22, normally 3. Writes one frame with its content size,
/// which Python's decoder requires; reads any number of frames.
///
///     using policies = mds::policies<mds::codec::zstd>;  // a writer's .compression = "zstd:7"
class zstd {
 public:
  explicit zstd(int level = 3);

  [[nodiscard]] static bool serves(std::string_view name) noexcept;

  [[nodiscard]] static zstd open(std::string_view text);

  /// For foreign files that are compressed.
  [[nodiscard]] static detail::stream_decoder_choice stream() { return detail::zstd_stream(); }

  [[nodiscard]] static constexpr std::string_view extension() noexcept { return "zstd"; }
  [[nodiscard]] int level() const noexcept;

  /// Throws std::bad_alloc, and errc::io_error with the library's reason if it fails otherwise.
  [[nodiscard]] std::vector<std::byte> compress(bytes_view raw) const;

  [[nodiscard]] std::error_code decompress(bytes_view zip, mutable_bytes raw,
                                           diagnostics& where) const;

  /// Blocks of 256 KiB, which the processor's cache still holds when they are taken. Besides them
  /// it needs the frame's window, which may be as large as level 22 makes it, 128 MiB, or as
  /// `size`.
  [[nodiscard]] std::error_code decompress_blocks(bytes_view zip, std::size_t size,
                                                  const block_taker& take,
                                                  diagnostics& where) const;

 private:
  struct release {
    void operator()(ZSTD_DCtx* context) const noexcept;
  };

  static bool begins_with_frame(bytes_view zip) noexcept;
  static std::error_code no_frame(diagnostics& where);
  /// For what libzstd returned as an error. Throws `std::bad_alloc` where memory ran out.
  static std::error_code failed(diagnostics& where, std::size_t result, std::size_t expected);
  static std::error_code damaged(diagnostics& where, const char* cause, std::size_t expected);
  static int largest_window_log(std::size_t size) noexcept;

  int level_;
};

static_assert(block_codec<zstd>);

}  // namespace codec
}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/codec/detail/impl/zstd.ipp>
#endif
