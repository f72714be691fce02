#pragma once

/// Reads plain data out of Python pickles, and nothing else: None, bool, int, float, str, bytes,
/// list, tuple, set, dict and NumPy arrays. A pickle is a program; this reader knows the
/// instructions that make such values and refuses all others, so that nothing is ever executed.

#include <mdstream/core/bytes.hpp>
#include <mdstream/format/detail/pickle_machine.hpp>
#include <mdstream/format/dtype.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0 {

/// What a pickled value is; `callable` and `element_type` stand within pickles only.
using pickle_kind = detail::pickle_kind;

/// A value that was pickled.
struct pickle_value {
  pickle_kind type = pickle_kind::none;
  bool flag = false;   ///< boolean
  double number = 0;   ///< real
  std::string text{};  ///< integer: its digits; text: UTF-8; bytes and array: the bytes
  std::vector<pickle_value> items{};   ///< list, tuple, set; dict: key, value, key, value, ...
  dtype elements = dtype::none;        ///< array
  std::vector<std::uint64_t> shape{};  ///< array, C order; a NumPy scalar is an array of rank 0
};

namespace detail {

/// Copies what the machine left into a tree. Shared values are copied for each place; what would
/// grow far beyond its pickle, or holds itself, is refused.
class pickle_tree {
 public:
  pickle_tree(const pickle_machine& machine, std::size_t pickle_bytes)
      : machine_(machine), left_(std::uint64_t{64} * pickle_bytes + 4096) {}

  [[nodiscard]] pickle_value build(std::uint32_t at, unsigned depth = 0);

 private:
  const pickle_machine& machine_;
  std::uint64_t left_;
};

}  // namespace detail

/// Reads a pickle of protocol 2 to 5.
/// Throws errc::unsupported for what is no plain data, naming the callable that the pickle asks
/// for, and for values that nest deeper than 256 levels or repeat themselves far beyond the size of
/// the pickle; errc::corrupt, naming the byte, if it is cut short or makes no sense.
///
///     const mds::pickle_value value = mds::read_pickle(sample.get<mds::bytes_view>("p"));
///     if (value.type == mds::pickle_kind::list) use(value.items.size());
[[nodiscard]] pickle_value read_pickle(bytes_view pickle);

/// `pkl` columns as their values: the type of a schema's column, or of `sample.get`. Needs
/// `allow_unsafe_types`. Errors: as `read_pickle`. Cannot encode values;
/// writers take bytes.
///
///     const mds::pickle_value value = sample.get<mds::pickled>("p");
struct pickled {
  static constexpr std::string_view name = "pkl";
  using view = pickle_value;
  [[nodiscard]] static view decode(bytes_view value) { return read_pickle(value); }
};

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/format/detail/impl/pickle.ipp>
#endif
