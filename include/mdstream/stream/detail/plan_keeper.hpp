#pragma once

/// Plans of huge epochs in the cache directory: what opening one computes is computed once for a
/// node, and for the next epoch while this one is read.

#include <mdstream/async/runtime.hpp>
#include <mdstream/order/detail/erased_shuffler.hpp>
#include <mdstream/order/detail/plan_store.hpp>
#include <mdstream/order/epoch_order.hpp>
#include <mdstream/order/order_engine.hpp>
#include <mdstream/order/progress.hpp>
#include <mdstream/order/world.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace mdstream::inline v0::detail {

/// Opens epochs. Plans are a convenience: where they cannot be read or written, or are damaged, the
/// epoch is opened without. Thread-safe; copies are the same keeper. Processes that share the
/// directory share the plans.
class plan_keeper {
 public:
  using engine_type = order_engine<detail::erased_shuffler>;

  /// Opening costs about 2 ns a sample, and a kept plan some 30 ns and 64 bytes a unit of the
  /// shuffle: fewer samples than this, or than `worth` for each shard, are not worth a file.
  static constexpr std::uint64_t least_samples = std::uint64_t{1} << 26, worth = 64;

  /// Keeps nothing.
  plan_keeper() : plan_keeper(std::string()) {}
  /// `directory` is made when it is needed; empty: nothing is kept.
  explicit plan_keeper(std::string directory, std::uint64_t least = least_samples)
      : directory_(std::move(directory)), least_(least) {}

  /// As `engine.epoch`, and what it throws.
  [[nodiscard]] epoch_order open(const engine_type& engine, const world& parallel,
                                 std::uint64_t batch_size, const epoch_start& start) const;

  /// Makes the plan of the epoch after those of `run`, on a thread of the pool.
  void prepare(runtime& threads, const engine_type& engine, const world& parallel,
               std::uint64_t batch_size, const progress& run) const;

 private:
  /// The plan at hand, the next one, and one more for a run that was reset.
  static constexpr std::size_t most_files = 3;

  [[nodiscard]] bool is_worth_keeping(const engine_type& engine) const;

  [[nodiscard]] plan_store files() const;

  /// Removes the oldest plans until there is room for one more.
  static void make_room(const std::string& directory);

  std::string directory_;
  std::uint64_t least_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/plan_keeper.ipp>
#endif
