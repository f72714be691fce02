// The cache over several epochs and processes: downloads under a limit beside the fewest that are
// possible, processes that share one copy of each shard, memory.
//
//   bench_cache DIRECTORY

#include "support/epochs.hpp"
#include "support/harness.hpp"
#include "tests/support/nginx.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace fs = std::filesystem;
using bench::contender;
using bench::turn;

constexpr int turns = 5;

struct place {
  explicit place(const fs::path& root)
      : data(fs::absolute(root) / "epoch"),
        state(data.string() + "-nginx"),
        cache(data.string() + "-cache") {
    fs::create_directories(data);
    bench::write_once(data / "small", {"samples=65536", "size_limit=2097152"});
    shards = bench::shard_files(data / "small").size();
  }

  fs::path data;
  bench::fresh_directory state, cache;
  std::size_t shards = 0;
};

using batch = std::vector<std::uint32_t>;  // the distinct shards of one

/// A raw shard begins with the number of its samples; all but the last one have the same.
std::uint64_t samples_of(const fs::path& shard) {
  std::uint32_t count = 0;
  std::ifstream(shard, std::ios::binary).read(reinterpret_cast<char*>(&count), sizeof count);
  return count;
}

std::vector<batch> batches_of(const std::string& file, std::uint64_t shard_samples) {
  std::vector<batch> out;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream ids(line);
    std::set<std::uint32_t> distinct;
    for (std::uint64_t id; ids >> id;)
      distinct.insert(static_cast<std::uint32_t>(id / shard_samples));
    out.emplace_back(distinct.begin(), distinct.end());
  }
  return out;
}

/// The fewest downloads with room for so many shards: what goes is what is needed farthest in the
/// future (Belady), of that which the batch at hand does not hold. The whole run is known.
std::size_t fewest_downloads(const std::vector<batch>& batches, std::size_t shards,
                             std::size_t room) {
  std::vector<std::vector<std::size_t>> uses(shards);
  for (std::size_t t = 0; t < batches.size(); ++t)
    for (const std::uint32_t shard : batches[t]) uses[shard].push_back(t);
  std::vector<bool> here(shards);
  std::size_t held = 0, downloads = 0;
  for (std::size_t t = 0; t < batches.size(); ++t) {
    for (const std::uint32_t shard : batches[t]) {
      if (here[shard]) continue;
      if (held == room) {
        std::size_t farthest = 0;
        std::uint32_t victim = 0;
        for (std::uint32_t each = 0; each < shards; ++each) {
          if (!here[each] || std::ranges::binary_search(batches[t], each)) continue;
          const auto next = std::ranges::upper_bound(uses[each], t);
          const std::size_t use = next == uses[each].end() ? batches.size() : *next;
          if (use >= farthest) {
            farthest = use;
            victim = each;
          }
        }
        here[victim] = false;
        --held;
      }
      here[shard] = true;
      ++held;
      ++downloads;
    }
  }
  return downloads;
}

/// Ten epochs: the loader, which is not told the last one, has fetched the first shards of an
/// eleventh by its end; over three epochs that alone would be 3 % of the downloads.
void limited_downloads(const place& here, const std::string& url) {
  for (const int percent : {10, 30, 60}) {
    const std::string name = "downloads, limit of " + std::to_string(percent) + " %";
    if (!bench::is_wanted(name)) continue;
    const std::uint64_t shard_bytes = fs::file_size(here.data / "small" / "shard.00000.mds");
    const std::uint64_t shard_samples = samples_of(here.data / "small" / "shard.00000.mds");
    const std::size_t room = here.shards * static_cast<std::size_t>(percent) / 100;
    // Something to spare, but no place for the last shard, which is smaller than the others.
    const fs::path last = here.data / "small" / bench::shard_files(here.data / "small").back();
    const std::uint64_t limit = fs::file_size(here.data / "small" / "index.json") +
                                room * shard_bytes + fs::file_size(last) / 2;
    const std::string ids = here.state.path() + "/ids";
    std::vector<std::size_t> fetched, fewest;
    const auto measure = [&] {
      here.cache.empty();
      const auto got = bench::run_reader({"read", url, here.cache.path(), "epochs=10", "block=3069",
                                          "limit=" + std::to_string(limit), "ids=" + ids});
      return got["fetched"];
    };
    // As rates of 1 / downloads, so that more is better.
    double optimum = 0;
    bench::run_case(
        "cache", name, "1/downloads",
        {contender::measured("mdstream",
                             [&] {
                               const double downloads = measure();
                               optimum = static_cast<double>(fewest_downloads(
                                   batches_of(ids, shard_samples), here.shards, room));
                               return turn{1, downloads, 0, 0};
                             }),
         contender::measured("limit:offline optimum", [&] { return turn{1, optimum, 0, 0}; })},
        turns);
  }
}

double total_rate(const std::vector<bench::reading>& readers) {
  double sum = 0;
  for (const bench::reading& each : readers) sum += each["samples"] / each["seconds"];
  return sum;
}

void eight_processes(const place& here, const std::string& url) {
  const std::string name = "eight processes on one cache";
  if (!bench::is_wanted(name)) return;
  const std::vector<std::string> once{"read", url, here.cache.path(), "threads=1"};
  const std::vector<std::vector<std::string>> cold(8, once);
  here.cache.empty();
  double fetched = 0;
  for (const bench::reading& each : bench::run_readers(cold)) fetched += each["fetched"];
  std::printf(
      "{\"bench\":\"cache\",\"case\":\"%s, cold\",\"who\":\"mdstream\",\"value\":%.4g,"
      "\"unit\":\"downloads of each shard\"}\n",
      name.c_str(), fetched / static_cast<double>(here.shards));
  std::vector<std::string> warm = once;
  warm.push_back("seconds=3");
  const double cores = std::min(std::max(std::thread::hardware_concurrency(), 1U), 8U);
  bench::run_case(
      "cache", name, "samples/s",
      {contender::measured("mdstream",
                           [&] {
                             return turn{total_rate(bench::run_readers(
                                             std::vector<std::vector<std::string>>(8, warm))),
                                         1, 0, 0};
                           }),
       contender::measured(
           "limit:0.8 x cores x one process",
           [&] { return turn{0.8 * cores * total_rate(bench::run_readers({warm})), 1, 0, 0}; })},
      turns);
}

void memory(const place& here, const std::string& url) {
  const std::string name = "memory of its own, ten epochs";
  if (!bench::is_wanted(name)) return;
  for (const bool limited : {false, true}) {
    here.cache.empty();
    std::vector<std::string> words{"read", url, here.cache.path(), "epochs=10"};
    if (limited) words.insert(words.end(), {"limit=30000000", "block=3069"});
    const bench::reading got = bench::run_reader(words);
    const char* const variant = limited ? ", limited" : "";
    for (const char* when : {"own_first", "own"})
      std::printf(
          "{\"bench\":\"cache\",\"case\":\"%s%s, %s\",\"who\":\"mdstream\",\"value\":%.1f,"
          "\"unit\":\"MiB\"}\n",
          name.c_str(), variant,
          std::string(when) == "own" ? "the most of any epoch" : "after the first", got[when]);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const place here(argc > 1 ? argv[1] : "build/bench-data");
  const support::nginx server(here.data, here.state.path(), {});
  const std::string url = server.url() + "/small";
  limited_downloads(here, url);
  eight_processes(here, url);
  memory(here, url);
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s: %s\n", argv[0], e.what());  // caught, so that the server ends
  return 1;
}
