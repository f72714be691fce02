#pragma once

/// What a user says about streams, datasets and loaders. Names and defaults are those of MosaicML
/// Streaming's StreamingDataset where it has the same option; what differs says so.

#include <mdstream/core/sizes.hpp>
#include <mdstream/core/warning.hpp>
#include <mdstream/order/mix_schedule.hpp>
#include <mdstream/order/order_options.hpp>
#include <mdstream/order/world.hpp>
#include <mdstream/raw/options.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/opened_store.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mdstream::inline v0 {

class runtime;

/// One stream: a dataset, where its shards are kept on this machine, and its part of the mix.
/// At most one of `proportion`, `repeat` and `choose` is given; either every stream of a loader has
/// a proportion or none has.
struct stream_options {
  /// Path or URL of the directory that holds the dataset.
  std::string remote{};
  /// Directory on this machine for its shards; the dataset itself where there is no remote. Unset:
  /// a directory of its own below the loader's `local`.
  std::string local{};
  /// Subdirectory of both, such as "train".
  std::string split{};
  /// Relative share of the epoch.
  std::optional<double> proportion{};
  /// How many times the stream is read in an epoch; fractions draw samples.
  std::optional<double> repeat{};
  /// Samples of the stream in an epoch.
  std::optional<std::uint64_t> choose{};
  /// An opened store to read from instead of `remote`, with credentials and options of its own.
  std::optional<opened_store> store{};
  /// With a format or files named, the remote holds files that are no dataset, such as JSON lines,
  /// and this says how they are read: they are cut into shards, whose rows are made into samples
  /// when they are fetched. The policies have to name the format. Empty format: by the files'
  /// names.
  raw::options raw{};
  /// For messages. Unset: the remote, else the local directory.
  std::string name{};
  /// Unset options are those of the dataset or loader.
  std::optional<unsigned> download_retry{};
  std::optional<std::chrono::milliseconds> download_timeout{};
  std::optional<std::chrono::milliseconds> patience{};
  std::optional<std::string> validate_hash{};
  std::optional<bool> keep_zip{};
};

/// Random access to the samples of one or more streams.
struct dataset_options {
  std::vector<stream_options> streams{};
  /// Short for one stream; not together with `streams`.
  std::string remote{};
  /// With `streams`: the directory below which each stream's shards are kept.
  std::string local{};
  std::string split{};
  /// Bytes on disk that all processes together may use below `local`; 0: no limit. The smallest
  /// limit of the processes that share the directory holds.
  byte_size cache_limit{};
  /// How often a shard is fetched in all whose content is wrong, at least 1.
  unsigned download_retry = 2;
  /// A request that brings no byte for so long is given up and repeated; what came of it is kept.
  std::chrono::milliseconds download_timeout = std::chrono::seconds(60);
  /// How long a store may be out of order: a request that fails with a transient error is repeated,
  /// with growing pauses or as the store asks for, until it has brought nothing for so long.
  /// `warn` is told at once. 0: such an error counts as an attempt of `download_retry`.
  std::chrono::milliseconds patience = default_patience;
  /// Name of the hash in the index to check files by; one that the index does not have is an error.
  /// Empty: the cheapest that the index has and the program computes. "none": sizes only.
  std::string validate_hash{};
  /// Keep compressed shards beside the raw ones.
  bool keep_zip = false;
  /// Bytes that could come while a request waits for its answer: latency times rate, 1 MiB say.
  /// With it a sample of a shard that is not here is read by itself, by two requests, until that
  /// has cost as much as the whole shard; then the shard is fetched. Only of raw MDS shards, and
  /// not with `validate_hash`. 0: always whole shards.
  byte_size range_request_cost{};
  /// Told, from any thread, of what can be worked with: a file of credentials that everybody may
  /// read.
  warning_function warn = &warn_on_stderr;
  /// Workers for decompression, hashes and blocking stores; 0: one a core. Beside them are two
  /// threads for the network, or one where this is 1 or there is one core.
  unsigned threads = 0;
  /// Threads to share with other datasets and loaders instead of own ones; has to outlive them.
  runtime* shared_runtime = nullptr;
};

/// What becomes of a shard that can not be read: its bytes are bad, also after they were fetched
/// once more, or the remote does not have it.
enum class bad_shards : std::uint8_t {
  fail,        ///< the batch that needs it fails, naming it
  substitute,  ///< the next shard of its stream is read in its place; the saved state says so
};

/// Batches of a weighted mix of streams, in a reproducible order.
struct loader_options {
  std::vector<stream_options> streams{};
  std::string remote{};
  std::string local{};
  std::string split{};
  byte_size cache_limit{};
  /// Samples in a batch of one rank. Exactly one of `batch_size` and `global_batch_size` is given.
  std::uint64_t batch_size = 0;
  /// Samples in a batch of all ranks together; a multiple of the number of (distinct) ranks.
  std::uint64_t global_batch_size = 0;
  /// Python's `shuffle_seed`.
  std::uint64_t seed = 9176;
  /// Samples in an epoch over all ranks, "100k" or a number; 0: the sum of the streams.
  sample_count epoch_size{};
  /// A mix that changes during the run, in place of weights of the streams: phases by number of
  /// the global batch, each with a weight for every stream. Epochs then are whole global batches
  /// and end where a phase ends. A run may go on with a schedule that differs in phases to come.
  std::vector<mix_phase> phases{};
  /// Unlike Python's default: who names a shuffler means to shuffle.
  bool shuffle = true;
  /// For `any_shuffler`, which is chosen by name here; others have a name of their own.
  std::string shuffle_algo{};
  /// In samples. Unset: max(4,000,000 / num_canonical_nodes, 262,144).
  std::optional<std::uint64_t> shuffle_block_size{};
  /// Unset: the number of nodes at the first epoch (64 times that for py1s and py2s).
  std::optional<std::uint64_t> num_canonical_nodes{};
  batching_method batching = batching_method::random;
  sampling_method sampling = sampling_method::balanced;
  std::uint64_t sampling_granularity = 1;
  partition_algo partition = partition_algo::relaxed;
  /// Samples of this rank whose shards are fetched ahead. Unset: 64 batches, at least 8,192, and as
  /// many as it takes to have enough shards to fetch, up to 262,144.
  std::optional<std::uint64_t> predownload{};
  /// Unset: from the launcher's environment (launch/environment.hpp).
  std::optional<mdstream::world> world{};
  /// Data-loader workers of the Python run whose order is wanted; threads are not workers. Unset:
  /// the world's.
  std::optional<std::uint64_t> num_workers{};
  /// This many consecutive ranks (of tensor or pipeline parallelism) get the same samples.
  std::uint64_t replication = 1;
  bad_shards on_bad_shard = bad_shards::fail;
  /// Bytes of batches that are put together on the pool before the loop asks for them. Unset: with
  /// a transform, or rows of text to read, 256 MiB, else none, and batches are put together by who
  /// asks for them.
  std::optional<byte_size> ahead{};
  unsigned download_retry = 2;
  std::chrono::milliseconds download_timeout = std::chrono::seconds(60);
  std::chrono::milliseconds patience = default_patience;
  std::string validate_hash{};
  bool keep_zip = false;
  /// Unset: the observer, where it hears warnings, else standard error.
  warning_function warn{};
  unsigned threads = 0;
  runtime* shared_runtime = nullptr;
};

}  // namespace mdstream::inline v0
