#pragma once

/// Base64 (RFC 4648): with padding, and in the form for URLs without.

#include <mdstream/core/bytes.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::detail {

inline constexpr std::string_view base64_digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

[[nodiscard]] std::string to_base64(bytes_view bytes);

/// The form for URLs and file names, without padding (RFC 4648 section 5).
[[nodiscard]] std::string to_base64_url(bytes_view bytes);

/// The bytes, or nothing where the text is not base64 to its last character.
[[nodiscard]] std::optional<std::vector<std::byte>> from_base64(std::string_view text);

/// As `from_base64`, of the form that `to_base64_url` gives.
[[nodiscard]] std::optional<std::vector<std::byte>> from_base64_url(std::string_view text);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/core/detail/impl/base64.ipp>
#endif
