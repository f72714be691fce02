#pragma once

/// How shuffle::bijection deals units to canonical nodes and puts them in order, without a pass
/// over them.

#include <mdstream/order/detail/check.hpp>
#include <mdstream/order/detail/keyed_permutation.hpp>
#include <mdstream/order/detail/shuffle/spans.hpp>
#include <mdstream/order/shuffle_units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace mdstream::inline v0::shuffle::detail {

/// Units from slot first_slot to last_slot of a group in the run's order: of the first one the
/// samples from `skip` on, of the last one those before `last_end`.
struct bijection_piece {
  std::uint64_t place = 0;  ///< in the node, before samples move
  std::uint64_t size = 0;
  std::size_t group = 0;
  std::size_t first_slot = 0, last_slot = 0;
  std::uint64_t skip = 0;
  std::uint64_t last_end = ~std::uint64_t{0};
  std::uint64_t key = 0;  ///< of the order of its slots in this epoch
};

/// Units fall into groups of at most 2,048, each spread over the whole dataset (`shard_table`). The
/// run's key orders groups, and units inside a group, and cuts the sequence into canonical nodes of
/// equal size: pieces of groups. The epoch's key orders the pieces of a node. O(groups + nodes)
/// memory; the units of a piece are ordered when it is read.
class bijection_plan {
 public:
  using piece = bijection_piece;
  struct node {
    std::uint64_t begin = 0;  ///< first place in the shuffled epoch
    std::vector<piece> pieces{};
  };

  explicit bijection_plan(const shuffle_task& task)
      : units_(task.units),
        run_key_(mdstream::detail::derive_key(task.seed, 0)),
        epoch_key_(
            mdstream::detail::derive_key(mdstream::detail::derive_key(task.seed, 1), task.epoch)),
        groups_(mdstream::detail::shard_table::groups(units_.units())),
        window_(task.block_size) {
    if (task.block_size == 0) mdstream::detail::refuse("a shuffle block size of 0");
    nodes_.resize(checked_nodes(task.num_canonical_nodes));
    for (std::size_t n = 0; n < nodes_.size(); ++n) nodes_[n].begin = limit(n);
    cut_groups();
    for (std::size_t n = 0; n < nodes_.size(); ++n)
      order_pieces(nodes_[n], mdstream::detail::derive_key(epoch_key_, n));
  }

  [[nodiscard]] const shuffle_units& units() const noexcept { return units_; }
  [[nodiscard]] std::span<const node> nodes() const noexcept { return nodes_; }
  [[nodiscard]] std::uint64_t end(std::size_t n) const {
    return n + 1 < nodes_.size() ? nodes_[n + 1].begin : units_.size();
  }

  /// How samples move from their own places in a node.
  [[nodiscard]] mdstream::detail::windowed_permutation moves(std::size_t n) const {
    return {end(n) - nodes_[n].begin, window_,
            mdstream::detail::derive_key(mdstream::detail::derive_key(epoch_key_, n), 1)};
  }
  /// Samples of a shard that is longer than a block do not mix by moving: it is permuted in itself.
  [[nodiscard]] bool is_long(std::uint64_t samples) const noexcept { return samples > window_ / 2; }
  [[nodiscard]] mdstream::detail::keyed_permutation inside(std::size_t unit,
                                                           std::uint64_t samples) const {
    return {samples, mdstream::detail::derive_key(
                         mdstream::detail::derive_key(epoch_key_, ~std::uint64_t{0}), unit)};
  }

  [[nodiscard]] std::size_t group_units(std::size_t group) const {
    return mdstream::detail::shard_table::group_size(units_.units(), group);
  }
  /// The order of a group's slots in this run.
  [[nodiscard]] mdstream::detail::keyed_permutation run_order(std::size_t group) const {
    return {group_units(group),
            mdstream::detail::derive_key(mdstream::detail::derive_key(run_key_, 1), group)};
  }
  [[nodiscard]] std::size_t unit_at(std::size_t group,
                                    const mdstream::detail::keyed_permutation& order,
                                    std::size_t slot) const {
    return mdstream::detail::shard_table::group_member(units_.units(), group,
                                                       static_cast<std::size_t>(order(slot)));
  }
  [[nodiscard]] std::uint64_t size_of(std::size_t unit) const {
    return units_.end(unit) - units_.begin(unit);
  }

 private:
  void cut_groups() {
    const std::vector<std::uint64_t> totals = units_.group_sums();
    const mdstream::detail::keyed_permutation order(groups_,
                                                    mdstream::detail::derive_key(run_key_, 0));
    std::uint64_t place = 0;
    std::size_t n = 0;
    for (std::size_t g = 0; g < groups_; ++g) {
      const auto group = static_cast<std::size_t>(order(g));
      n = cut_group(group, place, totals[group], n);
      place += totals[group];
    }
  }

  /// First place of a node.
  [[nodiscard]] std::uint64_t limit(std::size_t n) const {
    return mdstream::detail::mul_div(n, units_.size(), nodes_.size());
  }

  /// Deals a group that covers `size` places from `place` on; `n` is the first node that takes of
  /// it. Returns the first node that takes of the next one. Looks at the units only where a node
  /// ends inside.
  std::size_t cut_group(std::size_t group, std::uint64_t place, std::uint64_t size, std::size_t n) {
    piece rest{.size = size, .group = group, .last_slot = group_units(group) - 1};
    if (place + size <= limit(n + 1)) {
      if (size != 0) nodes_[n].pieces.push_back(rest);
      return place + size == limit(n + 1) ? n + 1 : n;
    }
    const mdstream::detail::keyed_permutation order = run_order(group);
    std::uint64_t slot_begin = 0;  // of first_slot, from the group's beginning
    std::uint64_t begin = 0;       // of the rest
    while (place + size > limit(n + 1)) {
      const std::uint64_t cut = limit(n + 1) - place;
      piece head = rest;
      head.size = cut - begin;
      std::uint64_t slot_end = slot_begin + size_of(unit_at(group, order, rest.first_slot));
      while (slot_end < cut) {
        slot_begin = slot_end;
        slot_end += size_of(unit_at(group, order, ++rest.first_slot));
      }
      head.last_slot = rest.first_slot;
      head.last_end = cut - slot_begin;
      rest.skip = cut - slot_begin;
      rest.size = size - cut;
      begin = cut;
      if (head.size != 0) nodes_[n].pieces.push_back(head);
      ++n;
    }
    nodes_[n].pieces.push_back(rest);
    return place + size == limit(n + 1) ? n + 1 : n;
  }

  static void order_pieces(node& of, std::uint64_t key) {
    const mdstream::detail::keyed_permutation order(of.pieces.size(),
                                                    mdstream::detail::derive_key(key, 0));
    std::vector<piece> ordered;
    ordered.reserve(of.pieces.size());
    std::uint64_t place = 0;
    for (std::size_t i = 0; i < of.pieces.size(); ++i) {
      piece p = of.pieces[static_cast<std::size_t>(order(i))];
      p.place = place;
      p.key = mdstream::detail::derive_key(key, 2 + i);
      place += p.size;
      ordered.push_back(p);
    }
    of.pieces = std::move(ordered);
  }

  shuffle_units units_;
  std::uint64_t run_key_;
  std::uint64_t epoch_key_;
  std::size_t groups_;
  std::uint64_t window_;
  std::vector<node> nodes_{};
};

}  // namespace mdstream::inline v0::shuffle::detail
