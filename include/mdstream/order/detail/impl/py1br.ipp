#pragma once

#include <mdstream/order/detail/shuffle/segmented.hpp>
#include <mdstream/order/shuffle/py1br.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace mdstream::inline v0::shuffle::detail {

/// The spans, the blocks and the generator's state at each block. The first blocks of a node
/// overlap, and its last samples may lie in none: segments are chains of overlapping blocks and
/// what lies between them. Memory: 40 bytes a span and 64 a block.
class py1br_plan {
 public:
  explicit py1br_plan(const shuffle_task& task)
      : units_(task.units), sizes_(detail::block_sizes(task.block_size)) {
    numpy::generator random = detail::epoch_generator(task);
    increment_ = random.bits().increment();
    spans_ = detail::deal_spans(task, random);
    for (std::uint64_t place = 0; const detail::span& s : spans_.spans) {
      places_.push_back(place);
      place += s.size;
    }
    std::vector<std::int64_t> stagger(nodes());
    for (std::int64_t& s : stagger) s = random.integers(0, sizes_.low);
    for (std::size_t node = 0; node < nodes(); ++node) {
      first_.push_back(segments_.size());
      const std::size_t first_block = blocks_.size();
      draw_blocks(random, begin(node), begin(node + 1), static_cast<std::uint64_t>(stagger[node]));
      note_states(random, first_block);
      chain_blocks(begin(node), begin(node + 1), first_block);
    }
    first_.push_back(segments_.size());
    segments_.push_back({.begin = begin(nodes()), .first_block = blocks_.size()});
  }

  [[nodiscard]] std::size_t nodes() const noexcept { return spans_.nodes(); }
  [[nodiscard]] std::uint64_t begin(std::size_t node) const { return spans_.begin[node]; }
  [[nodiscard]] std::pair<std::size_t, std::size_t> segments(std::size_t node) const {
    return {first_[node], first_[node + 1]};
  }
  [[nodiscard]] std::uint64_t segment_begin(std::size_t i) const { return segments_[i].begin; }

  void make(std::size_t i, detail::index_shuffler& scratch, std::span<std::int64_t> out) const {
    const segment& s = segments_[i];
    fill_places(s.begin, out);
    for (std::size_t b = s.first_block; b < segments_[i + 1].first_block; ++b)
      scratch.shuffle(blocks_[b].state, increment_,
                      out.subspan(blocks_[b].begin - s.begin, blocks_[b].end - blocks_[b].begin));
  }

 private:
  struct block {
    std::uint64_t begin = 0, end = 0;  ///< places
    numpy::snapshot state{};
  };
  struct segment {
    std::uint64_t begin = 0;
    std::size_t first_block = 0;
  };

  /// The sizes of all blocks of a node are drawn before any of them is shuffled.
  void draw_blocks(numpy::generator& random, std::uint64_t begin, std::uint64_t end,
                   std::uint64_t stagger) {
    const std::uint64_t n = end - begin;
    for (std::uint64_t at = 0; at < n;) {
      const auto size = static_cast<std::uint64_t>(random.integers(sizes_.low, sizes_.high));
      const std::uint64_t b = at - std::min(at, stagger);
      const std::uint64_t e = std::min(at + size - stagger, n);
      blocks_.push_back({.begin = begin + b, .end = begin + e});
      at += e - b;
    }
  }

  void note_states(numpy::generator& random, std::size_t first_block) {
    for (std::size_t b = first_block; b < blocks_.size(); ++b) {
      blocks_[b].state = random.save();
      detail::skip_shuffle(random, blocks_[b].end - blocks_[b].begin);
    }
  }

  void chain_blocks(std::uint64_t begin, std::uint64_t end, std::size_t first_block) {
    std::uint64_t covered = begin;
    for (std::size_t b = first_block; b < blocks_.size(); ++b) {
      const bool new_chain = b == first_block || blocks_[b].begin >= covered;
      if (new_chain && blocks_[b].begin > covered)
        segments_.push_back({.begin = covered, .first_block = b});
      if (new_chain) segments_.push_back({.begin = blocks_[b].begin, .first_block = b});
      covered = std::max(covered, blocks_[b].end);
    }
    if (covered < end) segments_.push_back({.begin = covered, .first_block = blocks_.size()});
  }

  /// Sample ids of places before any block is shuffled.
  void fill_places(std::uint64_t place, std::span<std::int64_t> out) const {
    const auto after = std::upper_bound(places_.begin(), places_.end(), place);
    for (auto i = static_cast<std::size_t>(after - places_.begin()) - 1; !out.empty(); ++i) {
      const detail::span& s = spans_.spans[i];
      const std::uint64_t offset = place - places_[i];
      const auto n = std::min<std::uint64_t>(out.size(), s.size - offset);
      detail::fill_ids(units_, s, offset, out.first(n));
      out = out.subspan(n);
      place += n;
    }
  }

  shuffle_units units_;
  detail::block_range sizes_;
  numpy::uint128 increment_{};
  detail::node_spans spans_{};
  std::vector<std::uint64_t> places_{};
  std::vector<block> blocks_{};
  std::vector<segment> segments_{};
  std::vector<std::size_t> first_{};
};

}  // namespace mdstream::inline v0::shuffle::detail

namespace mdstream::inline v0::shuffle {

MDSTREAM_INLINE mdstream::detail::any_sequence py1br::open(const shuffle_task& task) const {
  return detail::segmented(std::make_shared<const detail::py1br_plan>(task));
}

}  // namespace mdstream::inline v0::shuffle
