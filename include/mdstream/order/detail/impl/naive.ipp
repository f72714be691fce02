#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/order/detail/numpy_random.hpp>
#include <mdstream/order/detail/shuffle/spans.hpp>
#include <mdstream/order/shuffle/naive.hpp>
#include <mdstream/version.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0::shuffle::detail {

/// A permutation in which any place may have come from anywhere has no shorter form than its table:
/// 4 bytes a sample, which copies share.
class naive_sequence {
 public:
  explicit naive_sequence(const shuffle_task& task) : units_(task.units) {
    if (units_.size() > max_samples)
      throw error(errc::unsupported,
                  "the naive shuffle keeps a table, of no more than 2^32 samples: " +
                      std::to_string(units_.size()) + " are asked for");
    table_ = std::make_shared<const table>(
        detail::epoch_generator(task).permutation<std::uint32_t>(units_.size()));
  }

  [[nodiscard]] std::uint64_t size() const noexcept { return table_->size(); }
  void read(std::uint64_t first, std::span<std::int64_t> out) const {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::uint64_t place = (*table_)[first + i];
      const std::size_t unit = units_.unit_of(place);
      units_.fill(unit, place - units_.begin(unit), out.subspan(i, 1));
    }
  }

 private:
  using table = std::vector<std::uint32_t>;
  static constexpr std::uint64_t max_samples = std::uint64_t{1} << 32;

  shuffle_units units_;
  std::shared_ptr<const table> table_;
};

}  // namespace mdstream::inline v0::shuffle::detail

namespace mdstream::inline v0::shuffle {

MDSTREAM_INLINE mdstream::detail::any_sequence naive::open(const shuffle_task& task) const {
  return detail::naive_sequence(task);
}

}  // namespace mdstream::inline v0::shuffle
