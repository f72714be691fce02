#pragma once

/// Spans of shuffle units dealt to canonical nodes: the common beginning of py1s, py1br and py1e.

#include <mdstream/order/detail/check.hpp>
#include <mdstream/order/detail/numpy_random.hpp>
#include <mdstream/order/shuffle_task.hpp>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace mdstream::inline v0::shuffle::detail {

/// A stretch of one unit. Of a whole shard it holds the sample ids from `first` on; of a part of a
/// shard the unit's places from `first` on, and then `part` is the unit's number.
struct span {
  static constexpr std::uint32_t whole = ~std::uint32_t{0};
  std::uint64_t first;
  std::uint64_t size;
  std::uint32_t part = whole;
};

/// Sample ids of a span, from its place `offset` on.
inline void fill_ids(const shuffle_units& units, const span& s, std::uint64_t offset,
                     std::span<std::int64_t> out) {
  if (s.part == span::whole)
    std::iota(out.begin(), out.end(), static_cast<std::int64_t>(s.first + offset));
  else
    units.fill(s.part, s.first + offset, out);
}

/// The spans of all canonical nodes, one node after another.
struct node_spans {
  std::vector<span> spans;
  std::vector<std::size_t> first;    ///< first span of each node, and the number of all
  std::vector<std::uint64_t> begin;  ///< first shuffled place of each node, and the end

  [[nodiscard]] std::size_t nodes() const noexcept { return first.size() - 1; }
  [[nodiscard]] std::span<const span> of(std::size_t node) const {
    return std::span(spans).subspan(first[node], first[node + 1] - first[node]);
  }
  [[nodiscard]] std::span<span> of(std::size_t node) {
    return std::span(spans).subspan(first[node], first[node + 1] - first[node]);
  }
};

/// Deals `order` (spans in some order, of `total` places) to `nodes` nodes of equal size, cutting
/// spans at the borders. O(spans + nodes).
[[nodiscard]] inline node_spans cut_at_nodes(std::vector<span> order, std::uint64_t total,
                                             std::uint64_t nodes) {
  node_spans out;
  out.spans.reserve(order.size() + nodes);
  std::size_t k = 0;
  std::uint64_t done = 0;
  for (std::uint64_t node = 0; node < nodes; ++node) {
    out.first.push_back(out.spans.size());
    out.begin.push_back(done);
    const std::uint64_t limit = mdstream::detail::mul_div(node + 1, total, nodes);
    for (; k < order.size() && done + order[k].size <= limit; ++k) {
      out.spans.push_back(order[k]);
      done += order[k].size;
    }
    if (k < order.size() && done < limit) {
      const std::uint64_t room = limit - done;
      out.spans.push_back({.first = order[k].first, .size = room, .part = order[k].part});
      order[k].first += room;
      order[k].size -= room;
      done = limit;
    }
  }
  out.first.push_back(out.spans.size());
  out.begin.push_back(done);
  return out;
}

/// One span for each unit, in order.
[[nodiscard]] inline std::vector<span> whole_units(const shuffle_units& units) {
  std::vector<span> out;
  out.reserve(units.units());
  for (std::size_t u = 0; u < units.units(); ++u) {
    const std::uint64_t size = units.end(u) - units.begin(u);
    if (const std::int64_t id = units.whole_shard(u); id >= 0)
      out.push_back({.first = static_cast<std::uint64_t>(id), .size = size});
    else
      out.push_back({.first = 0, .size = size, .part = static_cast<std::uint32_t>(u)});
  }
  return out;
}

[[nodiscard]] inline std::uint64_t checked_nodes(std::uint64_t nodes) {
  if (nodes == 0 || nodes > 0xffff'ffff)
    mdstream::detail::refuse(std::to_string(nodes) + " canonical nodes");
  return nodes;
}

/// Deals the units in the order that the run's seed fixes for all epochs, and shuffles the spans
/// inside each node with the epoch's generator, which goes on from there.
[[nodiscard]] inline node_spans deal_spans(const shuffle_task& task, numpy::generator& epoch) {
  const std::uint64_t nodes = checked_nodes(task.num_canonical_nodes);
  std::vector<span> order = whole_units(task.units);
  numpy::generator(task.seed).shuffle(order);
  node_spans out = cut_at_nodes(std::move(order), task.units.size(), nodes);
  for (std::size_t node = 0; node < out.nodes(); ++node) epoch.shuffle(out.of(node));
  return out;
}

[[nodiscard]] inline numpy::generator epoch_generator(const shuffle_task& task) {
  return numpy::generator(mdstream::detail::checked_add(task.seed, task.epoch, "seed plus epoch"));
}

/// The range that block sizes are drawn from: three to five quarters of the block size.
struct block_range {
  std::int64_t low;
  std::int64_t high;
};

/// Throws `errc::invalid_argument` where the range is empty, or beyond what a double holds exactly.
[[nodiscard]] inline block_range block_sizes(std::uint64_t block_size) {
  if (block_size > std::uint64_t{1} << 52)
    mdstream::detail::refuse("a shuffle block size of " + std::to_string(block_size));
  const auto size = static_cast<double>(block_size);
  const block_range range{static_cast<std::int64_t>(0.75 * size),
                          static_cast<std::int64_t>(1.25 * size)};
  if (range.low >= range.high)
    mdstream::detail::refuse("a shuffle block size of " + std::to_string(block_size) +
                             " is too small");
  return range;
}

}  // namespace mdstream::inline v0::shuffle::detail
