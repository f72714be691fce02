#pragma once

/// From the weights of streams to the number of samples of each in an epoch.

#include <mdstream/order/order_options.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mdstream::inline v0::detail {

/// What an epoch takes of each stream. `proportion` and `repeat` are as Python derives them.
struct stream_mix {
  std::uint64_t epoch_size = 0;         ///< samples in an epoch
  std::vector<std::uint64_t> choose{};  ///< samples of each stream
  std::vector<double> proportion{};     ///< share of the epoch; NaN where the epoch is empty
  std::vector<double> repeat{};         ///< `choose` over the stream's size
};

/// `int(x)`, refused outside the range of sample numbers.
[[nodiscard]] std::uint64_t truncate(double x, const char* what);

[[nodiscard]] std::uint64_t checked_sum(std::span<const std::uint64_t> sizes, const char* what);

/// Settles how many samples of each stream an epoch holds. `sizes` are the streams' samples,
/// `epoch_size` 0 or nothing where none was asked for; `seed` deals what rounding left.
/// Throws `errc::invalid_argument`: negative or non-finite weights, two weights for one stream,
/// proportions for some streams only, an epoch size together with repeat or choose, an empty
/// stream.
[[nodiscard]] stream_mix mix_streams(std::span<const stream_weight> weights,
                                     std::span<const std::uint64_t> sizes,
                                     std::optional<std::uint64_t> epoch_size, std::uint64_t seed);

/// Throws `errc::invalid_argument` unless an epoch of the mix has every stream once.
void refuse_unless_once(const stream_mix& mix, std::span<const std::uint64_t> sizes);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/order/detail/impl/weights.ipp>
#endif
