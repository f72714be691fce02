// A first epoch from a web server on loopback into the cache, beside what the machine can do: a
// plain copy of the same shards, their decompression alone. Each turn is a process of its own with
// an empty cache; the server has the files in memory.
//
//   bench_epoch DIRECTORY

#include "support/epochs.hpp"
#include "support/harness.hpp"
#include "support/peer.hpp"
#include "support/program.hpp"
#include "tests/support/nginx.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace fs = std::filesystem;
using bench::contender;
using bench::turn;

constexpr int turns = 5;
constexpr int short_turns = 25;  // of a fifth of a second, which move by half
constexpr double samples = 1 << 19, more_samples = 1 << 20;  // of 2 KiB: 1 and 2 GiB
constexpr const char* wide = "block=262144";                 // of the shuffle, in samples

struct place {
  explicit place(const fs::path& root)
      : data(fs::absolute(root) / "epoch"),
        state(data.string() + "-nginx"),
        cache(data.string() + "-cache"),
        copies(data.string() + "-copies") {
    fs::create_directories(data);
  }
  [[nodiscard]] std::string of(const std::string& name) const { return (data / name).string(); }

  fs::path data;
  bench::fresh_directory state, cache, copies;
};

/// A first epoch in a process of its own; from its start to its end.
contender first_epoch(const place& here, const std::string& url, std::vector<std::string> more,
                      double expected = samples) {
  more.insert(more.begin(), {"read", url, here.cache.path()});
  return contender::measured("mdstream", [&here, more, expected] {
    here.cache.empty();
    const bench::reading got = bench::run_reader(more);
    if (got["samples"] != expected) throw std::runtime_error("samples are missing");
    return turn{expected, got.seconds, got.cpu_s, got["rss"]};
  });
}

contender program(const place& here, const std::string& who, std::vector<std::string> words,
                  double copied = samples) {
  return contender::measured(who, [&here, words, copied] {
    here.copies.empty();
    const bench::program_cost cost = bench::run_program(words);
    return turn{copied, cost.seconds, cost.cpu_s, cost.resident_mb};
  });
}

struct raw_epoch {
  std::string name, dataset;
  double samples;
  std::vector<std::string> shuffle;
  bool with_peers = false;
};

/// The reader beside a plain copy of the same shards, and, where asked, beside other libraries.
void first_raw_epoch(const place& here, const std::string& server, const raw_epoch& asked) {
  if (!bench::is_wanted(asked.name)) return;
  const std::string directory = here.of(asked.dataset), url = server + "/" + asked.dataset;
  bench::write_once(directory, {"samples=" + std::to_string(std::uint64_t(asked.samples))});
  const std::string list = here.state.path() + "/" + asked.dataset;
  std::ofstream lines(list);
  for (const std::string& shard : bench::shard_files(directory))
    lines << url << '/' << shard << '\n';
  lines.close();
  const auto peers =
      asked.with_peers ? bench::peers_of("epoch", asked.name, directory) : std::vector<contender>{};
  bench::run_case("epoch", asked.name, "samples/s",
                  bench::with({first_epoch(here, url, asked.shuffle, asked.samples),
                               program(here, "limit:mdstream copy",
                                       {BENCH_MDSTREAM, "copy", "--list", list, here.copies.path()},
                                       asked.samples)},
                              peers),
                  turns);
}

