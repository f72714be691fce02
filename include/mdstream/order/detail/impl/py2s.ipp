#pragma once

#include <mdstream/order/detail/shuffle/segmented.hpp>
#include <mdstream/order/shuffle/py2s.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace mdstream::inline v0::shuffle::detail {

/// The pieces of all nodes with both generators' states at each: 104 bytes a piece.
class py2s_plan : public detail::node_table {
 public:
  explicit py2s_plan(const shuffle_task& task) : units_(task.units) {
    detail::node_spans nodes = detail::cut_at_nodes(
        shuffle_for_run(task), task.units.size(), detail::checked_nodes(task.num_canonical_nodes));
    static_cast<detail::node_table&>(*this) = detail::node_table(nodes);
    numpy::generator random = detail::epoch_generator(task);
    epoch_increment_ = random.bits().increment();
    pieces_.reserve(nodes.spans.size() + 1);
    std::uint64_t place = 0;
    for (std::size_t node = 0; node < nodes.nodes(); ++node) {
      random.shuffle(nodes.of(node));
      for (const detail::span& s : nodes.of(node)) {
        pieces_.push_back(
            {.place = place, .offset = s.first, .shard = s.part, .state = random.save()});
        detail::skip_shuffle(random, s.size);
        place += s.size;
      }
    }
    pieces_.push_back({.place = place});
  }

  [[nodiscard]] std::uint64_t segment_begin(std::size_t segment) const {
    return pieces_[segment].place;
  }
  /// The whole shard is shuffled for the run, also where only a piece of it is wanted.
  void make(std::size_t segment, detail::index_shuffler& scratch,
            std::span<std::int64_t> out) const {
    const piece& p = pieces_[segment];
    const shard& from = shards_[p.shard];
    std::vector<std::int64_t> ids(from.stretch.size);
    detail::fill_ids(units_, from.stretch, 0, ids);
    scratch.shuffle(from.state, run_increment_, ids);
    std::copy_n(ids.begin() + static_cast<std::ptrdiff_t>(p.offset), out.size(), out.begin());
    scratch.shuffle(p.state, epoch_increment_, out);
  }

 private:
  struct shard {
    detail::span stretch{};
    numpy::snapshot state{};
  };
  struct piece {
    std::uint64_t place = 0;
    std::uint64_t offset = 0;  ///< within the shard
    std::uint32_t shard = 0;
    numpy::snapshot state{};
  };

  /// Shuffles the shards, and notes them. The spans that are left to cut tell places within a
  /// shard, and its number among those noted.
  [[nodiscard]] std::vector<detail::span> shuffle_for_run(const shuffle_task& task) {
    std::vector<detail::span> order = detail::whole_units(task.units);
    numpy::generator run(task.seed);
    run_increment_ = run.bits().increment();
    run.shuffle(order);
    shards_.reserve(order.size());
    for (detail::span& s : order) {
      shards_.push_back({.stretch = s, .state = run.save()});
      detail::skip_shuffle(run, s.size);
      s = {.first = 0, .size = s.size, .part = static_cast<std::uint32_t>(shards_.size() - 1)};
    }
    return order;
  }

  shuffle_units units_;
  std::vector<shard> shards_{};
  numpy::uint128 run_increment_{};
  numpy::uint128 epoch_increment_{};
  std::vector<piece> pieces_{};
};

}  // namespace mdstream::inline v0::shuffle::detail

namespace mdstream::inline v0::shuffle {

MDSTREAM_INLINE mdstream::detail::any_sequence py2s::open(const shuffle_task& task) const {
  return detail::segmented(std::make_shared<const detail::py2s_plan>(task));
}

}  // namespace mdstream::inline v0::shuffle
