#pragma once

/// The world of a run: how many nodes, ranks and workers share the samples, and which rank this
/// process is.

#include <mdstream/order/detail/check.hpp>

#include <cstdint>
#include <string>

namespace mdstream::inline v0 {

/// The number of nodes, the ranks on each node, and the rank of this process. `workers_per_rank` is
/// the number of data-loader workers of a Python run with the same order. It only enters the order
/// of samples: threads are not workers.
///
///     const mds::world world{.nodes = 4, .ranks_per_node = 8, .rank = 17};  // world.node() is 2
struct world {
  std::uint64_t nodes = 1;             ///< machines of the run
  std::uint64_t ranks_per_node = 1;    ///< processes on each node
  std::uint64_t workers_per_rank = 1;  ///< data-loader workers of a Python run of the same order
  std::uint64_t rank = 0;              ///< this process's number among all ranks, from 0

  [[nodiscard]] std::uint64_t num_ranks() const noexcept { return nodes * ranks_per_node; }
  [[nodiscard]] std::uint64_t num_workers() const noexcept {
    return num_ranks() * workers_per_rank;
  }
  [[nodiscard]] std::uint64_t node() const noexcept { return rank / ranks_per_node; }
  [[nodiscard]] std::uint64_t rank_of_node() const noexcept { return rank % ranks_per_node; }
  /// Number of worker `w` of this rank among all workers.
  [[nodiscard]] std::uint64_t worker(std::uint64_t w) const noexcept {
    return rank * workers_per_rank + w;
  }
  [[nodiscard]] std::uint64_t worker_of_node(std::uint64_t w) const noexcept {
    return rank_of_node() * workers_per_rank + w;
  }
  [[nodiscard]] bool is_leader(std::uint64_t w = 0) const noexcept { return worker(w) == 0; }
  [[nodiscard]] bool is_local_leader(std::uint64_t w = 0) const noexcept {
    return worker_of_node(w) == 0;
  }

  /// Throws `errc::invalid_argument` unless all counts are positive, their product fits and `rank`
  /// lies among them.
  void check() const {
    detail::refuse_negative("the world's number of nodes", nodes);
    detail::refuse_negative("the world's ranks per node", ranks_per_node);
    detail::refuse_negative("the world's workers per rank", workers_per_rank);
    detail::refuse_negative("the world's rank", rank);
    if (nodes == 0 || ranks_per_node == 0 || workers_per_rank == 0)
      detail::refuse("a world needs at least one node, rank and worker: " + text());
    const std::uint64_t ranks = detail::checked_mul(nodes, ranks_per_node, "number of ranks");
    static_cast<void>(detail::checked_mul(ranks, workers_per_rank, "number of workers"));
    if (rank >= ranks)
      detail::refuse("rank " + std::to_string(rank) + " lies outside the world of " + text());
  }

  /// The world that the order is computed for if `copies` consecutive ranks get the same samples:
  /// each group counts as one rank. Throws `errc::invalid_argument` unless `copies` divides the
  /// number of ranks.
  [[nodiscard]] world replicate(std::uint64_t copies) const {
    check();
    if (copies == 0 || num_ranks() % copies != 0)
      detail::refuse("replication " + std::to_string(copies) + " does not divide the " +
                     std::to_string(num_ranks()) + " ranks");
    const std::uint64_t ranks = num_ranks() / copies;
    const std::uint64_t whole_nodes = ranks % ranks_per_node == 0 ? ranks / ranks_per_node : 1;
    return {.nodes = whole_nodes,
            .ranks_per_node = ranks / whole_nodes,
            .workers_per_rank = workers_per_rank,
            .rank = rank / copies};
  }

  [[nodiscard]] std::string text() const {
    return std::to_string(nodes) + " nodes, " + std::to_string(ranks_per_node) +
           " ranks per node, " + std::to_string(workers_per_rank) + " workers per rank";
  }

  friend bool operator==(const world&, const world&) = default;
};

}  // namespace mdstream::inline v0
