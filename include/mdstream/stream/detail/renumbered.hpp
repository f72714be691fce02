#pragma once

/// The order of a subset as an order of the whole dataset.

#include <mdstream/order/epoch_order.hpp>
#include <mdstream/stream/subset.hpp>

#include <cstdint>
#include <span>
#include <utility>

namespace mdstream::inline v0::detail {

/// Reads an order of the numbers 0, 1, ... of a subset's samples as the ids of these samples.
/// Padding stays. A model of `id_sequence`.
class renumbered {
 public:
  renumbered(epoch_order numbers, sample_subset of)
      : numbers_(std::move(numbers)), of_(std::move(of)) {}

  [[nodiscard]] std::uint64_t size() const noexcept { return numbers_.positions(); }
  void read(std::uint64_t first, std::span<std::int64_t> out) const {
    numbers_.ids(first, out);
    const std::span<const std::uint64_t> ids = of_.ids();
    for (std::int64_t& each : out)
      if (each >= 0) each = static_cast<std::int64_t>(ids[static_cast<std::size_t>(each)]);
  }

 private:
  epoch_order numbers_;
  sample_subset of_;
};

}  // namespace mdstream::inline v0::detail
