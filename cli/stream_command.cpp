// mdstream stream: runs the real loader, as a trainer on this rank would.

#include <mdstream/full.hpp>
#include <mdstream/hash/xxhash.hpp>
#include <mdstream/launch/environment.hpp>
#include <mdstream/store/local.hpp>

#include "command.hpp"
#include "formats.hpp"
#include "patience.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cli {

namespace {

using loader = mds::loader<policies>;
using stream = mds::stream_options;
using dataset = mds::dataset<policies>;

struct stream_arguments {
  std::string config, state, save_state;
  std::optional<std::uint64_t> batches;
  bool digest = false;
  std::optional<std::chrono::milliseconds> patience;  // else the configuration's
};

// What a configuration says beside the loader's own options.
struct configuration {
  loader::options options{};
  std::optional<std::uint64_t> epochs{};  // of the whole run; unset: the one at hand
};

using readers = std::map<std::string, std::function<void(const json&)>>;

// Calls for each member the reader of its name; names that have none, and values of a wrong type,
// are faults of the configuration. Null leaves the default.
void read_members(const json& object, const std::string& what, const readers& known) {
  if (!object.is_object()) throw usage_error(what + " has to be a JSON object");
  for (const auto& [key, value] : object.items()) {
    const auto reader = known.find(key);
    if (reader == known.end()) throw usage_error(what + " has no option \"" + key + '"');
    if (value.is_null()) continue;
    try {
      reader->second(value);
    } catch (const json::exception& e) {
      throw usage_error(what + ": option \"" + key + "\" cannot be " + value.dump());
    }
  }
}

template <class T>
auto into(T& target) {
  return [&target](const json& value) { target = value.get<T>(); };
}
template <class T>
auto into(std::optional<T>& target) {
  return [&target](const json& value) { target = value.get<T>(); };
}
// Sizes and counts, as numbers or as texts such as "10gb" and "100k".
template <class Size>
auto sized(Size& target) {
  return [&target](const json& value) {
    target = value.is_string() ? Size(std::string_view(value.get_ref<const std::string&>()))
                               : Size(value.get<std::uint64_t>());
  };
}
template <class Time>
auto seconds(Time& target) {
  return [&target](const json& value) {
    target = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::duration<double>(value.get<double>()));
  };
}
template <class T, class Parse>
auto named(T& target, Parse parse) {
  return [&target, parse](const json& value) {
    const auto found = parse(value.get<std::string>());
    if (!found) throw usage_error("there is no " + value.dump());
    target = *found;
  };
}

mds::raw::options raw_of(const json& given) {
  mds::raw::options out;
  read_members(given, "raw",
               {{"format", into(out.format)},
                {"files", into(out.files)},
                {"columns",
                 [&](const json& all) {
                   for (const json& each : all)
                     out.columns.push_back(mds::raw::parse_column(each.get<std::string>()));
                 }},
                {"null_value", [&](const json& value) { out.null_value = value.dump(); }},
                {"shard_bytes", sized(out.shard_bytes)},
                {"max_row_bytes", sized(out.max_row_bytes)},
                {"skip_bad", into(out.skip_bad)},
                {"delimiter", into(out.delimiter)},
                {"unit", into(out.unit)},
                {"window", into(out.window)},
                {"stride", into(out.stride)},
                {"dtype", into(out.dtype)},
                {"document_token", into(out.document_token)},
                {"document_token_last", into(out.document_token_last)}});
  return out;
}

stream stream_of(const json& given) {
  stream out;
  read_members(given, "a stream",
               {{"remote", into(out.remote)},
                {"local", into(out.local)},
                {"split", into(out.split)},
                {"raw", [&](const json& value) { out.raw = raw_of(value); }},
                {"proportion", into(out.proportion)},
                {"repeat", into(out.repeat)},
                {"choose", into(out.choose)},
                {"download_retry", into(out.download_retry)},
                {"download_timeout", seconds(out.download_timeout)},
                {"patience", seconds(out.patience)},
                {"validate_hash", into(out.validate_hash)},
                {"keep_zip", into(out.keep_zip)}});
  return out;
}

