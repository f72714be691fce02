#pragma once

/// Values that foreign files hold as text.

#include <mdstream/raw/detail/row_values.hpp>

#include <string_view>

namespace mdstream::inline v0::raw::detail {

/// Sets column `i` to the value that `text`, which outlives the values, stands for. Throws
/// errc::corrupt, naming the column, where it stands for none.
void set_text_value(const sample_layout& layout, std::size_t i, std::string_view text,
                    row_values& out);

}  // namespace mdstream::inline v0::raw::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/raw/detail/impl/text_value.ipp>
#endif
