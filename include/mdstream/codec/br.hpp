#pragma once

/// Brotli. Needs libbrotlienc and libbrotlidec: link mdstream::br.

#if !__has_include(<brotli/decode.h>)
#error \
    "mdstream/codec/br.hpp needs <brotli/decode.h>: install Brotli's headers and link mdstream::br"
#endif

#include <mdstream/codec/codec.hpp>

#include <brotli/decode.h>
#include <brotli/encode.h>
#include <new>

namespace mdstream::inline v0 {
namespace codec {

/// Levels 0 to 11, normally 11.
class br {
 public:
  explicit br(int level = 11) : level_(level) {}

  [[nodiscard]] static bool serves(std::string_view name) noexcept { return name == "br"; }

  [[nodiscard]] static br open(std::string_view text) {
    const compression_name parsed = parse_compression(text);
    if (!serves(parsed.name)) detail::fail_unknown_codec(text, "br");
    return br(detail::checked_level(parsed, 0, 11, 11));
  }

  [[nodiscard]] static constexpr std::string_view extension() noexcept { return "br"; }
  [[nodiscard]] int level() const noexcept { return level_; }

  /// Throws std::bad_alloc.
  [[nodiscard]] std::vector<std::byte> compress(bytes_view raw) const {
    std::vector<std::byte> zip(BrotliEncoderMaxCompressedSize(raw.size()));
    std::size_t size = zip.size();
    if (BrotliEncoderCompress(level_, BROTLI_DEFAULT_WINDOW, BROTLI_MODE_GENERIC, raw.size(),
                              octets(raw.data()), &size,
                              reinterpret_cast<std::uint8_t*>(zip.data())) != BROTLI_TRUE)
      throw std::bad_alloc();
    zip.resize(size);
    return zip;
  }

  [[nodiscard]] std::error_code decompress(bytes_view zip, mutable_bytes raw,
                                           diagnostics& where) const {
    std::byte none{};
    std::size_t size = raw.size();
    auto* out = reinterpret_cast<std::uint8_t*>(raw.empty() ? &none : raw.data());
    if (BrotliDecoderDecompress(zip.size(), octets(zip.data()), &size, out) !=
        BROTLI_DECODER_RESULT_SUCCESS)
      return detail::corrupt_stream(
          where, "the Brotli data are damaged, cut short, or hold more than the " +
                     std::to_string(raw.size()) + " bytes that the index says");
    if (size != raw.size())
      return detail::wrong_raw_size(where, "Brotli", std::to_string(size), raw.size());
    return {};
  }

 private:
  static const std::uint8_t* octets(const std::byte* bytes) noexcept {
    return reinterpret_cast<const std::uint8_t*>(bytes);
  }

  int level_;
};

static_assert(codec_policy<br>);

}  // namespace codec
}  // namespace mdstream::inline v0
