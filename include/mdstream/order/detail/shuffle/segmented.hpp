#pragma once

/// Shuffled epochs that are a row of segments, each of which can be made by itself: py1s, py2s,
/// py1br.

#include <mdstream/core/error.hpp>
#include <mdstream/order/detail/fast_draws.hpp>
#include <mdstream/order/detail/numpy_random.hpp>
#include <mdstream/order/detail/shuffle/spans.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace mdstream::inline v0::shuffle::detail {

/// Scratch memory for shuffles of stretches that lie in memory.
class index_shuffler {
 public:
  /// What a generator at `at` makes of 0 … size - 1. Valid until the next call.
  [[nodiscard]] std::span<const std::uint32_t> indices(const numpy::snapshot& at,
                                                       numpy::uint128 increment,
                                                       std::uint64_t size) {
    order_.resize(size);
    scratch_.resize(size);
    mdstream::detail::shuffled_indices(at, increment, order_, scratch_);
    return order_;
  }

  /// Shuffles `ids` as a generator at `at` does.
  void shuffle(const numpy::snapshot& at, numpy::uint128 increment, std::span<std::int64_t> ids) {
    copy_.assign(ids.begin(), ids.end());
    const std::span<const std::uint32_t> order = indices(at, increment, ids.size());
    for (std::size_t k = 0; k < ids.size(); ++k) ids[k] = copy_[order[k]];
  }

 private:
  std::vector<std::uint32_t> order_{}, scratch_{};
  std::vector<std::int64_t> copy_{};
};

/// Throws `errc::unsupported` where a stretch is too long to be shuffled by 32-bit indices.
inline void check_stretch(std::uint64_t samples) {
  if (samples > std::uint64_t{1} << 32)
    throw error(errc::unsupported, "a stretch of " + std::to_string(samples) +
                                       " samples is shuffled as a whole: no more than 2^32 can be");
}

/// Consumes the draws of shuffling a stretch.
inline void skip_shuffle(numpy::generator& random, std::uint64_t samples) {
  check_stretch(samples);
  random.restore(
      mdstream::detail::after_shuffle(random.save(), random.bits().increment(), samples));
}

/// A model of `id_sequence` over a plan, which has: `nodes()`, `begin(node)` (a place; `nodes()` is
/// allowed), `segments(node)` (from, to), `segment_begin(segment)` (a place; the number of all is
/// allowed) and `make(segment, scratch, out)`. Keeps one segment for each node that is read.
template <class Plan>
class segmented {
 public:
  explicit segmented(std::shared_ptr<const Plan> plan)
      : plan_(std::move(plan)), open_(plan_->nodes()) {}

  [[nodiscard]] std::uint64_t size() const { return plan_->begin(plan_->nodes()); }

  void read(std::uint64_t first, std::span<std::int64_t> out) {
    while (!out.empty()) {
      const std::size_t node = last_not_after(0, plan_->nodes(), first,
                                              [this](std::size_t i) { return plan_->begin(i); });
      const segment& s = opened(node, first);
      const auto at = static_cast<std::size_t>(first - s.begin);
      const std::size_t n = std::min(out.size(), s.ids.size() - at);
      std::copy_n(s.ids.begin() + static_cast<std::ptrdiff_t>(at), n, out.begin());
      out = out.subspan(n);
      first += n;
    }
  }

 private:
  struct segment {
    std::uint64_t begin = 0;
    std::vector<std::int64_t> ids{};
  };

  /// The last i of [low, high) with begin_of(i) <= place.
  template <class Begin>
  [[nodiscard]] static std::size_t last_not_after(std::size_t low, std::size_t high,
                                                  std::uint64_t place, Begin begin_of) {
    while (high - low > 1) {
      const std::size_t mid = low + (high - low) / 2;
      (begin_of(mid) <= place ? low : high) = mid;
    }
    return low;
  }

  const segment& opened(std::size_t node, std::uint64_t place) {
    segment& s = open_[node];
    if (place < s.begin || place - s.begin >= s.ids.size()) {
      const auto [from, to] = plan_->segments(node);
      const std::size_t i = last_not_after(
          from, to, place, [this](std::size_t k) { return plan_->segment_begin(k); });
      s.begin = plan_->segment_begin(i);
      s.ids.resize(plan_->segment_begin(i + 1) - s.begin);
      plan_->make(i, scratch_, s.ids);
    }
    return s;
  }

  std::shared_ptr<const Plan> plan_;
  std::vector<segment> open_;
  index_shuffler scratch_{};
};

/// First entries and places of nodes: what all plans have in common.
class node_table {
 public:
  node_table() = default;
  explicit node_table(const node_spans& nodes) : first_(nodes.first), begin_(nodes.begin) {}

  [[nodiscard]] std::size_t nodes() const noexcept { return first_.size() - 1; }
  [[nodiscard]] std::uint64_t begin(std::size_t node) const { return begin_[node]; }
  [[nodiscard]] std::pair<std::size_t, std::size_t> segments(std::size_t node) const {
    return {first_[node], first_[node + 1]};
  }

 private:
  std::vector<std::size_t> first_{};
  std::vector<std::uint64_t> begin_{};
};

}  // namespace mdstream::inline v0::shuffle::detail
