#pragma once

/// What a user says about streams, datasets and loaders. Names and defaults are those of MosaicML
/// Streaming's StreamingDataset where it has the same option; what differs says so.

#include <mdstream/core/sizes.hpp>
#include <mdstream/core/warning.hpp>
#include <mdstream/order/order_options.hpp>
#include <mdstream/order/world.hpp>
#include <mdstream/raw/options.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/opened_store.hpp>
#include <mdstream/stream/subset.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mdstream::inline v0 {

class runtime;

/// A dataset that has further columns of a stream's samples; see `stream_options::join`.
///
///     stream.join = {{.remote = "s3://bucket/c4-labels"}};
struct joined_dataset {
  /// Path or URL of the directory that holds the dataset.
  std::string remote{};
  /// Subdirectory of it.
  std::string split{};
  /// An opened store to read from instead of `remote`.
  std::optional<opened_store> store{};
};

/// One stream: a dataset, the directory for its shards on this machine, and its part of the mix.
/// Set at most one of `proportion`, `repeat` and `choose`. Set `proportion` for all streams of a
/// loader or for none.
///
///     mds::loader<> loader({.streams = {{.remote = "s3://bucket/web", .proportion = 0.9},
///                                       {.remote = "s3://bucket/code", .proportion = 0.1}},
///                           .local = "/nvme/cache",
///                           .batch_size = 32});
struct stream_options {
  /// Path or URL of the directory that holds the dataset.
  std::string remote{};
  /// Directory on this machine for its shards. Without a remote, the dataset itself. The default
  /// is a directory for this stream below the loader's `local`, or, without that either, below the
  /// system's temporary directory. If neither is set, windows of token files (`raw`) in a directory
  /// of this machine are read in place, not copied: these files must not change during the run.
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
  /// How to read a remote that holds files of another format, such as JSON lines: set `format` or
  /// `files`. The files are cut into shards, and their rows become samples when a shard is
  /// fetched. The policies have to name the format. Without a format, the files' names decide.
  raw::options raw{};
  /// Datasets with further columns of this stream's samples: their sample i belongs to sample i of
  /// this one. All have the same number of samples, no column twice, and MDS shards. Order and
  /// shards are those of this stream; when a shard is fetched, so are the samples of the others
  /// that belong to it: by ranges, or as whole shards where these are compressed. Needs a remote
  /// and a directory of its own for the shards that are made.
  std::vector<joined_dataset> join{};
  /// For messages. The default is the remote, or the local directory.
  std::string name{};
  /// The options below default to those of the dataset or loader.
  std::optional<unsigned> download_retry{};
  std::optional<std::chrono::milliseconds> download_timeout{};
  std::optional<std::chrono::milliseconds> patience{};
  std::optional<std::string> validate_hash{};
  std::optional<bool> keep_zip{};
  std::optional<bool> allow_unsafe_types{};
};

/// Random access to the samples of one or more streams.
///
///     mds::dataset<> data({.remote = "s3://bucket/c4", .local = "/nvme/cache", .threads = 8});
struct dataset_options {
  /// What to read: one or more datasets, in this order.
  std::vector<stream_options> streams{};
  /// Path or URL of a dataset: one stream, in place of `streams`.
  std::string remote{};
  /// Directory on this machine for the shards of `remote`. With `streams`, the directory below
  /// which each stream's shards are kept.
  std::string local{};
  /// Subdirectory of both, such as "train", for one stream.
  std::string split{};
  /// Bytes on disk that all processes together may use below `local`; 0: no limit. The smallest
  /// limit of the processes that share the directory holds.
  byte_size cache_limit{};
  /// How many times a shard with wrong content is fetched in total, at least 1.
  unsigned download_retry = 2;
  /// If a request delivers no byte for this long, it is sent again. The bytes so far are kept.
  std::chrono::milliseconds download_timeout = std::chrono::seconds(60);
  /// How long a store may be unavailable. A request that fails with a transient error is retried,
  /// with growing pauses or the pause that the store asks for, until no byte has arrived for this
  /// long. `warn` gets the first failure at once. 0: such an error counts as an attempt of
  /// `download_retry`.
  std::chrono::milliseconds patience = default_patience;
  /// Name of the hash that files are checked by; it is an error if the index does not have it.
  /// Empty: the cheapest that the index has and the program can compute. "none": sizes only.
  std::string validate_hash{};
  /// Keep compressed shards beside the raw ones.
  bool keep_zip = false;
  /// Accept datasets with `pkl` columns, Python pickles. They are bytes here, or plain data with
  /// `pickled` (format/pickle.hpp), and never executed; but Python executes them.
  bool allow_unsafe_types = false;
  /// Bytes that could arrive while a request waits for its answer: latency times throughput, such
  /// as 1 MiB. If set, a sample of a shard that is not cached is read alone, by two requests. When
  /// that has cost as much as the whole shard, the shard is fetched. For uncompressed MDS shards
  /// only, and not with `validate_hash`. 0: always fetch whole shards.
  byte_size range_request_cost{};
  /// Gets warnings, from any thread: problems that do not stop the program, such as a store that
  /// fails for a while, or a file of credentials that everybody may read.
  warning_function warn = &warn_on_stderr;
  /// Threads for decompression, hashes and blocking stores; 0: one for each core that this process
  /// may use, by its affinity and its control group. In addition there are two threads for the
  /// network, or one if this is 1 or there is one core.
  unsigned threads = 0;
  /// Threads to share with other datasets and loaders; has to outlive them. Null: own threads.
  runtime* shared_runtime = nullptr;
};

