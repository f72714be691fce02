#pragma once

/// The rank of each place of the shuffled epoch: closed form of the reference's partitions, from
/// a position in the global order to a place in the shuffled sequence and back to nothing else.

#include <mdstream/order/detail/check.hpp>
#include <mdstream/order/order_options.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

namespace mdstream::inline v0::detail {

/// Positions after which, in any world, an epoch only repeats samples that it has dealt before.
/// Precondition: `samples` and `num_canonical_nodes` are those of a partition.
[[nodiscard]] constexpr std::uint64_t positions_of_all(std::uint64_t samples,
                                                       std::uint64_t num_canonical_nodes) noexcept {
  return detail::ceil_div(samples, num_canonical_nodes) * num_canonical_nodes;
}

/// What a partition is made for: `nodes` x `ranks_per_node` x `workers_per_rank`, batches of
/// `batch_size` for each rank.
struct partition_request {
  partition_algo algo = partition_algo::relaxed;
  std::uint64_t samples = 0;
  std::uint64_t num_canonical_nodes = 1;
  std::uint64_t nodes = 1;
  std::uint64_t ranks_per_node = 1;
  std::uint64_t workers_per_rank = 1;
  std::uint64_t batch_size = 1;
  std::uint64_t drop_first = 0;  ///< samples of the global order that a resumed run has had
  std::optional<std::uint64_t> initial_physical_nodes{};
  /// If set, the deal is always to that many ranks on each of the initial nodes, and only batches
  /// are cut for the current world.
  std::optional<std::uint64_t> initial_ranks_per_node{};
};

/// The deal of `samples` places: the places are laid out as one row for each canonical node, read
/// column by column, dealt to nodes, then to ranks. O(1) memory and O(1) for a position.
class partition {
 public:
  static constexpr std::int64_t padding = -1;

  /// Throws `errc::invalid_argument`: nothing to deal, canonical and physical nodes of which
  /// neither divides the other, a start beyond the end, a global batch that the initial nodes do
  /// not divide.
  explicit partition(const partition_request& request) {
    check(request);
    partition_request original = request;
    if (changed_world(request)) {
      original.nodes = *request.initial_physical_nodes;
      original.ranks_per_node = initial_ranks(request);
      const std::uint64_t ranks = original.nodes * original.ranks_per_node;
      const std::uint64_t global = request.nodes * request.ranks_per_node * request.batch_size;
      if (ranks == 0 || global % ranks != 0)
        detail::refuse("a global batch of " + std::to_string(global) +
                       " samples cannot be dealt to the " + std::to_string(ranks) +
                       " ranks that began the epoch");
      original.batch_size = global / ranks;
    }
    measure(original);
    check_start(request);
    lay_out();
    deal(original);
  }

  /// Samples of a global batch.
  [[nodiscard]] std::uint64_t global_batch_size() const noexcept {
    return nodes_ * ranks_ * batch_size_;
  }
  /// Global batches, padded ones included: a multiple of the workers per rank.
  [[nodiscard]] std::uint64_t global_batches() const noexcept { return batches_; }
  [[nodiscard]] std::uint64_t positions() const noexcept { return batches_ * global_batch_size(); }
  /// Samples that each rank gets, padding not counted.
  [[nodiscard]] std::uint64_t samples_per_rank() const noexcept { return per_rank_; }

  /// The place in the shuffled sequence at a position of the global order, or `padding`.
  [[nodiscard]] std::int64_t operator[](std::uint64_t position) const noexcept {
    const std::uint64_t global = global_batch_size();
    const std::uint64_t batch = position / global, in_batch = position % global;
    const std::uint64_t rank = in_batch / batch_size_;
    const std::uint64_t i = batch * batch_size_ + in_batch % batch_size_;
    if (i >= per_rank_) return padding;
    return static_cast<std::int64_t>(
        place_of_flat(flat_of(rank / ranks_, rank % ranks_ + i * ranks_)));
  }

  // The parts of the map, for readers that go through many positions at a time.

