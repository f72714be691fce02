#pragma once

/// How many samples of each shard an epoch takes, when it takes `choose` of a whole stream.

#include <mdstream/order/detail/check.hpp>
#include <mdstream/order/detail/numpy_random.hpp>
#include <mdstream/order/detail/weights.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mdstream::inline v0::detail {

/// Shards cut into picks of `granularity` samples; the last pick of a shard has what is left.
class pick_list {
 public:
  pick_list(std::span<const std::uint64_t> sizes, std::uint64_t granularity)
      : granularity_(granularity) {
    std::uint64_t picks = 0;
    for (const std::uint64_t size : sizes)
      picks = checked_add(picks, ceil_div(size, granularity), "number of picks");
    if (picks > max_picks)
      throw error(errc::unsupported,
                  "a part of a stream is drawn from a table of its " + std::to_string(picks) +
                      " picks, of which " + std::to_string(max_picks) +
                      " are possible: a larger sampling granularity makes fewer");
    owner_.reserve(picks);
    for (std::size_t k = 0; k < sizes.size(); ++k)
      owner_.insert(owner_.end(), ceil_div(sizes[k], granularity), static_cast<std::uint32_t>(k));
    last_size_.assign(sizes.size(), granularity);
    for (std::size_t k = 0; k < sizes.size(); ++k) set_last_pick(sizes, k);
  }

  [[nodiscard]] std::size_t size() const noexcept { return owner_.size(); }
  [[nodiscard]] std::uint32_t owner(std::size_t pick) const { return owner_[pick]; }
  [[nodiscard]] std::uint64_t samples(std::size_t pick) const {
    const bool last = pick + 1 == owner_.size() || owner_[pick + 1] != owner_[pick];
    return last ? last_size_[owner_[pick]] : granularity_;
  }

 private:
  static constexpr std::uint64_t max_picks = 0xffff'ffff;

  /// Python writes a shard's remainder to the pick that ends at its place; an empty shard thereby
  /// overwrites that of the shard before it.
  void set_last_pick(std::span<const std::uint64_t> sizes, std::size_t k) {
    const std::uint64_t picks = ceil_div(sizes[k], granularity_);
    if (picks != 0) {
      written_ = k;
      last_size_[k] = sizes[k] - (picks - 1) * granularity_;
    } else if (written_ != none) {
      last_size_[written_] = granularity_;
    }
  }

  static constexpr std::size_t none = ~std::size_t{0};
  std::uint64_t granularity_;
  std::vector<std::uint32_t> owner_;
  std::vector<std::uint64_t> last_size_;
  std::size_t written_ = none;
};

/// Samples to take of each shard, `choose` in all. Whole repetitions of the stream take every shard
/// alike; the rest comes from random picks of `granularity` samples. `use_epoch`: other picks in
/// every epoch. O(shards), and for the rest 8 bytes a pick while it runs. Throws
/// `errc::invalid_argument` for a granularity of 0 and an empty stream, `errc::unsupported` for
/// more than 2^32 picks.
[[nodiscard]] inline std::vector<std::uint64_t> sample_shards(std::span<const std::uint64_t> sizes,
                                                              std::uint64_t choose,
                                                              std::uint64_t granularity,
                                                              std::uint64_t seed,
                                                              std::uint64_t epoch, bool use_epoch) {
  if (granularity == 0) detail::refuse("a sampling granularity of 0 samples");
  for (const std::uint64_t number : {choose, granularity, seed, epoch})
    if (number > detail::max_samples)
      detail::refuse("sampling with a number beyond 2^63: " + std::to_string(number));
  const std::uint64_t total = detail::checked_sum(sizes, "number of samples");
  if (total == 0) detail::refuse("a stream without samples");
  if (sizes.size() > 0xffff'ffff) detail::refuse("more than 2^32 shards");
  std::vector<std::uint64_t> taken(sizes.begin(), sizes.end());
  for (std::uint64_t& t : taken) t = detail::checked_mul(t, choose / total, "samples of a shard");
  std::uint64_t left = choose % total;
  if (left == 0) return taken;

  const detail::pick_list picks(sizes, granularity);
  numpy::generator random(use_epoch ? detail::checked_add(seed, epoch, "seed plus epoch") : seed);
  for (const std::uint32_t pick : random.permutation<std::uint32_t>(picks.size())) {
    const std::uint64_t t = std::min(left, picks.samples(pick));
    taken[picks.owner(pick)] += t;
    left -= t;
    if (left == 0) break;
  }
  return taken;
}

}  // namespace mdstream::inline v0::detail
