// What the benchmarks of whole epochs start as processes of their own: it writes their datasets,
// reads them through a cache as a trainer does, and takes the time of what no reader can do
// without.
//
//   bench_reader write DIRECTORY samples=N size_limit=BYTES [compression=zstd:3] [tiny=1]
//                                                     samples of 2 KiB, or 64 B
//   bench_reader read REMOTE LOCAL [KEY=VALUE...]    the keys: `settings` below
//   bench_reader parts REMOTE LOCAL                  of the time to a first batch
//   bench_reader index DIRECTORY                     the time to read an index
//
// Each prints one line of `key=value` words.

#include <mdstream/codec/zstd.hpp>
#include <mdstream/launch/environment.hpp>
#include <mdstream/mdstream.hpp>
#include <mdstream/order/order_engine.hpp>
#include <mdstream/order/shuffle.hpp>
#include <mdstream/store/http.hpp>

#include "support/datasets.hpp"
#include "support/harness.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <future>
#include <limits>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace mds = mdstream;
using clock_type = std::chrono::steady_clock;
using words = std::map<std::string, std::string>;

constexpr std::size_t batch_size = 32;
constexpr std::size_t row = 2048, tiny_row = 64;

template <std::size_t Bytes>
using schema_of = mds::schema<mds::column<"x", mds::ndarray<std::uint8_t, Bytes>>>;
using remote_store = mds::any_store<mds::store::local, mds::store::http>;

using policies = mds::policies<remote_store, mds::any_codec<mds::codec::none, mds::codec::zstd>,
                               mds::shuffle::py1e>;

double seconds_since(clock_type::time_point begin) {
  return std::chrono::duration<double>(clock_type::now() - begin).count();
}

std::uint64_t number(const words& given, const std::string& key, std::uint64_t otherwise) {
  const auto at = given.find(key);
  return at == given.end() ? otherwise : std::stoull(at->second);
}

/// Bytes of the heap and the stack, not of mapped files, in MiB.
double own_memory_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssAnon:")) return std::stod(line.substr(8)) / 1024;
  return 0;
}

template <std::size_t Bytes>
void write_samples(const std::string& where, const words& given) {
  const auto compression = given.find("compression");
  mds::writer<bench::policies<schema_of<Bytes>>> out(
      {.out = bench::cached_directory(where),
       .compression = compression == given.end() ? "" : compression->second,
       .size_limit = number(given, "size_limit", 64 << 20)});
  const std::vector<std::byte> text = bench::text_bytes(std::size_t{8} << 20);
  std::vector<std::uint8_t> sample(Bytes);
  for (std::uint64_t i = 0, n = number(given, "samples", 0); i < n; ++i) {
    std::memcpy(sample.data(), text.data() + i * 7919 % (text.size() - Bytes), Bytes);
    std::memcpy(sample.data(), &i, sizeof i);
    out.write(sample);
  }
  out.finish();
  std::puts("written=1");
}

/// The samples that stand for themselves: a wrong one would have another number.
void check(const auto& batch, std::int64_t same) {
  const auto rows = batch.template dense<std::uint8_t>("x");
  for (std::size_t i = 0; i < batch.size(); ++i) {
    std::uint64_t number = 0;
    std::memcpy(&number, rows[i].data(), sizeof number);
    if (number != static_cast<std::uint64_t>(batch.ids()[i] % same))
      throw std::runtime_error("a sample is not the one that was asked for");
  }
}

double quantile(std::vector<double> of, double part) {
  if (of.empty()) return 0;
  const auto at = static_cast<std::size_t>(part * static_cast<double>(of.size() - 1));
  std::nth_element(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(at), of.end());
  return of[at];
}

struct settings {
  explicit settings(const words& given)
      : epochs(number(given, "epochs", 1)),
        stop_after(number(given, "stop_after", 0)),
        step(std::chrono::microseconds(number(given, "step_us", 0))),
        seconds(number(given, "seconds", 0)),
        from(number(given, "from", 0)),
        same(static_cast<std::int64_t>(
            number(given, "same", std::numeric_limits<std::int64_t>::max()))) {
    if (given.contains("ids")) ids.open(given.at("ids"));
  }
  std::uint64_t epochs;            // whole ones
  std::uint64_t stop_after;        // batches of each epoch; 0: all
  std::chrono::microseconds step;  // what a training step takes
  std::uint64_t seconds;           // reads epochs until these are over; 0: `epochs`
  std::uint64_t from;              // resumed behind so many samples
  std::int64_t same;               // so many samples come again and again; else all differ
  std::ofstream ids;               // the samples of each batch, a line a batch
};

