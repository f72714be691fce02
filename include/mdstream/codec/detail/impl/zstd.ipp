#pragma once

#include <mdstream/codec/zstd.hpp>
#include <mdstream/version.hpp>

#include <zstd_errors.h>
#include <algorithm>
#include <bit>
#include <memory>
#include <new>

namespace mdstream::inline v0::codec {

MDSTREAM_INLINE zstd::zstd(int level) : level_(level) {}

MDSTREAM_INLINE bool zstd::serves(std::string_view name) noexcept { return name == "zstd"; }

MDSTREAM_INLINE zstd zstd::open(std::string_view text) {
  const compression_name parsed = parse_compression(text);
  if (!serves(parsed.name)) detail::fail_unknown_codec(text, "zstd");
  return zstd(detail::checked_level(parsed, 1, 22, 3));
}

MDSTREAM_INLINE int zstd::level() const noexcept { return level_; }

MDSTREAM_INLINE std::vector<std::byte> zstd::compress(bytes_view raw) const {
  std::vector<std::byte> zip(ZSTD_compressBound(raw.size()));
  const std::size_t size = ZSTD_compress(zip.data(), zip.size(), raw.data(), raw.size(), level_);
  if (ZSTD_isError(size))
    throw error(errc::io_error, diagnostics{.what = "zstd can not compress the shard",
                                            .cause = ZSTD_getErrorName(size)});
  zip.resize(size);
  return zip;
}

MDSTREAM_INLINE std::error_code zstd::decompress(bytes_view zip, mutable_bytes raw,
                                                 diagnostics& where) const {
  if (!begins_with_frame(zip)) return no_frame(where);
  const std::size_t size = ZSTD_decompress(raw.data(), raw.size(), zip.data(), zip.size());
  if (ZSTD_isError(size)) return failed(where, size, raw.size());
  if (size != raw.size())
    return detail::wrong_raw_size(where, "zstd", std::to_string(size), raw.size());
  return {};
}

MDSTREAM_INLINE std::error_code zstd::decompress_blocks(bytes_view zip, std::size_t size,
                                                        const block_taker& take,
                                                        diagnostics& where) const {
  if (!begins_with_frame(zip)) return no_frame(where);
  const std::unique_ptr<ZSTD_DCtx, release> context(ZSTD_createDCtx());
  if (context == nullptr) throw std::bad_alloc();
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, largest_window_log(size));
  std::vector<std::byte> block(std::size_t{256} << 10);
  ZSTD_inBuffer in{zip.data(), zip.size(), 0};
  std::size_t made = 0;
  while (true) {
    ZSTD_outBuffer out{block.data(), block.size(), 0};
    const std::size_t left = ZSTD_decompressStream(context.get(), &out, &in);
    if (ZSTD_isError(left)) return failed(where, left, size);
    if (out.pos > size - made) return detail::wrong_raw_size(where, "zstd", "more", size);
    made += out.pos;
    if (out.pos != 0) take(bytes_view(block).first(out.pos));
    if (in.pos != in.size) continue;
    if (left == 0) break;
    if (out.pos < out.size) return damaged(where, "the data are cut short", size);
  }
  if (made != size) return detail::wrong_raw_size(where, "zstd", std::to_string(made), size);
  return {};
}

MDSTREAM_INLINE void zstd::release::operator()(ZSTD_DCtx* context) const noexcept {
  ZSTD_freeDCtx(context);
}

MDSTREAM_INLINE bool zstd::begins_with_frame(bytes_view zip) noexcept {
  return ZSTD_getFrameContentSize(zip.data(), zip.size()) != ZSTD_CONTENTSIZE_ERROR;
}

MDSTREAM_INLINE std::error_code zstd::no_frame(diagnostics& where) {
  return detail::corrupt_stream(where, "the data do not begin with a zstd frame");
}

MDSTREAM_INLINE std::error_code zstd::failed(diagnostics& where, std::size_t result,
                                             std::size_t expected) {
  if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation) throw std::bad_alloc();
  return damaged(where, ZSTD_getErrorName(result), expected);
}

MDSTREAM_INLINE std::error_code zstd::damaged(diagnostics& where, const char* cause,
                                              std::size_t expected) {
  where.cause = cause;
  return detail::corrupt_stream(where, "the zstd data can not be decompressed to the " +
                                           std::to_string(expected) + " bytes that the index says");
}

MDSTREAM_INLINE int zstd::largest_window_log(std::size_t size) noexcept {
  constexpr int of_level_22 = 27;
  return std::clamp(static_cast<int>(std::bit_width(size)), of_level_22,
                    ZSTD_dParam_getBounds(ZSTD_d_windowLogMax).upperBound);
}

}  // namespace mdstream::inline v0::codec
