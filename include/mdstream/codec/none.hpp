#pragma once

/// The codec of data that are stored as they are.

#include <mdstream/codec/codec.hpp>

namespace mdstream::inline v0 {
namespace codec {

/// No compression: shards as they are.
class none {
 public:
  [[nodiscard]] static bool serves(std::string_view name) noexcept;

  /// Throws errc::unsupported unless `text` is empty.
  [[nodiscard]] static none open(std::string_view text);

  [[nodiscard]] static constexpr std::string_view extension() noexcept { return ""; }

  [[nodiscard]] std::vector<std::byte> compress(bytes_view raw) const;

  [[nodiscard]] std::error_code decompress(bytes_view zip, mutable_bytes raw,
                                           diagnostics& where) const;
};

static_assert(codec_policy<none>);

}  // namespace codec
}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/codec/detail/impl/none.ipp>
#endif
