#pragma once

/// The values of a pickle, and the few callables that plain data and NumPy arrays are pickled with.

#include <mdstream/core/error.hpp>
#include <mdstream/format/dtype.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

enum class pickle_kind : std::uint8_t {
  none,
  boolean,
  integer,
  real,
  text,
  bytes,
  list,
  tuple,
  set,
  dict,
  array,
  callable,      ///< within a pickle only
  element_type,  ///< within a pickle only
};

/// A value while its pickle is read. `items` are numbers of other values.
struct pickle_node {
  pickle_kind type = pickle_kind::none;
  bool flag = false;
  double number = 0;
  std::string text{};
  std::vector<std::uint32_t> items{};
  dtype elements = dtype::none;
  std::vector<std::uint64_t> shape{};
};

using pickle_arguments = std::vector<const pickle_node*>;

[[noreturn]] inline void fail_plain(std::string what) {
  throw error(errc::unsupported, "a pickle " + std::move(what));
}

/// The digits of a little-endian two's complement integer.
[[nodiscard]] std::string long_digits(std::string_view bytes);

[[nodiscard]] inline bool is(const pickle_arguments& values, std::size_t at, pickle_kind type) {
  return at < values.size() && values[at]->type == type;
}

/// What a callable makes of its arguments. All but these are refused.
[[nodiscard]] pickle_node call_plain(const std::string& name, const pickle_arguments& values,
                                     const std::vector<pickle_node>& nodes);

/// Completes a dtype or an array with the state that follows it.
void set_numpy_state(pickle_node& node, const pickle_arguments& state,
                     const std::vector<pickle_node>& nodes);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/format/detail/impl/pickle_numpy.ipp>
#endif
