#pragma once

/// JSON text equal to that of Python's json.dumps with default settings.

#include <mdstream/core/json/value.hpp>

#include <string>
#include <string_view>

namespace mdstream::inline v0::json {

/// In which order the keys of objects are written.
enum class key_order : std::uint8_t {
  inserted,  ///< as the object has them
  sorted,    ///< by code point, on every level: json.dumps(..., sort_keys=True)
};

/// Adds `text`, which is UTF-8, in quotes and in ASCII.
/// Throws errc::invalid_argument if it is not UTF-8; surrogates of three bytes are passed on.
void append_string(std::string& out, std::string_view text);

/// Appends the text of `v`, as Python's json.dumps writes it. Throws as `dump` does.
void append_value(std::string& out, const value& v, key_order order = key_order::inserted);

/// The text of `v`. Throws errc::invalid_argument if a string in it is not UTF-8.
///
///     const std::string text = mds::json::dump(mds::json::object{{"step", 1000}, {"loss", 2.5}});
[[nodiscard]] std::string dump(const value& v, key_order order = key_order::inserted);

}  // namespace mdstream::inline v0::json

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/core/detail/impl/json/writer.ipp>
#endif
