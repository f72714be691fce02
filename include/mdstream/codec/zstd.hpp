#pragma once

/// Zstandard. Needs libzstd: link mdstream::zstd.

#if !__has_include(<zstd.h>)
#error "mdstream/codec/zstd.hpp needs <zstd.h>: install libzstd's headers and link mdstream::zstd"
#endif

#include <mdstream/codec/codec.hpp>

#include <zstd.h>
#include <memory>
#include <new>

namespace mdstream::inline v0 {
namespace codec {

/// Levels 1 to 22, normally 3. Writes one frame with its content size, which Python's decoder
/// requires; reads any number of frames.
class zstd {
 public:
  explicit zstd(int level = 3) : level_(level) {}

  [[nodiscard]] static bool serves(std::string_view name) noexcept { return name == "zstd"; }

  [[nodiscard]] static zstd open(std::string_view text) {
    const compression_name parsed = parse_compression(text);
    if (!serves(parsed.name)) detail::fail_unknown_codec(text, "zstd");
    return zstd(detail::checked_level(parsed, 1, 22, 3));
  }

  [[nodiscard]] static constexpr std::string_view extension() noexcept { return "zstd"; }
  [[nodiscard]] int level() const noexcept { return level_; }

  /// Throws std::bad_alloc, and errc::io_error with the library's reason if it fails otherwise.
  [[nodiscard]] std::vector<std::byte> compress(bytes_view raw) const {
    std::vector<std::byte> zip(ZSTD_compressBound(raw.size()));
    const std::size_t size = ZSTD_compress(zip.data(), zip.size(), raw.data(), raw.size(), level_);
    if (ZSTD_isError(size))
      throw error(errc::io_error, diagnostics{.what = "zstd can not compress the shard",
                                              .cause = ZSTD_getErrorName(size)});
    zip.resize(size);
    return zip;
  }

  [[nodiscard]] std::error_code decompress(bytes_view zip, mutable_bytes raw,
                                           diagnostics& where) const {
    const unsigned long long declared = ZSTD_getFrameContentSize(zip.data(), zip.size());
    if (declared == ZSTD_CONTENTSIZE_ERROR)
      return detail::corrupt_stream(where, "the data do not begin with a zstd frame");
    const std::size_t size = ZSTD_decompress(raw.data(), raw.size(), zip.data(), zip.size());
    if (ZSTD_isError(size)) {
      where.cause = ZSTD_getErrorName(size);
      return detail::corrupt_stream(where, "the zstd data can not be decompressed to the " +
                                               std::to_string(raw.size()) +
                                               " bytes that the index says");
    }
    if (size != raw.size())
      return detail::wrong_raw_size(where, "zstd", std::to_string(size), raw.size());
    return {};
  }

 private:
  int level_;
};

static_assert(codec_policy<zstd>);

}  // namespace codec
}  // namespace mdstream::inline v0
