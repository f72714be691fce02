#pragma once

/// Values of Arrow's arrays as those of columns. Needs Arrow's C++ libraries.

#include <mdstream/format/sample_layout.hpp>
#include <mdstream/raw/detail/row_values.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace arrow {
class Array;
class DataType;
}  // namespace arrow

namespace mdstream::inline v0::raw::detail {

/// The encoding of values of that type, where nobody names one.
[[nodiscard]] std::string encoding_of_arrow(const ::arrow::DataType& type);

/// Sets column `i` to a value that is not null. `values` outlives what is set. Throws
/// errc::corrupt, naming the column, for a value that the column does not take.
void set_arrow_value(const ::arrow::Array& values, std::int64_t row, const sample_layout& layout,
                     std::size_t i, row_values& out);

}  // namespace mdstream::inline v0::raw::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/raw/detail/impl/arrow_values.ipp>
#endif
