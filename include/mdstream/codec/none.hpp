#pragma once

/// The codec of data that are stored as they are.

#include <mdstream/codec/codec.hpp>

#include <cstring>

namespace mdstream::inline v0 {
namespace codec {

class none {
 public:
  [[nodiscard]] static bool serves(std::string_view name) noexcept { return name.empty(); }

  /// Throws errc::unsupported unless `text` is empty.
  [[nodiscard]] static none open(std::string_view text) {
    if (!text.empty()) detail::fail_unknown_codec(text, "");
    return {};
  }

  [[nodiscard]] static constexpr std::string_view extension() noexcept { return ""; }

  [[nodiscard]] std::vector<std::byte> compress(bytes_view raw) const {
    return {raw.begin(), raw.end()};
  }

  [[nodiscard]] std::error_code decompress(bytes_view zip, mutable_bytes raw,
                                           diagnostics& where) const {
    if (zip.size() != raw.size())
      return detail::wrong_raw_size(where, "stored", std::to_string(zip.size()), raw.size());
    if (!raw.empty()) std::memcpy(raw.data(), zip.data(), raw.size());
    return {};
  }
};

static_assert(codec_policy<none>);

}  // namespace codec
}  // namespace mdstream::inline v0
