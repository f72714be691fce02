#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/order/detail/exact_double.hpp>
#include <mdstream/order/detail/numpy_random.hpp>
#include <mdstream/stream/subset.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace mdstream::inline v0::detail {

/// Where each part of a split ends, among `samples` in random order. In doubles that no compiler
/// fuses, so that every machine cuts at the same places.
[[nodiscard]] MDSTREAM_INLINE std::vector<std::uint64_t> ends_of_parts(
    const std::vector<double>& fractions, std::uint64_t samples) {
  constexpr double rounding = 1e-9;  // in the sum of fractions such as 0.7, 0.2 and 0.1
  std::vector<std::uint64_t> out;
  double sum = 0;
  for (const double& each : fractions) {
    if (!is_finite(each) || each < 0)
      throw error(errc::invalid_argument,
                  "a split cannot have a part of " + std::to_string(each) + " of the samples");
    sum = exact_add(sum, each);
    if (sum > 1 + rounding)
      throw error(errc::invalid_argument, "the parts of a split are " + std::to_string(sum) +
                                              " of the samples together, which is more than all");
    const double end = exact_add(exact_mul(static_cast<double>(samples), sum), 0.5);
    out.push_back(sum > 1 - rounding ? samples
                                     : std::min(samples, static_cast<std::uint64_t>(end)));
  }
  return out;
}

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0 {

MDSTREAM_INLINE sample_subset::sample_subset(std::vector<std::uint64_t> ids, std::uint64_t whole)
    : whole_(whole) {
  if (!std::ranges::is_sorted(ids)) std::ranges::sort(ids);
  if (!ids.empty() && ids.back() >= whole)
    throw error(errc::out_of_range, "sample " + std::to_string(ids.back()) + " of a dataset of " +
                                        std::to_string(whole) + " samples");
  if (const auto twice = std::ranges::adjacent_find(ids); twice != ids.end())
    throw error(errc::invalid_argument,
                "sample " + std::to_string(*twice) + " comes twice in a subset");
  ids_ = std::make_shared<const std::vector<std::uint64_t>>(std::move(ids));
}

MDSTREAM_INLINE sample_subset sample_subset::all(std::uint64_t whole) {
  std::vector<std::uint64_t> ids(whole);
  std::iota(ids.begin(), ids.end(), std::uint64_t{0});
  return {std::move(ids), whole};
}

MDSTREAM_INLINE std::vector<sample_subset> sample_subset::split(
    const std::vector<double>& fractions, std::uint64_t seed) const {
  const std::vector<std::uint64_t> ends = detail::ends_of_parts(fractions, size());
  std::vector<std::uint64_t> order(ids().begin(), ids().end());
  numpy::generator(seed).shuffle(order);  // as its permutation is drawn
  std::vector<sample_subset> out;
  auto begin = order.begin();
  for (const std::uint64_t each : ends) {
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(each);
    out.emplace_back(std::vector<std::uint64_t>(begin, end), whole_);
    begin = end;
  }
  return out;
}

}  // namespace mdstream::inline v0
