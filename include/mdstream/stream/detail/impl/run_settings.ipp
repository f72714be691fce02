#pragma once

#include <mdstream/core/detail/processors.hpp>
#include <mdstream/core/detail/usable_memory.hpp>
#include <mdstream/launch/environment.hpp>
#include <mdstream/stream/detail/run_settings.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE world world_of(const loader_options& from) {
  return from.world ? *from.world : launch::from_environment([](const char* name) {
    return static_cast<const char*>(std::getenv(name));
  });
}

MDSTREAM_INLINE unsigned threads_of(const loader_options& from) {
  if (from.threads != 0 || from.shared_runtime != nullptr) return from.threads;
  return cores_of_rank(cores_by_affinity(), cores_of_group(), world_of(from).ranks_per_node);
}

MDSTREAM_INLINE dataset_options dataset_part(const loader_options& from, bool hears_warnings) {
  refuse_negative("predownload", from.predownload);
  refuse_negative("threads", from.threads);
  refuse_negative("download_retry", from.download_retry);
  refuse_negative("num_canonical_nodes", from.num_canonical_nodes);
  refuse_negative("sampling_granularity", from.sampling_granularity);
  refuse_negative("shuffle_block_size", from.shuffle_block_size);
  return {.streams = from.streams,
          .remote = from.remote,
          .local = from.local,
          .split = from.split,
          .cache_limit = from.cache_limit,
          .download_retry = from.download_retry,
          .download_timeout = from.download_timeout,
          .patience = from.patience,
          .validate_hash = from.validate_hash,
          .keep_zip = from.keep_zip,
          .allow_unsafe_types = from.allow_unsafe_types,
          .warn = from.warn || hears_warnings ? from.warn : &warn_on_stderr,
          .threads = threads_of(from),
          .shared_runtime = from.shared_runtime};
}

MDSTREAM_INLINE order_options order_part(const loader_options& from) {
  order_options out{.sampling = from.sampling,
                    .sampling_granularity = from.sampling_granularity,
                    .partition = from.partition,
                    .num_canonical_nodes = from.num_canonical_nodes,
                    .shuffle = from.shuffle && from.batching != batching_method::once,
                    .shuffle_seed = from.seed,
                    .shuffle_block_size = from.shuffle_block_size,
                    .batching = from.batching};
  if (from.epoch_size.value != 0) out.epoch_size = from.epoch_size.value;
  return out;
}

MDSTREAM_INLINE world position_of(const loader_options& from) {
  world here = world_of(from);
  refuse_negative("num_workers", from.num_workers);
  refuse_negative("replication", from.replication);
  if (from.num_workers) here.workers_per_rank = *from.num_workers;
  return here.replicate(from.replication);
}

/// A batch of which not even the numbers of its samples fit into memory.
MDSTREAM_INLINE std::uint64_t checked_batch_size(std::uint64_t samples) {
  const std::uint64_t memory = machine_memory();
  if (samples <= memory / sizeof(std::int64_t)) return samples;
  refuse("a batch of " + std::to_string(samples) + " samples does not fit into memory, which has " +
         std::to_string(memory >> 20) + " MiB: make batch_size smaller");
}

MDSTREAM_INLINE std::uint64_t batch_size_of(const loader_options& from, const world& here) {
  refuse_negative("batch_size", from.batch_size);
  refuse_negative("global_batch_size", from.global_batch_size);
  if ((from.batch_size == 0) == (from.global_batch_size == 0))
    throw error(errc::invalid_argument,
                "give exactly one of batch_size and global_batch_size, at least 1");
  if (from.batch_size != 0) return checked_batch_size(from.batch_size);
  if (from.global_batch_size % here.num_ranks() != 0)
    throw error(errc::invalid_argument,
                "a global batch of " + std::to_string(from.global_batch_size) +
                    " samples is no multiple of the " + std::to_string(here.num_ranks()) +
                    " ranks that share it");
  return checked_batch_size(from.global_batch_size / here.num_ranks());
}

MDSTREAM_INLINE std::uint64_t prefetch_limit_of(const loader_options& from, bool prepares) {
  if (from.prefetch_limit) return from.prefetch_limit->value;
  return prepares ? std::uint64_t{256} << 20 : 0;
}

MDSTREAM_INLINE void check_block_size(const loader_options& from) {
  if (from.shuffle_block_size == std::uint64_t{0})
    throw error(errc::invalid_argument, "shuffle_block_size is 0 samples: leave it unset instead");
}

MDSTREAM_INLINE std::vector<std::vector<std::uint64_t>> shards_of_subset(
    const sample_subset& of, const std::vector<std::vector<std::uint64_t>>& shards) {
  std::uint64_t samples = 0;
  for (const auto& stream : shards)
    for (const std::uint64_t shard : stream) samples += shard;
  if (of.whole() != samples)
    refuse("the subset is of a dataset of " + std::to_string(of.whole()) +
           " samples, but the streams have " + std::to_string(samples));
  if (of.empty()) refuse("the subset has no samples");
  std::vector<std::vector<std::uint64_t>> out;
  std::uint64_t end = 0;  // of the ids of a shard
  auto next = of.begin();
  for (const auto& stream : shards) {
    std::vector<std::uint64_t>& chosen = out.emplace_back();
    for (const std::uint64_t shard : stream) {
      end += shard;
      const auto first = next;
      next = std::lower_bound(next, of.end(), end);
      if (next != first) chosen.push_back(static_cast<std::uint64_t>(next - first));
    }
    if (chosen.empty())
      refuse("the subset has no sample of stream " + std::to_string(out.size() - 1) +
             ": make it of a dataset without this stream");
  }
  return out;
}

MDSTREAM_INLINE std::vector<stream_shards> weighted_shards(
    const loader_options& from, const std::vector<std::vector<std::uint64_t>>& shards) {
  if (from.subset && from.on_bad_shard == bad_shards::substitute)
    refuse("on_bad_shard = substitute would read samples that are not in the subset");
  if (from.subset && from.on_bad_sample == mdstream::bad_samples::substitute)
    refuse("on_bad_sample = substitute would read samples that are not in the subset");
  auto counted = from.subset ? shards_of_subset(*from.subset, shards) : shards;
  std::vector<stream_shards> out;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    out.push_back({.samples = std::move(counted[i])});
    if (!from.streams.empty())
      out.back().weight = {.proportion = from.streams[i].proportion,
                           .repeat = from.streams[i].repeat,
                           .choose = from.streams[i].choose};
  }
  return out;
}

}  // namespace mdstream::inline v0::detail