void first_epochs(const place& here, const std::string& server) {
  setenv("MDSTREAM_BENCH_URL", server.c_str(), 1);
  for (const raw_epoch& each :
       {raw_epoch{"first epoch, raw", "raw", samples, {wide}, true},
        raw_epoch{"first epoch, raw, 2 GiB", "more", more_samples, {wide}},
        raw_epoch{"first epoch, raw, shuffled over all shards", "raw", samples, {}}}) {
    first_raw_epoch(here, server, each);
  }

  if (!bench::is_wanted("first epoch, zstd")) return;
  bench::write_once(here.of("zstd"), {"samples=524288", "compression=zstd:3"});
  const std::string cores = std::to_string(std::max(std::thread::hardware_concurrency(), 1U));
  const std::string unzip = "cd " + here.of("zstd") + " && ls shard.* | xargs -P " + cores +
                            " -I{} zstd -dqf {} -o " + here.copies.path() + "/{}.raw";
  // Fetching and decompressing as the reader does, at the same time; reading is not in it.
  const std::string fetch_and_unzip = "ls " + here.of("zstd") + " | grep shard | xargs -P " +
                                      cores + " -I{} sh -c 'curl -sSf " + server +
                                      "/zstd/{} | zstd -dq -o " + here.copies.path() + "/{}.raw'";
  bench::run_case("epoch", "first epoch, zstd", "samples/s",
                  {first_epoch(here, server + "/zstd", {wide}),
                   program(here, "limit:zstd -d", {"sh", "-c", unzip}),
                   program(here, "limit:curl | zstd -d", {"sh", "-c", fetch_and_unzip})},
                  turns);
}

/// Seconds as turns: the shorter, the better.
contender seconds_of(const std::string& who, std::function<double()> measure) {
  return contender::measured(who,
                             [measure = std::move(measure)] { return turn{1, measure(), 0, 0}; });
}

void time_to_first_batch(const place& here, const std::string& server) {
  if (!bench::is_wanted("time to first batch") && !bench::is_wanted("resume")) return;
  bench::write_once(here.of("many"), {"tiny=1", "samples=400000", "size_limit=480"});
  const std::string url = server + "/many";
  const auto first = [&here, url](const std::string& from) {
    return [&here, url, from] {
      here.cache.empty();
      return bench::run_reader({"read", url, here.cache.path(), "stop_after=1", from})["first"];
    };
  };
  const std::string shards = std::to_string(bench::shard_files(here.of("many")).size());
  bench::run_case("epoch", "time to first batch, " + shards + " shards", "1/s",
                  {seconds_of("mdstream", first("from=0")),
                   seconds_of("limit:1.2 x its parts + 50 ms",
                              [&] {
                                const auto part = bench::run_reader({"parts", url, "-"});
                                return 1.2 * (part["transfer"] + part["parse"] + part["first_ids"] +
                                              part["shards"]) +
                                       0.05;
                              })},
                  short_turns);
  bench::run_case("epoch", "resume in the middle, " + shards + " shards", "1/s",
                  {seconds_of("mdstream", first("from=199680")),
                   seconds_of("limit:cold start", first("from=0"))},
                  short_turns);
}

/// Epochs behind each other: the step into the next one, beside those within.
void boundary(const place& here, const std::string& server, const std::string& name,
              const std::vector<std::string>& more) {
  if (!bench::is_wanted(name)) return;
  bench::write_once(here.of("small"), {"samples=65536", "size_limit=2097152"});
  const std::vector<bench::reading> all = [&] {
    std::vector<bench::reading> out;
    for (int i = 0; i < turns; ++i) {
      here.cache.empty();
      std::vector<std::string> words{"read", server + "/small", here.cache.path(), "epochs=3"};
      words.insert(words.end(), more.begin(), more.end());
      out.push_back(bench::run_reader(words));
    }
    return out;
  }();
  std::size_t at = 0, of = 0;
  bench::run_case(
      "epoch", name, "1/s",
      {seconds_of("mdstream", [&] { return std::max(all[at++ % all.size()]["boundary"], 1e-9); }),
       seconds_of("limit:p99 within an epoch", [&] { return all[of++ % all.size()]["p99"]; })},
      turns);
}

}  // namespace

int main(int argc, char** argv) try {
  const place here(argc > 1 ? argv[1] : "build/bench-data");
  const support::nginx server(here.data, here.state.path(), {});
  first_epochs(here, server.url());
  time_to_first_batch(here, server.url());
  boundary(here, server.url(), "epoch boundary, 1 ms a step", {"step_us=1000"});
  boundary(here, server.url(), "epoch boundary, no work", {});
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s: %s\n", argv[0], e.what());  // caught, so that the server ends
  return 1;
}
