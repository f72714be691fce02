// What a start costs that goes on where a process was killed, with what that had in its cache,
// beside a start from the beginning.
//
//   bench_restart DIRECTORY

#include "support/epochs.hpp"
#include "support/harness.hpp"

#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace fs = std::filesystem;
using bench::contender;
using bench::turn;

constexpr int turns = 7;

/// Seconds as turns: the shorter, the better.
template <class Measure>
contender seconds_of(const std::string& who, Measure measure) {
  return contender::measured(who, [measure] { return turn{1, measure(), 0, 0}; });
}

/// A run over one dataset, through a cache that is emptied once.
struct run {
  std::string data;
  bench::fresh_directory cache;
  std::vector<std::string> more;  // words for the reader

  [[nodiscard]] std::vector<std::string> words(std::vector<std::string> last) const {
    std::vector<std::string> out{"read", data, cache.path()};
    out.insert(out.end(), more.begin(), more.end());
    out.insert(out.end(), last.begin(), last.end());
    return out;
  }
  /// From exec to the end of a process that reads one batch.
  [[nodiscard]] double first_batch(const std::string& from) const {
    return bench::run_reader(words({"stop_after=1", "from=" + from})).seconds;
  }
  /// A process that is killed while it trains.
  void kill_one(const std::string& from) const {
    std::vector<std::string> all = words({"step_us=1000", "from=" + from});
    all.insert(all.begin(), BENCH_READER);
    bench::child_process child(all);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    child.kill_now();
  }
};

void after_a_kill(const fs::path& root) {
  const std::string name = "resume after SIGKILL, warm cache";
  if (!bench::is_wanted(name)) return;
  const run one{
      .data = root / "small", .cache = bench::fresh_directory(root / "cache"), .more = {}};
  bench::write_once(one.data, {"samples=65536", "size_limit=2097152"});
  (void)bench::run_reader(one.words({}));  // an epoch: the cache has all
  bench::run_case(
      "restart", name, "1/s",
      {seconds_of("mdstream",
                  [&] {
                    one.kill_one("32000");
                    return one.first_batch("32000");
                  }),
       seconds_of("limit:1.2 x a process that begins", [&] { return 1.2 * one.first_batch("0"); })},
      turns);
}

/// A dataset of so many shards, which are links to few files.
void link_shards(const fs::path& to, std::size_t shards) {
  if (fs::exists(to / "index.json")) return;
  const fs::path one = to.string() + "-one";
  bench::write_once(one, {"tiny=1", "samples=1000", "size_limit=1048576"});
  fs::remove_all(to);
  fs::create_directories(to);
  std::ifstream in(one / "index.json");
  const std::string index(std::istreambuf_iterator<char>(in), {});
  const std::size_t begin = index.find('[') + 1, end = index.rfind(']');
  const std::string entry = index.substr(begin, end - begin), name = "shard.00000.mds";
  std::string entries;
  fs::path file;
  for (std::size_t i = 0; i < shards; ++i) {
    char own[32];
    std::snprintf(own, sizeof own, "shard.%05zu.mds", i);
    std::string text = entry;
    text.replace(text.find(name), name.size(), own);
    entries += (i == 0 ? "" : ",") + text;
    if (i % 30'000 == 0) {  // file systems bound the links to a file
      file = to / own;
      fs::copy_file(one / name, file);
    } else {
      fs::create_hard_link(file, to / own);
    }
  }
  std::ofstream(to / "index.json") << index.substr(0, begin) << entries << index.substr(end);
}

void of_many_shards(const fs::path& root) {
  const std::string name = "resume after SIGKILL, 1e5 shards, 1e8 samples";
  if (!bench::is_wanted(name)) return;
  const run one{.data = root / "linked",
                .cache = bench::fresh_directory(root / "cache"),
                .more = {"same=1000", "predownload=1000"}};
  link_shards(one.data, 100'000);
  bench::run_case(
      "restart", name, "1/s",
      {seconds_of("mdstream",
                  [&] {
                    one.kill_one("50000000");
                    return one.first_batch("50000000");
                  }),
       seconds_of("limit:0.5 s + reading the index",
                  [&] { return 0.5 + bench::run_reader({"index", one.data})["read"]; })},
      turns);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    const fs::path root = fs::absolute(argv[1]) / "restart";
    after_a_kill(root);
    of_many_shards(root);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_restart: %s\n", e.what());
    return 1;
  }
}
