#pragma once

/// The ways to put global batches together from streams.

#include <mdstream/order/detail/plan_store.hpp>
#include <mdstream/order/detail/sequence.hpp>
#include <mdstream/order/detail/shard_table.hpp>
#include <mdstream/order/detail/weights.hpp>
#include <mdstream/order/epoch_order.hpp>
#include <mdstream/order/order_options.hpp>
#include <mdstream/order/progress.hpp>
#include <mdstream/order/shuffle_task.hpp>
#include <mdstream/order/world.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace mdstream::inline v0::detail {

/// All that fixes one epoch, the shuffler aside.
struct epoch_request {
  std::shared_ptr<const shard_table> shards{};
  stream_mix mix{};
  order_options options{};
  world parallel{};
  std::uint64_t batch_size = 1;
  epoch_start start{};
  const plan_store* plans = nullptr;  ///< used while the epoch is opened
};

/// Opens the shuffled epoch of a task.
using open_shuffle = std::function<any_sequence(const shuffle_task&)>;

/// The order of one epoch. Throws `errc::invalid_argument` where the reference fails.
[[nodiscard]] epoch_order make_epoch(const epoch_request& request, const open_shuffle& open);

/// Global batches of that order that have a sample. Throws as `make_epoch`; where one deal says it
/// all, costs only that.
[[nodiscard]] std::uint64_t count_batches(const epoch_request& request, const open_shuffle& open);

/// Those of them without padding, at the same cost.
[[nodiscard]] std::uint64_t count_full_batches(const epoch_request& request,
                                               const open_shuffle& open);

/// Full global batches that an epoch has in any world, with any canonical nodes: nothing that is
/// repeated counts. Throws `errc::invalid_argument` where a stream has no share in one. O(streams).
[[nodiscard]] std::uint64_t count_least_batches(const epoch_request& request,
                                                const open_shuffle& open);

/// Samples of each stream that no global batch of the epoch has. Throws as `make_epoch`.
/// O(streams).
[[nodiscard]] std::vector<std::uint64_t> count_left_out(const epoch_request& request,
                                                        const open_shuffle& open);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/order/detail/impl/batching.ipp>
#endif
