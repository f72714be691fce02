#pragma once

/// Brotli. Needs libbrotlienc and libbrotlidec: link mdstream::br.

#if !__has_include(<brotli/decode.h>)
#error \
    "mdstream/codec/br.hpp needs <brotli/decode.h>: install Brotli's headers and link mdstream::br"
#endif

#include <mdstream/codec/codec.hpp>

#include <brotli/decode.h>
#include <brotli/encode.h>

namespace mdstream::inline v0 {
namespace codec {

/// Compresses by Brotli, levels 0 to 11, normally 11.
///
///     using policies = mds::policies<mds::any_codec<mds::codec::none, mds::codec::br>>;
class br {
 public:
  explicit br(int level = 11);

  [[nodiscard]] static bool serves(std::string_view name) noexcept;

  [[nodiscard]] static br open(std::string_view text);

  [[nodiscard]] static constexpr std::string_view extension() noexcept { return "br"; }
  [[nodiscard]] int level() const noexcept;

  /// Throws std::bad_alloc.
  [[nodiscard]] std::vector<std::byte> compress(bytes_view raw) const;

  [[nodiscard]] std::error_code decompress(bytes_view zip, mutable_bytes raw,
                                           diagnostics& where) const;

 private:
  struct release {
    void operator()(BrotliDecoderState* state) const noexcept;
  };

  static bool is_out_of_memory(const BrotliDecoderState& state) noexcept;
  static const std::uint8_t* octets(const std::byte* bytes) noexcept;

  int level_;
};

static_assert(codec_policy<br>);

}  // namespace codec
}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/codec/detail/impl/br.ipp>
#endif
