// mdstream stream: runs the real loader, as a trainer on this rank would.

#include <mdstream/collate/none.hpp>
#include <mdstream/full.hpp>
#include <mdstream/hash/xxhash.hpp>
#include <mdstream/launch/environment.hpp>
#include <mdstream/store/local.hpp>

#include "command.hpp"
#include "formats.hpp"
#include "loader_configuration.hpp"
#include "patience.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cli {

namespace {

// Samples as they are: collators do not take every column.
using uncollated = policies::with<mds::collate::none>;

using loader = mds::loader<uncollated>;
using dataset = mds::dataset<policies>;

struct stream_arguments {
  std::string config, state, save_state;
  std::optional<std::uint64_t> batches;
  bool digest = false, explain = false;
  std::optional<std::chrono::milliseconds> patience;  // else the configuration's
};

// The samples once more, as they lie in their shards: a batch may hold fewer of their columns.
class digester {
 public:
  explicit digester(const loader::options& of)
      : samples_({.streams = of.streams,
                  .remote = of.remote,
                  .local = of.local,
                  .split = of.split,
                  .cache_limit = of.cache_limit,
                  .allow_unsafe_types = of.allow_unsafe_types,
                  .threads = of.threads}) {}

  std::string operator()(std::span<const std::int64_t> ids) {
    auto hash = mds::hash::xxh64::open("xxh64");
    for (const std::int64_t id : ids) {
      const auto sample = samples_[static_cast<std::uint64_t>(id)];
      hash.update(sample.bytes());
    }
    return hash.hex();
  }

 private:
  dataset samples_;
};

class streaming {
 public:
  explicit streaming(const stream_arguments& args)
      : args_(args),
        configuration_(read_loader_configuration(args.config, args.patience)),
        loader_(configuration_.options) {
    if (!args.state.empty()) loader_.load_state(text_of_file(args.state));
    if (args.digest) digest_.emplace(configuration_.options);
  }

  /// What a run would do, without a batch of it.
  void explain() const {
    const std::string state = loader_.state();
    const mds::run_state start = mds::parse_state(state);
    const mds::run_identity& run = *start.identity;
    const mds::world& world = loader_.ranks();
    json streams = json::array();
    std::uint64_t bytes = 0;
    for (const mds::stream_info& each : loader_.streams()) {
      bytes += each.bytes;
      json stream = {{"name", each.name},
                     {"directory", each.directory},
                     {"shards", each.shards},
                     {"samples", each.samples},
                     {"bytes", each.bytes},
                     {"choose", each.choose},
                     {"proportion", each.proportion},
                     {"repeat", each.repeat}};
      if (!each.credentials.empty()) stream["credentials"] = each.credentials;
      streams.push_back(std::move(stream));
    }
    json nodes = json::array();
    for (const mds::node_info& each : loader_.nodes())
      nodes.push_back({{"shards", each.shards}, {"bytes", each.bytes}});
    print({{"streams", std::move(streams)},
           {"epoch",
            {{"number", loader_.next_epoch()},
             {"samples", loader_.epoch_size()},
             {"batches", loader_.batches_per_epoch()},
             {"batches_left", loader_.batches_left()},
             {"global_batch_size", run.global_batch_size}}},
           {"world",
            {{"nodes", world.nodes},
             {"ranks_per_node", world.ranks_per_node},
             {"rank", world.rank},
             {"batch_size", run.global_batch_size / world.num_ranks()}}},
           {"epoch_of_each_node", std::move(nodes)},
           {"order",
            {{"shuffle", run.shuffle},
             {"seed", start.at.shuffle_seed},
             {"num_canonical_nodes", start.at.num_canonical_nodes},
             {"shuffle_block_size", run.shuffle_block_size},
             {"batching", run.batching},
             {"sampling", run.sampling}}},
           {"cache",
            {{"directory", loader_.cache_directory()},
             {"limit", configuration_.options.cache_limit.value},
             {"bytes_of_all_shards", bytes}}},
           {"threads", loader_.threads()}});
  }

  void run() {
    const auto start = std::chrono::steady_clock::now();
    const std::uint64_t end = configuration_.epochs.value_or(loader_.next_epoch() + 1);
    while (loader_.next_epoch() < end && !enough()) {
      for (auto& batch : loader_.epoch()) {
        show(batch);
        if (enough()) break;
      }
    }
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    print({{"summary",
            {{"samples", samples_},
             {"samples_per_s", static_cast<double>(samples_) / time.count()},
             {"bytes_fetched", loader_.counters().bytes_fetched},
             {"stall_s", std::chrono::duration<double>(loader_.stalled()).count()}}}});
  }

 private:
  [[nodiscard]] bool enough() const { return args_.batches && batches_ >= *args_.batches; }

  void show(const loader::batch_type& batch) {
    const auto ids = batch.ids().first(batch.real_size());  // the others are padding
    json line = {{"epoch", batch.epoch()},
                 {"batch", batch.number()},
                 {"ids", std::vector<std::int64_t>(ids.begin(), ids.end())}};
    if (digest_) line["digest"] = (*digest_)(ids);
    print(line);
    samples_ += ids.size();
    ++batches_;
    if (!args_.save_state.empty()) save();
  }

  // The store replaces a file at once, so that a reader finds a whole state.
  void save() {
    const std::filesystem::path path = std::filesystem::absolute(args_.save_state);
    const std::string text = loader_.state();
    mds::store::local(path.parent_path().string())
        .write(path.filename().string(), mds::as_bytes(text));
  }

  stream_arguments args_;
  loader_configuration configuration_;
  loader loader_;
  std::optional<digester> digest_;
  std::uint64_t samples_ = 0, batches_ = 0;
};

}  // namespace

void add_stream(CLI::App& program) {
  auto args = std::make_shared<stream_arguments>();
  CLI::App* const command = program.add_subcommand(
      "stream", "Run the loader on this rank; a JSON line a batch, and a summary");
  command->add_option("--config", args->config, "JSON object with StreamingDataset's arguments")
      ->required()
      ->type_name("FILE");
  command->add_option("--state", args->state, "Continue from this saved state")->type_name("FILE");
  command->add_option("--save-state", args->save_state, "Save the state here after every batch")
      ->type_name("FILE");
  command->add_option("--batches", args->batches, "Stop after this many batches");
  command->add_flag("--digest", args->digest, "Add the XXH64 of each batch's raw samples");
  add_patience(*command, [&of = *args](std::chrono::milliseconds most) { of.patience = most; });
  command
      ->add_flag("--explain", args->explain,
                 "Say what would be streamed, as JSON, and fetch no shard: streams, their mix and "
                 "whose credentials, batches of an epoch, world, shards of each node, order, bytes "
                 "of the cache, threads")
      ->excludes("--digest")
      ->excludes("--batches")
      ->excludes("--save-state");
  command->callback([args] {
    streaming run(*args);
    args->explain ? run.explain() : run.run();
  });
}

}  // namespace cli
