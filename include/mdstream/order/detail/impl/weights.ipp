#pragma once

#include <mdstream/order/detail/check.hpp>
#include <mdstream/order/detail/exact_double.hpp>
#include <mdstream/order/detail/numpy_math.hpp>
#include <mdstream/order/detail/numpy_random.hpp>
#include <mdstream/order/detail/weights.hpp>
#include <mdstream/version.hpp>

#include <cstddef>
#include <string>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void check_weight(const stream_weight& w, std::size_t stream) {
  const std::string name = "stream " + std::to_string(stream);
  if (w.proportion.has_value() + w.repeat.has_value() + w.choose.has_value() > 1)
    refuse(name + ": at most one of proportion, repeat and choose may be given");
  for (const std::optional<double>& value : {w.proportion, w.repeat})
    if (value && (!is_finite(*value) || *value < 0))
      refuse(name + ": a weight of " + std::to_string(*value) + " is not a number from 0 up");
}

MDSTREAM_INLINE std::uint64_t truncate(double x, const char* what) {
  if (!is_finite(x) || x < 0 || x >= 9223372036854775808.0)
    refuse(std::string(what) + " of " + std::to_string(x) + " samples is out of range");
  return static_cast<std::uint64_t>(x);
}

MDSTREAM_INLINE std::uint64_t checked_sum(std::span<const std::uint64_t> sizes, const char* what) {
  std::uint64_t total = 0;
  for (const std::uint64_t size : sizes) total = checked_add(total, size, what);
  return total;
}

MDSTREAM_INLINE void mix_by_proportion(stream_mix& mix, std::uint64_t total, std::uint64_t seed) {
  const double sum = numpy::sum(mix.proportion);
  for (double& p : mix.proportion) {
    p = exact_div(p, sum);
    mix.choose.push_back(
        truncate(exact_mul(static_cast<double>(total), p), "a stream's share of the epoch"));
  }
  const std::uint64_t chosen = checked_sum(mix.choose, "epoch size");
  if (chosen > total || total - chosen > mix.choose.size())
    refuse("proportions give " + std::to_string(chosen) + " of " + std::to_string(total) +
           " samples of an epoch: too far off to round");
  for (const std::uint64_t k : numpy::generator(seed).choice(mix.choose.size(), total - chosen))
    ++mix.choose[k];
  mix.epoch_size = total;
}

MDSTREAM_INLINE void mix_by_count(stream_mix& mix, std::span<const stream_weight> weights,
                                  std::span<const std::uint64_t> sizes) {
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const stream_weight& w = weights[k];
    mix.choose.push_back(w.repeat ? truncate(exact_mul(*w.repeat, static_cast<double>(sizes[k])),
                                             "a repeated stream")
                                  : w.choose.value_or(sizes[k]));
  }
  mix.epoch_size = checked_sum(mix.choose, "epoch size");
  for (const std::uint64_t c : mix.choose)
    mix.proportion.push_back(mix.epoch_size == 0 ? not_a_number()
                                                 : exact_div(static_cast<double>(c),
                                                             static_cast<double>(mix.epoch_size)));
}

MDSTREAM_INLINE stream_mix mix_streams(std::span<const stream_weight> weights,
                                       std::span<const std::uint64_t> sizes,
                                       std::optional<std::uint64_t> epoch_size,
                                       std::uint64_t seed) {
  if (sizes.empty()) detail::refuse("an order needs at least one stream");
  const std::uint64_t asked = epoch_size.value_or(0);
  if (asked > detail::max_samples)
    detail::refuse("epoch size " + std::to_string(asked) + " exceeds 2^63");
  bool any_weight = false;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    detail::check_weight(weights[k], k);
    const bool relative = weights[k].proportion.has_value();
    if (relative != weights[0].proportion.has_value())
      detail::refuse("streams 0 and " + std::to_string(k) +
                     ": either all streams have a proportion, or none");
    any_weight = any_weight || relative || weights[k].repeat || weights[k].choose;
    if (sizes[k] == 0) detail::refuse("stream " + std::to_string(k) + " has no samples");
  }
  const std::uint64_t samples = detail::checked_sum(sizes, "number of samples");

  stream_mix mix;
  if (weights[0].proportion || (!any_weight && asked != 0)) {
    for (std::size_t k = 0; k < sizes.size(); ++k)
      mix.proportion.push_back(weights[k].proportion.value_or(static_cast<double>(sizes[k])));
    detail::mix_by_proportion(mix, asked != 0 ? asked : samples, seed);
  } else {
    if (asked != 0)
      detail::refuse("an epoch size of " + std::to_string(asked) +
                     " goes with proportions, not with repeat or choose");
    detail::mix_by_count(mix, weights, sizes);
  }
  for (std::size_t k = 0; k < sizes.size(); ++k)
    mix.repeat.push_back(
        detail::exact_div(static_cast<double>(mix.choose[k]), static_cast<double>(sizes[k])));
  return mix;
}

MDSTREAM_INLINE void refuse_unless_once(const stream_mix& mix,
                                        std::span<const std::uint64_t> sizes) {
  for (std::size_t k = 0; k < sizes.size(); ++k)
    if (mix.choose[k] != sizes[k])
      refuse("batching \"once\" reads each of the " + std::to_string(sizes[k]) +
             " samples of stream " + std::to_string(k) + " once, not " +
             std::to_string(mix.choose[k]) +
             " samples: set no proportion, repeat, choose or epoch_size");
}

}  // namespace mdstream::inline v0::detail
