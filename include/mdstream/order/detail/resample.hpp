#pragma once

/// The samples of an epoch in dataset order: every shard as often as it was chosen, and some
/// members of the shards that were chosen in part.

#include <mdstream/order/detail/check.hpp>
#include <mdstream/order/detail/drawn_part.hpp>
#include <mdstream/order/detail/numpy_random.hpp>
#include <mdstream/order/detail/sampling.hpp>
#include <mdstream/order/detail/shard_table.hpp>
#include <mdstream/order/order_options.hpp>
#include <mdstream/order/shuffle_units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// Consumes the draws of `choice(population, count)` without making it.
inline void skip_choice(numpy::generator& random, std::uint64_t population, std::uint64_t count) {
  if (population > 10000 && count > population / 50) {
    for (std::uint64_t i = population - 1; i >= std::max<std::uint64_t>(population - count, 1); --i)
      static_cast<void>(random.bounded(i));
    return;
  }
  for (std::uint64_t j = population - count; j < population; ++j)
    static_cast<void>(random.bounded(j));
  for (std::uint64_t i = count; i-- > 1;) static_cast<void>(random.bounded(i));
}

/// Makes the units of an epoch, stream after stream with one generator.
class resampler {
 public:
  resampler(std::shared_ptr<const shard_table> table, std::uint64_t seed, std::uint64_t epoch,
            const order_options& options)
      : table_(std::move(table)),
        seed_(seed),
        epoch_(epoch),
        options_(options),
        draw_seed_(options.sampling == sampling_method::balanced
                       ? detail::checked_add(seed, epoch, "seed plus epoch")
                       : seed) {}

  /// The streams first_stream … last_stream - 1 with choose[k] samples of stream k.
  /// Throws `errc::invalid_argument` where that is nothing at all.
  [[nodiscard]] shuffle_units units(std::size_t first_stream, std::size_t last_stream,
                                    std::span<const std::uint64_t> choose) const {
    shuffle_units out = reads_all_once(first_stream, last_stream, choose)
                            ? shuffle_units(table_, table_->first_shard(first_stream),
                                            table_->first_shard(last_stream))
                            : drawn(first_stream, last_stream, choose);
    if (out.size_ == 0)
      detail::refuse("an epoch of no samples from streams " + std::to_string(first_stream) +
                     " to " + std::to_string(last_stream - 1));
    return out;
  }

 private:
  [[nodiscard]] bool reads_all_once(std::size_t first, std::size_t last,
                                    std::span<const std::uint64_t> choose) const {
    for (std::size_t k = first; k < last; ++k)
      if (choose[k] != table_->stream_samples(k)) return false;
    return !table_->has_empty_shard(table_->first_shard(first), table_->first_shard(last));
  }

  [[nodiscard]] shuffle_units drawn(std::size_t first, std::size_t last,
                                    std::span<const std::uint64_t> choose) const {
    auto content = std::make_shared<shuffle_units::content>();
    content->seed = draw_seed_;
    numpy::generator random(draw_seed_);
    const bool new_picks = options_.shuffle && options_.sampling == sampling_method::balanced;
    for (std::size_t k = first; k < last; ++k) {
      const auto taken = sample_shards(table_->sizes(k), choose[k], options_.sampling_granularity,
                                       seed_, epoch_, new_picks);
      for (std::size_t j = 0; j < taken.size(); ++j)
        add_shard(*content, random, table_->first_shard(k) + j, taken[j]);
    }
    shuffle_units out;
    out.table_ = table_;
    out.units_ = content->source.size();
    out.size_ = content->begin.back();
    out.own_ = std::move(content);
    return out;
  }

  void add_shard(shuffle_units::content& to, numpy::generator& random, std::size_t shard,
                 std::uint64_t taken) const {
    const std::uint64_t size = table_->size(shard), base = table_->begin(shard);
    if (size == 0) return;
    for (std::uint64_t i = 0; i < taken / size; ++i) add_unit(to, size, {.base = base});
    const std::uint64_t rest = taken % size;
    if (rest == 0) return;
    add_unit(to, rest, {.base = base, .part = static_cast<std::uint32_t>(to.parts.size())});
    to.parts.push_back({.before = random.save(), .shard_size = size});
    detail::skip_choice(random, size, rest);
  }

  static void add_unit(shuffle_units::content& to, std::uint64_t samples,
                       shuffle_units::unit_source from) {
    if (to.source.size() >= max_units)
      throw error(errc::unsupported, "an epoch that repeats shards more than 2^32 times");
    to.begin.push_back(detail::checked_add(to.begin.back(), samples, "samples of an epoch"));
    to.source.push_back(from);
  }

  static constexpr std::size_t max_units = 0xffff'fff0;
  std::shared_ptr<const shard_table> table_;
  std::uint64_t seed_;
  std::uint64_t epoch_;
  order_options options_;
  std::uint64_t draw_seed_;
};

}  // namespace mdstream::inline v0::detail