configuration configuration_of(const json& given) {
  configuration out;
  loader::options& o = out.options;
  o.shuffle = false;  // as in Python
  read_members(given, "the configuration",
               {{"streams",
                 [&](const json& all) {
                   for (const json& each : all) o.streams.push_back(stream_of(each));
                 }},
                {"remote", into(o.remote)},
                {"local", into(o.local)},
                {"split", into(o.split)},
                {"download_retry", into(o.download_retry)},
                {"download_timeout", seconds(o.download_timeout)},
                {"patience", seconds(o.patience)},
                {"validate_hash", into(o.validate_hash)},
                {"keep_zip", into(o.keep_zip)},
                {"epoch_size", sized(o.epoch_size)},
                {"predownload", into(o.predownload)},
                {"cache_limit", sized(o.cache_limit)},
                {"sampling_method", named(o.sampling, mds::parse_sampling_method)},
                {"sampling_granularity", into(o.sampling_granularity)},
                {"partition_algo", named(o.partition, mds::parse_partition_algo)},
                {"num_canonical_nodes", into(o.num_canonical_nodes)},
                {"batch_size", into(o.batch_size)},
                {"global_batch_size", into(o.global_batch_size)},
                {"shuffle", into(o.shuffle)},
                {"shuffle_algo", into(o.shuffle_algo)},
                {"shuffle_seed", into(o.seed)},
                {"shuffle_block_size", into(o.shuffle_block_size)},
                {"batching_method", named(o.batching, mds::parse_batching_method)},
                {"replication", into(o.replication)},
                // Pickles are bytes here, which nothing executes.
                {"allow_unsafe_types", [](const json& value) { (void)value.get<bool>(); }},
                {"num_workers", into(o.num_workers)},
                {"threads", into(o.threads)},
                {"epochs", into(out.epochs)}});
  return out;
}

std::string text_of(const std::string& path) {
  if (std::filesystem::is_directory(path)) {
    throw mds::error(mds::errc::invalid_argument, {.what = "is a directory, no file", .url = path});
  }
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  if (!file) throw mds::error(mds::errc::not_found, {.what = "cannot be read", .url = path});
  return text;
}

json parsed(const std::string& path) {
  try {
    return json::parse(text_of(path));
  } catch (const json::parse_error& e) {
    throw usage_error(path + " is no JSON: at byte " + std::to_string(e.byte));
  }
}

// The samples once more, as they lie in their shards: a batch holds them collated.
class digester {
 public:
  explicit digester(const loader::options& of)
      : samples_({.streams = of.streams,
                  .remote = of.remote,
                  .local = of.local,
                  .split = of.split,
                  .cache_limit = of.cache_limit,
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

configuration configuration_with(const stream_arguments& args) {
  configuration out = configuration_of(parsed(args.config));
  if (args.patience) out.options.patience = *args.patience;
  return out;
}

class streaming {
 public:
  explicit streaming(const stream_arguments& args)
      : args_(args), configuration_(configuration_with(args)), loader_(configuration_.options) {
    if (!args.state.empty()) loader_.load_state(text_of(args.state));
    if (args.digest) digest_.emplace(configuration_.options);
  }

  void run() {
    const auto start = std::chrono::steady_clock::now();
    std::uint64_t epoch = next_epoch();
    const std::uint64_t end = configuration_.epochs.value_or(epoch + 1);
    for (; epoch < end && !enough(); ++epoch) {
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
  // The epoch that a run begins with, or goes on in.
  [[nodiscard]] std::uint64_t next_epoch() const {
    const std::int64_t epoch = mds::parse_state(loader_.state()).at.epoch;
    return static_cast<std::uint64_t>(std::max<std::int64_t>(epoch, 0));
  }

  [[nodiscard]] bool enough() const { return args_.batches && batches_ >= *args_.batches; }

  void show(const loader::batch_type& batch) {
    const auto ids = batch.ids();
    json line = {{"epoch", batch.epoch()},
                 {"batch", batch.number()},
                 {"ids", std::vector<std::int64_t>(ids.begin(), ids.end())}};
    if (digest_) line["digest"] = (*digest_)(ids);
    print(line);
    samples_ += ids.size();
    ++batches_;
    if (!args_.save_state.empty()) save();
  }

  // The store replaces a file at once, so that whoever reads it finds a whole state.
  void save() {
    const std::filesystem::path path = std::filesystem::absolute(args_.save_state);
    const std::string text = loader_.state();
    mds::store::local(path.parent_path().string())
        .write(path.filename().string(), mds::as_bytes(text));
  }

  stream_arguments args_;
  configuration configuration_;
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
  command->add_option("--state", args->state, "Go on from this saved state")->type_name("FILE");
  command->add_option("--save-state", args->save_state, "Save the state here after every batch")
      ->type_name("FILE");
  command->add_option("--batches", args->batches, "Stop after so many batches");
  command->add_flag("--digest", args->digest, "Add the XXH64 of each batch's raw samples");
  add_patience(*command, [&of = *args](std::chrono::milliseconds most) { of.patience = most; });
  command->callback([args] { streaming(*args).run(); });
}

}  // namespace cli
