#pragma once

/// The samples of an epoch in dataset order: every shard as often as it was chosen, and some
/// members of the shards that were chosen in part.

#include <mdstream/order/detail/check.hpp>
#include <mdstream/order/detail/keyed_permutation.hpp>
#include <mdstream/order/detail/numpy_random.hpp>
#include <mdstream/order/detail/sampling.hpp>
#include <mdstream/order/order_options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// Shards of all streams, numbered one after another, and their first sample ids. Immutable;
/// O(shards).
class shard_table {
 public:
  /// Throws `errc::invalid_argument` where the samples exceed 2^63.
  explicit shard_table(std::span<const stream_shards> streams) {
    std::size_t shards = 0;
    for (const stream_shards& s : streams) shards += s.samples.size();
    begin_.reserve(shards + 1);
    first_.reserve(streams.size() + 1);
    begin_.push_back(0);
    first_.push_back(0);
    for (const stream_shards& s : streams) {
      for (const std::uint64_t samples : s.samples)
        begin_.push_back(detail::checked_add(begin_.back(), samples, "number of samples"));
      first_.push_back(begin_.size() - 1);
    }
    group_sums_ = sum_groups(0, this->shards());
    has_empty_shard_ = find_empty_shard(0, this->shards());
  }

  /// For shuffles that treat many units (shards, or parts of them) at a time: they fall into groups
  /// of at most this many. A group takes one of every `groups` units that follow one another, at a
  /// place that seems random, so that it is spread over the whole dataset without any pattern.
  static constexpr std::size_t largest_group = 2048;
  [[nodiscard]] static constexpr std::size_t groups(std::size_t shards) noexcept {
    return (shards + largest_group - 1) / largest_group;
  }
  /// The `member`-th unit of a group, of `units` in all.
  [[nodiscard]] static std::size_t group_member(std::size_t units, std::size_t group,
                                                std::size_t member) noexcept {
    const std::size_t count = groups(units), row = member * count;
    const bool whole_row = row + count <= units;
    return row + (whole_row ? (group + mix_bits(member) % count) % count : group);
  }
  /// Units of a group, of `units` in all.
  [[nodiscard]] static std::size_t group_size(std::size_t units, std::size_t group) noexcept {
    return (units - group + groups(units) - 1) / groups(units);
  }
  /// Samples of each group. O(groups) for all shards, O(shards) for some of them.
  [[nodiscard]] std::vector<std::uint64_t> group_sums(std::size_t first, std::size_t last) const {
    return first == 0 && last == shards() ? group_sums_ : sum_groups(first, last);
  }

  [[nodiscard]] std::size_t streams() const noexcept { return first_.size() - 1; }
  [[nodiscard]] std::size_t shards() const noexcept { return begin_.size() - 1; }
  [[nodiscard]] std::uint64_t samples() const noexcept { return begin_.back(); }
  /// First shard of a stream; `first_shard(streams())` is the number of all.
  [[nodiscard]] std::size_t first_shard(std::size_t stream) const { return first_[stream]; }
  /// First sample id of a shard; `begin(shards())` is the number of all samples.
  [[nodiscard]] std::uint64_t begin(std::size_t shard) const { return begin_[shard]; }
  [[nodiscard]] std::uint64_t size(std::size_t shard) const {
    return begin_[shard + 1] - begin_[shard];
  }
  /// Samples of a stream.
  [[nodiscard]] std::uint64_t stream_samples(std::size_t stream) const {
    return begin_[first_[stream + 1]] - begin_[first_[stream]];
  }
  /// Shard sizes of a stream.
  [[nodiscard]] std::vector<std::uint64_t> sizes(std::size_t stream) const {
    std::vector<std::uint64_t> out;
    out.reserve(first_[stream + 1] - first_[stream]);
    for (std::size_t k = first_[stream]; k < first_[stream + 1]; ++k) out.push_back(size(k));
    return out;
  }
  /// The shard that holds a sample. O(log shards).
  [[nodiscard]] std::size_t shard_of(std::uint64_t sample) const {
    const auto after = std::upper_bound(begin_.begin(), begin_.end(), sample);
    return static_cast<std::size_t>(after - begin_.begin()) - 1;
  }