  [[nodiscard]] std::uint64_t nodes() const noexcept { return nodes_; }
  [[nodiscard]] std::uint64_t ranks() const noexcept { return ranks_; }
  [[nodiscard]] std::uint64_t batch_size() const noexcept { return batch_size_; }
  [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }
  /// Entries of the longest row; further columns repeat some of them.
  [[nodiscard]] std::uint64_t filled_columns() const noexcept { return filled_; }
  [[nodiscard]] std::uint64_t samples() const noexcept { return samples_; }
  /// Whether rows are cut from the sequence; otherwise they run round it.
  [[nodiscard]] bool cut() const noexcept { return cut_; }
  /// Places that every node has before the ranks of a node are made equal.
  [[nodiscard]] std::uint64_t places_per_node() const noexcept { return per_node_; }
  [[nodiscard]] std::uint64_t row_begin(std::uint64_t row) const noexcept {
    return detail::mul_div(row, samples_, rows_);
  }

  /// Which of a node's places its q-th is: itself, or a repeated one behind the end.
  [[nodiscard]] std::uint64_t repeated(std::uint64_t q) const noexcept {
    if (q < per_node_) return q;
    const std::uint64_t behind = q - per_node_;
    return repeat_last_ ? per_node_ - ranks_ - added_ + 1 + behind : behind % per_node_;
  }
  /// Column-major number of a node's q-th place.
  [[nodiscard]] std::uint64_t flat_of(std::uint64_t node, std::uint64_t q) const noexcept {
    return dropped_ + node + nodes_ * repeated(q);
  }
  /// Which entry of its row a column holds: itself, or a repeated one at the row's end.
  [[nodiscard]] std::uint64_t entry(std::uint64_t row, std::uint64_t column) const noexcept {
    if (column + 1 < filled_) return column;
    if (column >= filled_) return pad_from_ + (pad_step_ ? column - filled_ : 0);
    return row_begin(row + 1) - row_begin(row) < filled_ ? column - 1 : column;
  }
  [[nodiscard]] std::uint64_t place_of_flat(std::uint64_t flat) const noexcept {
    const std::uint64_t row = flat % rows_, column = flat / rows_;
    return cut_ ? row_begin(row) + entry(row, column) : (row * width_ + column) % samples_;
  }

 private:
  static void check(const partition_request& r) {
    using detail::checked_mul;
    if (r.num_canonical_nodes == 0 || r.nodes == 0 || r.ranks_per_node == 0 ||
        r.workers_per_rank == 0)
      detail::refuse("a partition needs canonical nodes, nodes, ranks and workers");
    if (r.batch_size == 0) detail::refuse("a batch size of 0");
    if (r.samples == 0 || r.samples > detail::max_samples)
      detail::refuse("a partition of " + std::to_string(r.samples) + " samples");
    const std::uint64_t ranks = checked_mul(r.nodes, r.ranks_per_node, "number of ranks");
    const std::uint64_t global = checked_mul(ranks, r.batch_size, "global batch size");
    const std::uint64_t round = checked_mul(global, r.workers_per_rank, "batches of all workers");
    if (r.initial_physical_nodes)
      static_cast<void>(
          checked_mul(*r.initial_physical_nodes, initial_ranks(r), "number of initial ranks"));
    // Rows are as long as the longest, ranks as long as the longest, batches are filled: each of
    // these steps may add as much as its divisor.
    const std::uint64_t widest = checked_mul(
        checked_mul(r.num_canonical_nodes, std::max(r.nodes, r.initial_physical_nodes.value_or(1)),
                    "canonical times physical nodes"),
        2, "rounding of rows");
    static_cast<void>(detail::checked_add(
        detail::checked_add(detail::checked_add(r.samples, widest, "places of a partition"), ranks,
                            "places of a partition"),
        round, "places of a partition"));
  }

