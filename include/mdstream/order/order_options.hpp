#pragma once

/// Everything that enters the order of samples besides the dataset, the world and the batch size.

#include <mdstream/version.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0 {

/// How much of a stream an epoch holds: at most one of the three. `proportion` is relative to the
/// other streams (all of them have one, or none), `repeat` to the stream's own size, `choose` is a
/// number of samples. With none of them a stream is read once, or in proportion to its size where
/// `order_options::epoch_size` is set.
///
///     const mds::stream_weight half{.repeat = 0.5};  // half of the stream's samples in each epoch
struct stream_weight {
  std::optional<double> proportion{};     ///< the stream's share of the epoch, beside the others'
  std::optional<double> repeat{};         ///< times the stream; fractions draw samples
  std::optional<std::uint64_t> choose{};  ///< samples of the stream
};

/// From global batch `first_batch` of the run on, the streams have these weights.
///
///     options.phases = {{.weights = {{.proportion = 9}, {.proportion = 1}}},
///                       {.first_batch = 500, .weights = {{.proportion = 1}, {.proportion = 1}}}};
struct mix_phase {
  std::uint64_t first_batch = 0;         ///< global batches of the run before this phase
  std::vector<stream_weight> weights{};  ///< one for each stream, in their order
  /// Samples in an epoch of the phase, over all ranks. The default is the sum of the streams.
  std::optional<std::uint64_t> epoch_size{};
};

/// A stream as the order sees it: how many samples each of its shards holds.
struct stream_shards {
  std::vector<std::uint64_t> samples{};
  stream_weight weight{};
};

/// Which samples of a shard that is used in part: drawn for each epoch (`balanced`), or the same in
/// all epochs (`fixed`).
enum class sampling_method : std::uint8_t { balanced, fixed };

/// How a batch is built from several streams.
enum class batching_method : std::uint8_t {
  random,             ///< streams mixed at random
  stratified,         ///< every global batch holds the same mix
  per_stream,         ///< every global batch comes from one stream
  device_per_stream,  ///< every rank's batch comes from one stream
  /// Every sample of every stream once, in the order of the streams and their shards: for
  /// validation. No shuffle, no weights, no `epoch_size`. A world takes no part: the global batches
  /// are the same on any number of ranks, dealt in stretches. The last one is padded.
  once,
};

/// How an epoch is dealt to nodes.
enum class partition_algo : std::uint8_t {
  orig,
  relaxed,  ///< as orig, but a resumed run may have a number of nodes that orig would refuse
};

/// How an epoch is sampled, partitioned and divided into batches. The names are those of Python's
/// arguments.
struct order_options {
  /// Samples in an epoch, over all streams. The default (or 0) is the sum of the streams.
  std::optional<std::uint64_t> epoch_size{};
  /// Which samples of a shard that is used in part: `balanced` draws them for each epoch, `fixed`
  /// once for the run.
  sampling_method sampling = sampling_method::balanced;
  /// How many neighbours are drawn together from a shard that is used in part.
  std::uint64_t sampling_granularity = 1;
  /// `relaxed` lets a run resume on more numbers of nodes than `orig`.
  partition_algo partition = partition_algo::relaxed;
  /// Parts of an epoch before it is dealt to nodes. The default (or 0) is the number of nodes at
  /// the first epoch (64 times that for py1s, py2s).
  std::optional<std::uint64_t> num_canonical_nodes{};
  bool shuffle = true;                ///< false: the order of streams and shards
  std::uint64_t shuffle_seed = 9176;  ///< of the draws and of the shuffle
  /// Samples within which the shuffle mixes. The default is max(4,000,000 / num_canonical_nodes,
  /// 262,144).
  std::optional<std::uint64_t> shuffle_block_size{};
  /// How a batch is built from several streams: `random`, `stratified`, `per_stream`,
  /// `device_per_stream` or, for validation, `once`.
  batching_method batching = batching_method::random;
};

/// The name of the method.
[[nodiscard]] constexpr std::string_view to_string(sampling_method m) noexcept {
  return m == sampling_method::balanced ? "balanced" : "fixed";
}
/// The name of the algorithm.
[[nodiscard]] constexpr std::string_view to_string(partition_algo a) noexcept {
  return a == partition_algo::orig ? "orig" : "relaxed";
}
/// The name of the method.
[[nodiscard]] constexpr std::string_view to_string(batching_method m) noexcept {
  switch (m) {
    case batching_method::random: return "random";
    case batching_method::stratified: return "stratified";
    case batching_method::per_stream: return "per_stream";
    case batching_method::device_per_stream: return "device_per_stream";
    case batching_method::once: return "once";
  }
  return "?";
}

/// The method of that name, or nothing.
[[nodiscard]] constexpr std::optional<sampling_method> parse_sampling_method(
    std::string_view name) noexcept {
  for (const auto m : {sampling_method::balanced, sampling_method::fixed})
    if (to_string(m) == name) return m;
  return std::nullopt;
}
/// The algorithm of this name; nothing for other texts.
[[nodiscard]] constexpr std::optional<partition_algo> parse_partition_algo(
    std::string_view name) noexcept {
  for (const auto a : {partition_algo::orig, partition_algo::relaxed})
    if (to_string(a) == name) return a;
  return std::nullopt;
}
/// The method of this name; nothing for other texts.
[[nodiscard]] constexpr std::optional<batching_method> parse_batching_method(
    std::string_view name) noexcept {
  for (const auto m :
       {batching_method::random, batching_method::stratified, batching_method::per_stream,
        batching_method::device_per_stream, batching_method::once})
    if (to_string(m) == name) return m;
  return std::nullopt;
}

}  // namespace mdstream::inline v0
