#pragma once

/// Where a text in PEM (RFC 7468) is damaged. Pure.

#include <optional>
#include <string>
#include <string_view>

namespace mdstream::inline v0::net {

/// The first line that can not be right, and why; nothing where each line is what it may be, which
/// does not say that its bytes are. Quotes nothing but the line's number. What stands outside of
/// the marks is not looked at; headers of keys in the older form (RFC 1421) are known.
[[nodiscard]] std::optional<std::string> pem_fault(std::string_view text);

}  // namespace mdstream::inline v0::net

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/pem.ipp>
#endif
