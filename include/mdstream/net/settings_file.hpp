#pragma once

/// Files of settings and keys, as command lines and SDKs keep them in a home directory.

#include <mdstream/core/json/value.hpp>
#include <mdstream/core/warning.hpp>
#include <mdstream/net/environment.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mdstream::inline v0::net {

namespace detail {

/// The text of a file; nothing where there is none that may be read, as AWS's tools have it. Throws
/// where it is larger than any settings are.
[[nodiscard]] std::optional<std::string> read_settings(const std::string& path);

/// `path` with a leading `~/` put into the home directory.
[[nodiscard]] std::string in_home(const environment& variables, std::string path);

/// Tells of a file of credentials that everybody may read.
void warn_of_open_file(const std::string& path, const warning_function& warn);

/// Tells each text once: keys may be asked for every half a minute. Copies share it.
[[nodiscard]] warning_function each_once(warning_function warn);

/// The text of a file of keys. One that everybody may read is told of and used nevertheless.
[[nodiscard]] std::optional<std::string> read_secret(const std::string& path,
                                                     const warning_function& warn);

/// A token as it may be sent in a header: what files and services put around it taken off.
[[nodiscard]] std::string header_token(std::string_view text);

/// The number of the line that the byte is in, the first being 1.
[[nodiscard]] std::size_t line_of(std::string_view text, std::uint64_t byte);

/// A file of JSON. Throws `errc::invalid_argument`, naming the line.
[[nodiscard]] json::value parse_json_file(std::string_view text, const std::string& file);

/// The token of a file that holds nothing else. Throws `errc::invalid_argument`, naming the line,
/// for what is no token: nothing at all, several words, anything but printable ASCII.
[[nodiscard]] std::string token_of_file(std::string_view text, const std::string& file);

}  // namespace detail

}  // namespace mdstream::inline v0::net

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/settings_file.ipp>
#endif