  template <class Size>
  [[nodiscard]] static std::vector<std::uint64_t> sum_of_groups(std::size_t units, Size size_of) {
    std::vector<std::uint64_t> sums(groups(units));
    for (std::size_t row = 0; row * sums.size() < units; ++row)
      for (std::size_t g = 0; g < sums.size() && row * sums.size() + g < units; ++g)
        sums[g] += size_of(group_member(units, g, row));
    return sums;
  }

  /// Whether one of some shards holds no samples. O(1) for all shards, O(shards) for some of them.
  [[nodiscard]] bool has_empty_shard(std::size_t first, std::size_t last) const {
    return has_empty_shard_ && find_empty_shard(first, last);
  }

  /// The stream that a shard belongs to. O(log streams).
  [[nodiscard]] std::size_t stream_of(std::size_t shard) const {
    const auto after = std::upper_bound(first_.begin(), first_.end(), shard);
    return static_cast<std::size_t>(after - first_.begin()) - 1;
  }

 private:
  [[nodiscard]] std::vector<std::uint64_t> sum_groups(std::size_t first, std::size_t last) const {
    return sum_of_groups(last - first, [&](std::size_t unit) { return size(first + unit); });
  }

  std::vector<std::uint64_t> begin_;
  std::vector<std::size_t> first_;
  [[nodiscard]] bool find_empty_shard(std::size_t first, std::size_t last) const {
    const auto begin = begin_.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = begin_.begin() + static_cast<std::ptrdiff_t>(last) + 1;
    return std::adjacent_find(begin, end) != end;
  }

  std::vector<std::uint64_t> group_sums_;
  bool has_empty_shard_ = false;
};

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

/// The shuffle units of an epoch (whole shards, and parts of shards) and the sample ids behind
/// them. Position i of the unshuffled epoch lies in the unit with begin(u) <= i < end(u).
/// Immutable; copies share. O(units) memory, and none at all where every shard is read once.
class unit_list {
 public:
  unit_list() = default;
  /// Every one of the shards first_shard … last_shard - 1 once.
  unit_list(std::shared_ptr<const shard_table> table, std::size_t first_shard,
            std::size_t last_shard)
      : table_(std::move(table)),
        first_(first_shard),
        units_(last_shard - first_shard),
        size_(table_->begin(last_shard) - table_->begin(first_shard)) {}

  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t units() const noexcept { return units_; }
  [[nodiscard]] std::uint64_t begin(std::size_t unit) const {
    return own_ ? own_->begin[unit] : table_->begin(first_ + unit) - table_->begin(first_);
  }
  [[nodiscard]] std::uint64_t end(std::size_t unit) const { return begin(unit + 1); }

  /// First sample id of a unit that is a whole shard, whose ids follow one another; -1 for a part.
  [[nodiscard]] std::int64_t whole_shard(std::size_t unit) const {
    if (!own_) return static_cast<std::int64_t>(table_->begin(first_ + unit));
    const unit_source& from = own_->source[unit];
    return from.part == whole ? static_cast<std::int64_t>(from.base) : -1;
  }

  /// Sample ids of the unit's places from `offset` on. O(out), for parts of shards O(unit).
  void fill(std::size_t unit, std::uint64_t offset, std::span<std::int64_t> out) const {
    const std::int64_t base = whole_shard(unit);
    if (base < 0) return fill_part(unit, offset, out);
    std::iota(out.begin(), out.end(), base + static_cast<std::int64_t>(offset));
  }

  /// Samples of each group of units, grouped as `shard_table` groups shards.
  [[nodiscard]] std::vector<std::uint64_t> group_sums() const {
    if (!own_) return table_->group_sums(first_, first_ + units_);
    return shard_table::sum_of_groups(units_, [this](std::size_t u) { return end(u) - begin(u); });
  }

