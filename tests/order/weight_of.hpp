#pragma once

/// Stream weights and sizes as golden cases write them.

#include <mdstream/order/order_options.hpp>

#include "order/golden.hpp"

#include <optional>

namespace golden {

/// A number of samples, null, or a negative number, which no unsigned type holds: 2^64 - |n|.
inline std::optional<std::uint64_t> count_of(const json& value) {
  if (value.is_null()) return std::nullopt;
  if (value.is_number_integer() && !value.is_number_unsigned())
    return static_cast<std::uint64_t>(value.get<std::int64_t>());
  return number(value);
}

inline mdstream::stream_weight weight_of(const json& value) {
  mdstream::stream_weight w;
  if (value.contains("proportion")) w.proportion = value["proportion"].get<double>();
  if (value.contains("repeat")) w.repeat = value["repeat"].get<double>();
  if (value.contains("choose")) w.choose = count_of(value["choose"]);
  return w;
}

}  // namespace golden
