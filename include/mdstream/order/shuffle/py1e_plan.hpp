#pragma once

/// What of an epoch shuffled by py1e is computed once: the spans of every canonical node, and where
/// the generator stands at each of them.

#include <mdstream/order/detail/check.hpp>
#include <mdstream/order/detail/fast_draws.hpp>
#include <mdstream/order/numpy_random.hpp>
#include <mdstream/order/shuffle/spans.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0::shuffle {

/// One pass over the generator, which only counts the draws inside the spans: about 2 ns a sample,
/// and 64 bytes a span. Immutable.
class py1e_plan {
 public:
  /// A span and the generator's states at it.
  struct entry {
    std::uint64_t place = 0;  ///< first place in the shuffled epoch, before samples move
    std::uint64_t first = 0;  ///< see `span`
    std::uint32_t part = span::whole;
    std::uint32_t half = 0;   ///< see `numpy::snapshot`
    std::uint64_t block = 0;  ///< twice the drawn block size, plus one where there is a half
    std::uint64_t shuffle_state[2]{};   ///< before the span's own shuffle; low word first
    std::uint64_t position_state[2]{};  ///< before its positions are drawn
  };

  /// Throws `errc::invalid_argument`: a canonical node without samples, a block size too small.
  explicit py1e_plan(const shuffle_task& task)
      : units_(task.units), random_(epoch_generator(task)), sizes_(block_sizes(task.block_size)) {
    if (units_.size() > max_exact)
      throw error(errc::unsupported,
                  "py1e moves samples by doubles, which number no more than 2^53");
    const node_spans nodes = deal_spans(task, random_);
    first_ = nodes.first;
    entries_.reserve(nodes.spans.size() + 1);
    const detail::jump_table jump(random_.bits().increment());
    for (std::size_t node = 0; node < nodes.nodes(); ++node) {
      if (nodes.begin[node] == nodes.begin[node + 1])
        detail::refuse("canonical node " + std::to_string(node) + " of " +
                       std::to_string(nodes.nodes()) + " has no samples");
      note_shuffles(nodes.of(node), nodes.begin[node]);
      note_positions(node, jump);
    }
    entries_.emplace_back().place = units_.size();
  }

  [[nodiscard]] const unit_list& units() const noexcept { return units_; }
  [[nodiscard]] std::size_t nodes() const noexcept { return first_.size() - 1; }
  /// The largest block size that can be drawn, plus one.
  [[nodiscard]] std::uint64_t largest_block() const noexcept {
    return static_cast<std::uint64_t>(sizes_.high);
  }

  /// The spans of a node; the element behind them tells where the last one ends.
  [[nodiscard]] std::span<const entry> spans(std::size_t node) const {
    return std::span(entries_).subspan(first_[node], first_[node + 1] - first_[node] + 1);
  }
  /// First place of a node in the shuffled epoch; `nodes()` is allowed.
  [[nodiscard]] std::uint64_t begin(std::size_t node) const { return entries_[first_[node]].place; }

  /// Where the generator stands before a span's shuffle.
  [[nodiscard]] static numpy::snapshot shuffle_state(const entry& at) noexcept {
    return {.state = wide(at.shuffle_state), .half = at.half, .has_half = (at.block & 1) != 0};
  }
  [[nodiscard]] numpy::uint128 increment() const noexcept { return random_.bits().increment(); }
  /// The raw generator as it is before a span's positions.
  [[nodiscard]] numpy::pcg64 position_generator(const entry& at) const {
    return {wide(at.position_state), increment()};
  }
  [[nodiscard]] static std::uint64_t block_of(const entry& at) noexcept { return at.block >> 1; }

 private:
  static constexpr std::uint64_t max_exact = std::uint64_t{1} << 53;

  [[nodiscard]] static numpy::uint128 wide(const std::uint64_t (&words)[2]) noexcept {
    return (static_cast<numpy::uint128>(words[1]) << 64) | words[0];
  }
  static void split(numpy::uint128 state, std::uint64_t (&words)[2]) noexcept {
    words[0] = static_cast<std::uint64_t>(state);
    words[1] = static_cast<std::uint64_t>(state >> 64);
  }

  void note_shuffles(std::span<const span> spans, std::uint64_t place) {
    numpy::snapshot at = random_.save();
    for (const span& s : spans) {
      if (s.size > std::uint64_t{1} << 32)
        throw error(errc::unsupported, "py1e over a shard of more than 2^32 samples");
      entry& e = entries_.emplace_back();
      e.place = place;
      e.first = s.first;
      e.part = s.part;
      e.half = at.half;
      e.block = at.has_half ? 1U : 0U;
      split(at.state, e.shuffle_state);
      at = detail::after_shuffle(at, increment(), s.size);
      place += s.size;
    }
    random_.restore(at);
    end_of_node_ = place;
  }

  void note_positions(std::size_t node, const detail::jump_table& jump) {
    for (std::size_t i = first_[node]; i < entries_.size(); ++i) {
      entry& e = entries_[i];
      e.block |= static_cast<std::uint64_t>(random_.integers(sizes_.low, sizes_.high)) << 1;
      const numpy::uint128 state = random_.bits().state();
      split(state, e.position_state);
      const std::uint64_t end = i + 1 < entries_.size() ? entries_[i + 1].place : end_of_node_;
      random_.continue_from({jump(state, end - e.place), increment()});
    }
  }

  unit_list units_;
  numpy::generator random_;
  block_range sizes_;
  std::vector<std::size_t> first_;
  std::vector<entry> entries_;
  std::uint64_t end_of_node_ = 0;
};

}  // namespace mdstream::inline v0::shuffle