  /// The unit that holds a position. O(log units).
  [[nodiscard]] std::size_t unit_of(std::uint64_t position) const {
    std::size_t low = 0, high = units_;
    while (high - low > 1) {
      const std::size_t mid = low + (high - low) / 2;
      (begin(mid) <= position ? low : high) = mid;
    }
    return low;
  }

 private:
  friend class resampler;
  static constexpr std::uint32_t whole = ~std::uint32_t{0};

  struct unit_source {
    std::uint64_t base;          ///< first sample id of the shard
    std::uint32_t part = whole;  ///< where in `parts`, for a part of a shard
  };
  struct drawn_part {
    numpy::snapshot before;  ///< the generator as it was when the part was drawn
    std::uint64_t shard_size;
  };
  struct content {
    std::uint64_t seed = 0;
    std::vector<std::uint64_t> begin{0};
    std::vector<unit_source> source{};
    std::vector<drawn_part> parts{};
  };

  void fill_part(std::size_t unit, std::uint64_t offset, std::span<std::int64_t> out) const {
    const drawn_part& p = own_->parts[own_->source[unit].part];
    numpy::generator random(own_->seed);
    random.restore(p.before);
    std::vector<std::uint64_t> chosen = random.choice(p.shard_size, end(unit) - begin(unit));
    std::sort(chosen.begin(), chosen.end());
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<std::int64_t>(own_->source[unit].base + chosen[offset + i]);
  }

  std::shared_ptr<const shard_table> table_;
  std::shared_ptr<const content> own_;
  std::size_t first_ = 0;
  std::size_t units_ = 0;
  std::uint64_t size_ = 0;
};

/// Makes the unit list of an epoch, stream after stream with one generator.
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
  [[nodiscard]] unit_list units(std::size_t first_stream, std::size_t last_stream,
                                std::span<const std::uint64_t> choose) const {
    unit_list out =
        reads_all_once(first_stream, last_stream, choose)
            ? unit_list(table_, table_->first_shard(first_stream), table_->first_shard(last_stream))
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

  [[nodiscard]] unit_list drawn(std::size_t first, std::size_t last,
                                std::span<const std::uint64_t> choose) const {
    auto content = std::make_shared<unit_list::content>();
    content->seed = draw_seed_;
    numpy::generator random(draw_seed_);
    const bool new_picks = options_.shuffle && options_.sampling == sampling_method::balanced;
    for (std::size_t k = first; k < last; ++k) {
      const auto taken = sample_shards(table_->sizes(k), choose[k], options_.sampling_granularity,
                                       seed_, epoch_, new_picks);
      for (std::size_t j = 0; j < taken.size(); ++j)
        add_shard(*content, random, table_->first_shard(k) + j, taken[j]);
    }
    unit_list out;
    out.table_ = table_;
    out.units_ = content->source.size();
    out.size_ = content->begin.back();
    out.own_ = std::move(content);
    return out;
  }

  void add_shard(unit_list::content& to, numpy::generator& random, std::size_t shard,
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

  static void add_unit(unit_list::content& to, std::uint64_t samples, unit_list::unit_source from) {
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

/// The unshuffled epoch: a model of `id_sequence`.
class unshuffled {
 public:
  explicit unshuffled(unit_list units) : units_(std::move(units)) {}
  [[nodiscard]] std::uint64_t size() const noexcept { return units_.size(); }
  void read(std::uint64_t first, std::span<std::int64_t> out) const {
    for (std::size_t unit = units_.unit_of(first); !out.empty(); ++unit) {
      const std::uint64_t offset = first - units_.begin(unit);
      const auto count = std::min<std::uint64_t>(out.size(), units_.end(unit) - first);
      units_.fill(unit, offset, out.first(count));
      out = out.subspan(count);
      first += count;
    }
  }

 private:
  unit_list units_;
};

}  // namespace mdstream::inline v0::detail
