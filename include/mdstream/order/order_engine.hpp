#pragma once

/// From datasets and options to the order of every epoch.

#include <mdstream/core/error.hpp>
#include <mdstream/order/detail/batching.hpp>
#include <mdstream/order/detail/shard_table.hpp>
#include <mdstream/order/detail/weights.hpp>
#include <mdstream/order/epoch_order.hpp>
#include <mdstream/order/order_options.hpp>
#include <mdstream/order/progress.hpp>
#include <mdstream/order/shuffler.hpp>
#include <mdstream/order/world.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// The order of samples of a run: pure, immutable after construction, any thread may ask. Streams,
/// options and seed fix everything; the world only decides which rank gets which part.
///
///     const std::vector<mds::stream_shards> streams{{.samples = {1000, 1000, 500}}};
///     const mds::order_engine<mds::shuffle::py1e> engine(streams, {.shuffle_seed = 17});
///     mds::progress run = engine.begin_run();
///     const mds::world world{.nodes = 2, .ranks_per_node = 8};
///     const mds::epoch_order order = engine.epoch(world, 4, run.begin_epoch(world));
template <shuffler Shuffler>
class order_engine {
 public:
  /// Throws `errc::invalid_argument` for weights that contradict each other or the options, empty
  /// streams, a sampling granularity of 0, samples beyond 2^63, and weights or an epoch size with
  /// `batching_method::once`.
  order_engine(std::span<const stream_shards> streams, order_options options,
               Shuffler shuffler = {})
      : options_(options),
        shuffler_(std::move(shuffler)),
        shards_(std::make_shared<detail::shard_table>(streams)),
        mix_(mix_of(streams)) {
    if (options_.sampling_granularity == 0) detail::refuse("a sampling granularity of 0 samples");
  }

  [[nodiscard]] const order_options& options() const noexcept { return options_; }
  [[nodiscard]] const Shuffler& shuffler_model() const noexcept { return shuffler_; }
  /// Shards of all streams and their first sample ids.
  [[nodiscard]] const detail::shard_table& shards() const noexcept { return *shards_; }
  /// Samples, proportion and repetition of each stream in an epoch.
  [[nodiscard]] const detail::stream_mix& mix() const noexcept { return mix_; }
  /// Samples of an epoch.
  [[nodiscard]] std::uint64_t epoch_size() const noexcept { return mix_.epoch_size; }

  /// A run that has not begun.
  [[nodiscard]] progress begin_run() const {
    return progress(options_, canonical_nodes_factor(shuffler_));
  }

  /// The rest of an epoch from `start` on, for batches of `batch_size` samples a rank. `parallel`
  /// is the world after replication; its `rank` plays no part. Throws `errc::invalid_argument`
  /// where the reference fails: worlds and canonical nodes that do not divide, a start beyond the
  /// end, streams too small for the batching method.
  [[nodiscard]] epoch_order epoch(const world& parallel, std::uint64_t batch_size,
                                  const epoch_start& start,
                                  const detail::plan_store* plans = nullptr) const {
    return detail::make_epoch(request(parallel, batch_size, start, plans), opener());
  }

  /// Global batches of that rest that have a sample. Throws as `epoch` where the world does not fit
  /// this dataset; costs less: microseconds with `batching_method::random`.
  [[nodiscard]] std::uint64_t batches(const world& parallel, std::uint64_t batch_size,
                                      const epoch_start& start) const {
    return detail::count_batches(request(parallel, batch_size, start, nullptr), opener());
  }

  /// Those of them that are full on every rank; they come first.
  [[nodiscard]] std::uint64_t full_batches(const world& parallel, std::uint64_t batch_size,
                                           const epoch_start& start) const {
    return detail::count_full_batches(request(parallel, batch_size, start, nullptr), opener());
  }

  /// Full global batches that an epoch has in any world: what fills none of its method, or only
  /// together with repeated samples, does not count. With `batching_method::device_per_stream` a
  /// world of one rank has the fewest, and one of more ranks may have more. Throws
  /// `errc::invalid_argument` where a stream has no share in a batch. O(streams).
  [[nodiscard]] std::uint64_t least_batches(std::uint64_t global_batch_size) const {
    return detail::count_least_batches(request({}, global_batch_size, {}, nullptr), opener());
  }

  /// Samples of each stream that no batch of an epoch has, because they do not fill one of their
  /// method; none with `batching_method::random` and `once`. Throws as `epoch`. O(streams).
  [[nodiscard]] std::vector<std::uint64_t> left_out(const world& parallel, std::uint64_t batch_size,
                                                    const epoch_start& start) const {
    return detail::count_left_out(request(parallel, batch_size, start, nullptr), opener());
  }

 private:
  [[nodiscard]] detail::epoch_request request(const world& parallel, std::uint64_t batch_size,
                                              const epoch_start& start,
                                              const detail::plan_store* plans) const {
    return {.shards = shards_,
            .mix = mix_,
            .options = options_,
            .parallel = parallel,
            .batch_size = batch_size,
            .start = start,
            .plans = plans};
  }
  [[nodiscard]] detail::open_shuffle opener() const {
    return
        [this](const shuffle_task& task) -> detail::any_sequence { return shuffler_.open(task); };
  }

  [[nodiscard]] detail::stream_mix mix_of(std::span<const stream_shards> streams) const {
    std::vector<stream_weight> weights;
    std::vector<std::uint64_t> sizes;
    for (std::size_t k = 0; k < streams.size(); ++k) {
      weights.push_back(streams[k].weight);
      sizes.push_back(shards_->stream_samples(k));
    }
    detail::stream_mix mix =
        detail::mix_streams(weights, sizes, options_.epoch_size, options_.shuffle_seed);
    if (options_.batching == batching_method::once) detail::refuse_unless_once(mix, sizes);
    return mix;
  }

  order_options options_;
  Shuffler shuffler_;
  std::shared_ptr<const detail::shard_table> shards_;
  detail::stream_mix mix_;
};

}  // namespace mdstream::inline v0
