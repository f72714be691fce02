#pragma once

#include <mdstream/codec/none.hpp>
#include <mdstream/version.hpp>

#include <cstring>

namespace mdstream::inline v0::codec {

MDSTREAM_INLINE bool none::serves(std::string_view name) noexcept { return name.empty(); }

MDSTREAM_INLINE none none::open(std::string_view text) {
  if (!text.empty()) detail::fail_unknown_codec(text, "");
  return {};
}

MDSTREAM_INLINE std::vector<std::byte> none::compress(bytes_view raw) const {
  return {raw.begin(), raw.end()};
}

MDSTREAM_INLINE std::error_code none::decompress(bytes_view zip, mutable_bytes raw,
                                                 diagnostics& where) const {
  if (zip.size() != raw.size())
    return detail::wrong_raw_size(where, "stored", std::to_string(zip.size()), raw.size());
  if (!raw.empty()) std::memcpy(raw.data(), zip.data(), raw.size());
  return {};
}

}  // namespace mdstream::inline v0::codec
