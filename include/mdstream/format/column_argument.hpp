#pragma once

/// Values of a sample by column name, for writers.

#include <mdstream/core/fixed_string.hpp>

namespace mdstream::inline v0 {

/// A value and the column that it is for; `col` makes it. Views the value: pass it on at once.
template <fixed_string Name, class Value>
struct column_argument {
  const Value& value;
};

/// Names the column of a value that is written.
///
///     out.write(mds::col<"tokens">(tokens), mds::col<"label">(3));   // in any order
///
/// Lifetime: the result views the value; both live to the end of the call of `write`.
template <fixed_string Name, class Value>
[[nodiscard]] constexpr column_argument<Name, Value> col(const Value& value) noexcept {
  return {value};
}

}  // namespace mdstream::inline v0