  /// Refuses a start beyond all that was dealt. The reference takes one behind the samples and
  /// those that ranks repeat; an epoch's last states also count those that rows repeat.
  void check_start(const partition_request& r) const {
    const std::uint64_t ranks = r.nodes * r.ranks_per_node;
    const std::uint64_t slack = ranks - samples_ % ranks, all = nodes_ * ranks_;
    const std::uint64_t dealt = detail::ceil_div(width_ * rows_, all) * all;
    if (r.drop_first > std::max(samples_ + slack, dealt))
      detail::refuse("resuming at sample " + std::to_string(r.drop_first) +
                     " of an epoch that has " + std::to_string(samples_));
  }

  [[nodiscard]] static bool changed_world(const partition_request& r) {
    if (!r.initial_physical_nodes) return false;
    return r.initial_ranks_per_node || (r.algo == partition_algo::relaxed &&
                                        !one_divides_other(r.num_canonical_nodes, r.nodes));
  }
  [[nodiscard]] static std::uint64_t initial_ranks(const partition_request& r) {
    return r.initial_ranks_per_node.value_or(r.ranks_per_node);
  }

  void measure(const partition_request& r) {
    rows_ = r.num_canonical_nodes;
    samples_ = r.samples;
    nodes_ = r.nodes;
    ranks_ = r.ranks_per_node;
    filled_ = detail::ceil_div(samples_, rows_);
    width_ = detail::ceil_div(filled_, nodes_of_row()) * nodes_of_row();
  }

  [[nodiscard]] std::uint64_t nodes_of_row() const noexcept {
    return rows_ < nodes_ ? nodes_ / rows_ : 1;
  }

  void lay_out() {
    if (!one_divides_other(rows_, nodes_))
      detail::refuse("of " + std::to_string(rows_) + " canonical nodes and " +
                     std::to_string(nodes_) + " nodes one must divide the other");
    const std::uint64_t pad = width_ - filled_;
    cut_ = samples_ > rows_ || (samples_ == rows_ && rows_ >= nodes_);
    if (cut_ && pad != 0) pad_rows(pad, nodes_of_row());
  }

  /// The row's end is filled from before the last ratio - 1 entries; Python's slices clip at the
  /// beginning, and one value fills any number of places.
  void pad_rows(std::uint64_t pad, std::uint64_t ratio) {
    const auto clip = [this](std::uint64_t back) { return width_ - std::min(width_, back); };
    pad_from_ = clip(2 * pad + ratio - 1);
    const std::uint64_t available = clip(pad + ratio - 1) - pad_from_;
    if (available != pad && available != 1)
      detail::refuse("a canonical node of " + std::to_string(filled_) +
                     " samples is too small to be shared by " + std::to_string(ratio) + " nodes; " +
                     (samples_ < nodes_ ? "use at most " + std::to_string(samples_) + " nodes"
                                        : "set num_canonical_nodes = " + std::to_string(nodes_)));
    pad_step_ = available == pad;
  }

  void deal(const partition_request& r) {
    batch_size_ = r.batch_size;
    dropped_ = r.drop_first - r.drop_first % nodes_;
    const std::uint64_t places = width_ * rows_;
    dropped_ = std::min(dropped_, places);
    per_node_ = (places - dropped_) / nodes_;
    added_ = (ranks_ - per_node_ % ranks_) % ranks_;
    repeat_last_ = ranks_ + added_ - 1 <= per_node_;
    per_rank_ = (per_node_ + added_) / ranks_;
    const std::uint64_t workers = r.workers_per_rank;
    batches_ = detail::ceil_div(per_rank_, workers * batch_size_) * workers;
  }

  std::uint64_t samples_ = 0, rows_ = 1, filled_ = 0, width_ = 0;
  bool cut_ = true;
  std::uint64_t pad_from_ = 0;
  bool pad_step_ = false;
  std::uint64_t nodes_ = 1, ranks_ = 1, batch_size_ = 1;
  std::uint64_t dropped_ = 0, per_node_ = 0, added_ = 0, per_rank_ = 0, batches_ = 0;
  bool repeat_last_ = false;
};

}  // namespace mdstream::inline v0::detail
