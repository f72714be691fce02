#pragma once

/// Which epoch comes next and where it begins: the counter and the checkpoint rules of a run, as a
/// pure state machine.

#include <mdstream/order/detail/check.hpp>
#include <mdstream/order/order_options.hpp>
#include <mdstream/order/world.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

namespace mdstream::inline v0::detail {

/// Whether whole global batches are built of streams that were dealt to ranks before. Samples that
/// ranks repeat may fill a batch, so the batches depend on the world in which the run began.
[[nodiscard]] constexpr bool deals_streams(batching_method m) noexcept {
  return m == batching_method::stratified || m == batching_method::per_stream;
}

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0 {

/// What a checkpoint says about the place in a run: the five values that a Python run saves too,
/// and a sixth.
struct resume_point {
  std::int64_t epoch = -1;  ///< -1: no epoch has begun
  std::uint64_t sample_in_epoch = 0;
  std::uint64_t num_canonical_nodes = 0;
  std::uint64_t shuffle_seed = 0;
  /// Nodes of the run that began the epoch; nothing in states of old Python versions.
  std::optional<std::uint64_t> initial_physical_nodes{};
  /// Ranks on each of these nodes, with `stratified` and `per_stream` batching: streams are dealt
  /// to them in every world. Nothing in states of Python, which deals streams in the current world.
  std::optional<std::uint64_t> initial_ranks_per_node{};

  friend bool operator==(const resume_point&, const resume_point&) = default;
};

/// Everything that fixes the order of one epoch, besides dataset, options, world and batch size.
struct epoch_start {
  std::uint64_t epoch = 0;
  std::uint64_t sample_in_epoch = 0;  ///< samples of the global order that come before the start
  std::uint64_t num_canonical_nodes = 1;
  std::uint64_t shuffle_seed = 9176;
  std::uint64_t shuffle_block_size = 1 << 18;
  std::optional<std::uint64_t> initial_physical_nodes{};
  std::optional<std::uint64_t> initial_ranks_per_node{};  ///< as in `resume_point`

  friend bool operator==(const epoch_start&, const epoch_start&) = default;
};

/// The block size of a run that sets none.
[[nodiscard]] constexpr std::uint64_t default_shuffle_block_size(std::uint64_t ncn) noexcept {
  return std::max<std::uint64_t>(4'000'000 / ncn, 262'144);
}

/// Counts epochs and answers what to save and where to go on. Not thread-safe.
///
/// An epoch counts from the moment it is begun, also when it is abandoned. A loaded state takes
/// effect when the next epoch begins, unless it is of an earlier epoch than that one: then it is
/// stale and ignored.
class progress {
 public:
  /// `default_nodes_factor` is what the shuffler multiplies the number of nodes with to get the
  /// canonical nodes of a run that sets none.
  explicit progress(const order_options& options, std::uint64_t default_nodes_factor = 1)
      : ncn_(options.num_canonical_nodes.value_or(0)),
        seed_(options.shuffle_seed),
        block_size_(options.shuffle_block_size),
        factor_(default_nodes_factor),
        deals_streams_(detail::deals_streams(options.batching)),
        relaxed_(options.partition == partition_algo::relaxed) {}

  /// Keeps a state for the next `begin_epoch`. `finished`: it is from the end of its epoch, so that
  /// the one after it begins.
  void load(const resume_point& state, bool finished = false) {
    loaded_ = state;
    finished_ = finished;
    waiting_ = true;
  }

  /// Whether a state has been loaded that the next epoch will ignore because it is of an earlier
  /// one.
  [[nodiscard]] bool loaded_is_stale() const noexcept { return loaded_ && loaded_->epoch < next_; }

  /// Whether a state has been loaded with which the next epoch begins.
  [[nodiscard]] bool has_loaded() const noexcept { return waiting_ && !loaded_is_stale(); }

  /// Begins the next epoch. `parallel` is the world that the order is made for (after replication).
  epoch_start begin_epoch(const world& parallel) {
    resume_point at{.epoch = next_};
    const bool goes_on = loaded_ && !loaded_is_stale();
    if (goes_on) {
      at = *loaded_;
      if (finished_ && at.epoch != std::numeric_limits<std::int64_t>::max()) {
        ++at.epoch;
        at.sample_in_epoch = 0;
      }
      ncn_ = at.num_canonical_nodes;
      seed_ = at.shuffle_seed;
      initial_nodes_ = at.initial_physical_nodes;
      initial_ranks_ = at.initial_ranks_per_node;
    }
    if (at.epoch < 0 || at.epoch == std::numeric_limits<std::int64_t>::max())
      detail::refuse("epoch " + std::to_string(at.epoch) + " is none that can begin");
    ncn_ = canonical_nodes(parallel);
    block_size_ = block_size(ncn_);
    if (goes_on) keep_ranks(parallel);
    next_ = at.epoch + 1;
    offset_ = at.sample_in_epoch;
    waiting_ = false;
    return {.epoch = static_cast<std::uint64_t>(at.epoch),
            .sample_in_epoch = at.sample_in_epoch,
            .num_canonical_nodes = ncn_,
            .shuffle_seed = seed_,
            .shuffle_block_size = *block_size_,
            .initial_physical_nodes = initial_nodes_,
            .initial_ranks_per_node = initial_ranks_};
  }

  /// What to save when `samples` of the current epoch have been handed out, over all distinct
  /// ranks: since the epoch was begun here, or, with `from_beginning`, since its first sample. A
  /// state that waits for the next epoch is itself what to save.
  [[nodiscard]] resume_point state(std::uint64_t samples, const world& parallel,
                                   bool from_beginning = false) const {
    if (has_loaded()) {
      resume_point at = *loaded_;
      if (!at.initial_physical_nodes) at.initial_physical_nodes = parallel.nodes;
      return at;
    }
    return {.epoch = next_ - 1,
            .sample_in_epoch =
                from_beginning ? samples : detail::checked_add(offset_, samples, "sample_in_epoch"),
            .num_canonical_nodes = canonical_nodes(parallel),
            .shuffle_seed = seed_,
            .initial_physical_nodes = initial_nodes_.value_or(parallel.nodes),
            .initial_ranks_per_node =
                deals_streams_ ? std::optional(initial_ranks_.value_or(parallel.ranks_per_node))
                               : std::nullopt};
  }

  /// The block size of a run that has begun, else the one that it would begin with.
  [[nodiscard]] std::uint64_t block_size(std::uint64_t num_canonical_nodes) const noexcept {
    return block_size_.value_or(default_shuffle_block_size(num_canonical_nodes));
  }

  [[nodiscard]] std::int64_t next_epoch() const noexcept { return next_; }
  /// The epoch at hand, -1 before the first.
  [[nodiscard]] std::int64_t epoch() const noexcept { return next_ - 1; }

 private:
  /// A state that does not say to which ranks streams are dealt continues as in Python, by the
  /// current world, and from there in every other as in this one.
  void keep_ranks(const world& parallel) {
    if (!deals_streams_) initial_ranks_.reset();
    if (!deals_streams_ || (initial_nodes_ && initial_ranks_)) return;
    if (!relaxed_ || !initial_nodes_ || detail::one_divides_other(ncn_, parallel.nodes))
      initial_nodes_ = parallel.nodes;
    initial_ranks_ = parallel.ranks_per_node;
  }

  [[nodiscard]] std::uint64_t canonical_nodes(const world& parallel) const {
    if (ncn_ != 0) return ncn_;
    return detail::checked_mul(parallel.nodes, factor_, "num_canonical_nodes");
  }

  std::uint64_t ncn_;
  std::uint64_t seed_;
  std::optional<std::uint64_t> block_size_;
  std::uint64_t factor_;
  bool deals_streams_;
  bool relaxed_;
  std::optional<std::uint64_t> initial_nodes_{};
  std::optional<std::uint64_t> initial_ranks_{};  // known only where streams are dealt
  std::optional<resume_point> loaded_{};
  bool finished_ = false;     // `loaded_` is from the end of its epoch
  bool waiting_ = false;      // `loaded_` came after the last epoch had begun
  std::uint64_t offset_ = 0;  // where the current epoch was begun
  std::int64_t next_ = 0;
};

}  // namespace mdstream::inline v0