/// What to do with a bad shard: its bytes are wrong, also after a second download, or the remote
/// does not have it.
enum class bad_shards : std::uint8_t {
  error,       ///< the batch that needs it fails, and the error names the shard
  substitute,  ///< read the next shard of the stream in its place; the saved state records it
};

/// What to do with a bad sample: the transform or the collator throws for it, or its bytes
/// cannot be decoded. For example a JPEG file that is cut off.
enum class bad_samples : std::uint8_t {
  error,       ///< its batch fails, and the error names the sample
  substitute,  ///< read the next good sample of its shard in its place, with the same random
               ///< numbers
};

/// Batches of a weighted mix of streams, in a reproducible order. Members without a comment are as
/// in `dataset_options`.
///
///     mds::loader<> loader({.remote = "s3://bucket/c4",
///                           .local = "/nvme/cache",
///                           .cache_limit = "200gb",
///                           .batch_size = 32,
///                           .seed = 17});
struct loader_options {
  /// What to read: one or more datasets, and their parts of the mix.
  std::vector<stream_options> streams{};
  std::string remote{};
  std::string local{};
  std::string split{};
  /// Read only these samples, as if the streams had no others. `dataset::subset`, `split` and
  /// `filter` make it, for the same streams. Every stream needs at least one sample of it. Not
  /// together with `bad_shards::substitute` or `bad_samples::substitute`.
  std::optional<sample_subset> subset{};
  byte_size cache_limit{};
  /// Samples in a batch of one rank. Set exactly one of `batch_size` and `global_batch_size`.
  std::uint64_t batch_size = 0;
  /// Samples in a batch of all ranks together; a multiple of the number of (distinct) ranks.
  std::uint64_t global_batch_size = 0;
  /// Seed of the order, Python's `shuffle_seed`.
  std::uint64_t seed = 9176;
  /// Samples in an epoch over all ranks, "100k" or a number; 0: the sum of the streams.
  sample_count epoch_size{};
  /// A mix that changes during the run, in place of weights of the streams: phases that begin with
  /// a global batch, each with a weight for every stream. An epoch is then a number of whole global
  /// batches, and ends where a phase ends. A resumed run may have other phases if they have not
  /// begun.
  std::vector<mix_phase> phases{};
  /// Shuffles the samples of an epoch. On by default, unlike Python's.
  bool shuffle = true;
  /// The name of the shuffler, if the policies' shuffler is an `any_shuffler`.
  std::string shuffle_algo{};
  /// Samples within which the shuffle mixes. The default is max(4,000,000 / num_canonical_nodes,
  /// 262,144).
  std::optional<std::uint64_t> shuffle_block_size{};
  /// Parts that an epoch is divided into before it is dealt to nodes. The default is the number of
  /// nodes at the first epoch (64 times that for py1s and py2s).
  std::optional<std::uint64_t> num_canonical_nodes{};
  /// How a batch is built from several streams: `random`, `stratified`, `per_stream`,
  /// `device_per_stream` or, for validation, `once`.
  batching_method batching = batching_method::random;
  /// An epoch ends before the first batch that would be smaller than the others, on all ranks. Not
  /// with `batching_method::once`. Epochs of `phases` end so in any case.
  bool drop_last = false;
  /// Which samples of a shard that is used in part: `balanced` draws them for each epoch, `fixed`
  /// once for the run.
  sampling_method sampling = sampling_method::balanced;
  /// How many neighbours are drawn together from a shard that is used in part.
  std::uint64_t sampling_granularity = 1;
  /// `relaxed` lets a run resume on more numbers of nodes than `orig`.
  partition_algo partition = partition_algo::relaxed;
  /// How many of the next samples of this rank have their shards prefetched. The default is 64
  /// batches, at least 8,192 samples, and more (up to 262,144) until there are enough shards to
  /// fetch.
  std::optional<std::uint64_t> predownload{};
  /// All ranks of the run, and which of them this process is. The default is the launcher's
  /// environment (launch/environment.hpp).
  std::optional<mdstream::world> world{};
  /// Data-loader workers of the Python run that has the same order; threads are not workers. The
  /// default is the world's.
  std::optional<std::uint64_t> num_workers{};
  /// This many consecutive ranks (of tensor or pipeline parallelism) get the same samples.
  std::uint64_t replication = 1;
  /// `error`: the batch fails, and the error names the shard. `substitute`: the next shard of the
  /// stream is read in its place; the saved state records it.
  bad_shards on_bad_shard = bad_shards::error;
  /// `error`: the batch fails, and the error names the sample. `substitute`: the next good sample
  /// of the shard is read in its place. It is counted in `loader.bad_samples()` and in the state,
  /// `warn` gets the first of an epoch, and the thread pool builds batches, which copies each
  /// sample once more.
  bad_samples on_bad_sample = bad_samples::error;
  /// Bytes of prefetched batches, which the thread pool builds before the loop asks for them. With
  /// 0, the thread that asks for a batch builds it. The default is 256 MiB with a transform or with
  /// rows of text to parse, otherwise 0.
  std::optional<byte_size> prefetch_limit{};
  unsigned download_retry = 2;
  std::chrono::milliseconds download_timeout = std::chrono::seconds(60);
  std::chrono::milliseconds patience = default_patience;
  std::string validate_hash{};
  bool keep_zip = false;
  bool allow_unsafe_types = false;
  /// Gets warnings, from any thread. The default is the observer if it takes warnings, otherwise
  /// standard error.
  warning_function warn{};
  /// Threads for decompression, hashes, transforms and blocking stores. 0: this rank's part of the
  /// cores that the ranks of a node may use, but two at least. Not more than this process may use,
  /// so a launcher may bind ranks to cores.
  unsigned threads = 0;
  runtime* shared_runtime = nullptr;
};

}  // namespace mdstream::inline v0
