#pragma once

/// Which keys of a listing are data.

#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::raw::detail {

/// The texts that a pattern's braces stand for: `a-{000..002}.tar` and `{x,y}`, as in shells. A
/// text without braces stands for itself. Throws errc::invalid_argument for braces that do not
/// close, for more than a million texts, and for a pattern above 4096 bytes.
[[nodiscard]] std::vector<std::string> expand_braces(std::string_view pattern);

/// Whether a key is data of a source with these patterns: it matches one of them (an empty one
/// matches all), it is no directory, and none of its parts begins with a point or an underscore.
[[nodiscard]] bool is_data(std::string_view key, const std::vector<std::string>& patterns);

}  // namespace mdstream::inline v0::raw::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/raw/detail/impl/keys.ipp>
#endif
