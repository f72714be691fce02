#pragma once

/// Values that are whole files, by the extension of their names.

#include <mdstream/core/bytes.hpp>
#include <mdstream/format/sample_layout.hpp>
#include <mdstream/raw/detail/row_values.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace mdstream::inline v0::raw::detail {

[[nodiscard]] std::string lower_case(std::string_view text);

/// What follows the last point of a key's last part, in lower case.
[[nodiscard]] std::string extension_of(std::string_view key);

/// The encoding of files with that extension.
[[nodiscard]] std::string_view encoding_of_extension(std::string_view extension);

/// Sets column `i` to a file, whose bytes outlive the values. Throws errc::corrupt, naming the
/// column, where they are no value of it.
void set_file_value(const sample_layout& layout, std::size_t i, bytes_view file, row_values& out);

}  // namespace mdstream::inline v0::raw::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/raw/detail/impl/file_value.ipp>
#endif