void read_dataset(const std::string& remote, const std::string& local, const words& given) {
  settings how(given);
  const auto begin = clock_type::now();
  mds::loader<policies> loader(
      {.remote = remote,
       .local = local,
       .cache_limit = number(given, "limit", 0),
       .batch_size = batch_size,
       .shuffle_block_size =
           given.contains("block") ? std::optional(number(given, "block", 0)) : std::nullopt,
       .predownload = given.contains("predownload") ? std::optional(number(given, "predownload", 0))
                                                    : std::nullopt,
       .threads = static_cast<unsigned>(number(given, "threads", 0))});
  if (how.from != 0)
    loader.load_state("{\"epoch\": 0, \"sample_in_epoch\": " + std::to_string(how.from) +
                      ", \"num_canonical_nodes\": 1, \"shuffle_seed\": 9176, "
                      "\"initial_physical_nodes\": 1}");
  double first = 0, boundary = 0, early_memory = 0, most_memory = 0;
  std::vector<double> steps;
  std::uint64_t samples = 0, epoch = 0;
  mds::loader<policies>::batch_type batch;
  auto asked = begin;
  for (bool more = true; more; ++epoch) {
    auto walk = loader.epoch();
    std::uint64_t batches = 0;
    while (true) {
      // The step into an epoch began when the one before was asked for more.
      if (batches != 0) asked = clock_type::now();
      if (!walk.next(batch)) break;
      const double took = seconds_since(asked);
      if (first == 0)
        first = seconds_since(begin);
      else if (batches == 0)
        boundary = std::max(boundary, took);
      else
        steps.push_back(took);
      check(batch, how.same);
      samples += batch.size();
      if (how.ids.is_open()) {
        for (const std::int64_t id : batch.ids()) how.ids << id << ' ';
        how.ids << '\n';
      }
      if (how.step.count() != 0) std::this_thread::sleep_for(how.step);
      if (++batches == how.stop_after) break;
      if (how.seconds != 0 && seconds_since(begin) > static_cast<double>(how.seconds)) break;
    }
    const auto counting = clock_type::now();
    const double memory = own_memory_mb();
    if (epoch == 0) early_memory = memory;
    most_memory = std::max(most_memory, memory);
    asked += clock_type::now() - counting;  // no part of a step, but many times as long as one
    more = how.seconds != 0 ? seconds_since(begin) < static_cast<double>(how.seconds)
                            : epoch + 1 < how.epochs;
  }
  const mds::cache_counters counted = loader.counters();
  std::printf(
      "samples=%llu seconds=%.6f first=%.6f boundary=%.6f p99=%.6f longest=%.6f fetched=%llu "
      "evicted=%llu own_first=%.1f own=%.1f rss=%.1f\n",
      static_cast<unsigned long long>(samples), seconds_since(begin), first, boundary,
      quantile(steps, 0.99), quantile(steps, 1),
      static_cast<unsigned long long>(counted.shards_fetched),
      static_cast<unsigned long long>(counted.shards_evicted), early_memory, most_memory,
      bench::resident_mb());
}

/// Index, order and shards of a first batch one after the other, each as fast as it goes alone.
void time_parts(const std::string& remote) {
  mds::runtime threads;
  const mds::store::http store(threads, remote);
  auto begin = clock_type::now();
  const std::vector<std::byte> text = mds::read_all(store, "index.json");
  const double transfer = seconds_since(begin);
  begin = clock_type::now();
  const mds::dataset_index index = mds::dataset_index::parse(mds::as_text(text));
  const double parse = seconds_since(begin);
  begin = clock_type::now();
  std::vector<mds::stream_shards> streams(1);
  streams[0].samples = index.shard_sizes();
  const mds::order_engine<mds::shuffle::py1e> engine(streams, {.shuffle = true}, {});
  mds::progress run = engine.begin_run();
  const mds::world one;
  const mds::epoch_order order = engine.epoch(one, batch_size, run.begin_epoch(one), nullptr);
  std::vector<std::int64_t> ids(batch_size);
  order.ids(0, ids);
  const double first_ids = seconds_since(begin);
  const mds::detail::shard_locator locate(index.shard_sizes());
  std::vector<std::uint32_t> shards;
  for (const std::int64_t id : ids) shards.push_back(locate(static_cast<std::uint64_t>(id)).shard);
  std::ranges::sort(shards);
  shards.erase(std::ranges::unique(shards).begin(), shards.end());
  begin = clock_type::now();
  std::vector<std::vector<std::byte>> into(shards.size());
  std::vector<std::promise<void>> done(shards.size());
  std::vector<mds::diagnostics> where(shards.size());
  for (std::size_t i = 0; i < shards.size(); ++i) {
    into[i].resize(index.raw(shards[i]).bytes);
    store.async_read(std::string(index.raw(shards[i]).name), 0, into[i], {}, where[i],
                     [&, i](std::error_code code, std::size_t) {
                       if (code) std::abort();
                       done[i].set_value();
                     });
  }
  for (std::promise<void>& each : done) each.get_future().wait();
  const double fetch = seconds_since(begin);
  std::printf("transfer=%.6f parse=%.6f first_ids=%.6f shards=%.6f\n", transfer, parse, first_ids,
              fetch);
}

void time_index(const std::string& directory) {
  const auto begin = clock_type::now();
  const std::vector<std::byte> text = mds::read_all(mds::store::local(directory), "index.json");
  const mds::dataset_index index = mds::dataset_index::parse(mds::as_text(text));
  std::printf("read=%.6f shards=%llu\n", seconds_since(begin),
              static_cast<unsigned long long>(index.shards()));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 2 ? argv[1] : "";
  words given;
  for (int i = what == "write" ? 3 : 4; i < argc; ++i) {
    const std::string word = argv[i];
    given[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
  }
  try {
    if (what == "write")
      given.contains("tiny") ? write_samples<tiny_row>(argv[2], given)
                             : write_samples<row>(argv[2], given);
    else if (what == "read" && argc > 3)
      read_dataset(argv[2], argv[3], given);
    else if (what == "parts")
      time_parts(argv[2]);
    else if (what == "index")
      time_index(argv[2]);
    else
      return 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_reader: %s\n", e.what());
    return 1;
  }
}
