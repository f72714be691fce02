// A process that reads shards through a cache, to be run beside others and to be killed.
// Arguments: root, remote directory, limit, seed, rounds, keep_zip (0 or 1), log of downloads. Exit
// status 0: every shard was right. Its output, at the end: fetched evicted.

#include <mdstream/cache/detail/shard_cache.hpp>

#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "cache/download_log.hpp"
#include "cache/fixture.hpp"
#include "cache/kill_dataset.hpp"

namespace {

namespace mds = mdstream;

struct arguments {
  std::string root, remote;
  std::uint64_t limit;
  unsigned seed;
  int rounds;
  bool keep_zip;
  std::string log;
};

/// Waits for a prefetch to end, in whatever way.
void prefetch(cache_test::cache& shards, std::uint32_t shard) {
  std::promise<void> done;
  mds::diagnostics where;
  shards.async_prefetch(shard, {}, where, [&](std::error_code) { done.set_value(); });
  done.get_future().wait();
}

bool read_some(const arguments& given, const cache_test::dataset& data) {
  mds::runtime threads(2);
  const auto log = std::make_shared<const cache_test::download_log>(given.log);
  auto stream = cache_test::stream_of(data, given.root + "/train",
                                      cache_test::logged_store(given.remote, log));
  stream.keep_zip = given.keep_zip;
  stream.validate_hash = "xxh64";
  auto options = cache_test::options_of(given.root, given.limit);
  options.room_timeout = std::chrono::seconds(60);
  std::mt19937 random(given.seed);
  std::vector<std::uint64_t> next(data.shards());  // before the cache, whose threads ask it
  for (std::uint64_t& each : next) each = random() % 1000;
  cache_test::cache shards(threads, options, {stream});
  shards.set_next_use([&](std::uint32_t shard, std::uint64_t) { return next[shard]; });
  mds::detail::shard_ref before;
  for (int i = 0; i < given.rounds; ++i) {
    const auto shard = static_cast<std::uint32_t>(random() % data.shards());
    if (random() % 4 == 0) {
      prefetch(shards, shard);
      log->has_it();
      continue;
    }
    if (given.limit != 0 && !shards.may_hold(2 * cache_test::kill_shard_bytes)) before = {};
    mds::detail::shard_ref ref = shards.acquire(shard);
    log->has_it();
    if (!data.is_right(shard, ref.bytes())) return false;
    before = std::move(ref);
  }
  std::printf("%llu %llu\n", static_cast<unsigned long long>(shards.counters().shards_fetched),
              static_cast<unsigned long long>(shards.counters().shards_evicted));
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 8) return 2;
  const arguments given{argv[1],
                        argv[2],
                        std::strtoull(argv[3], nullptr, 10),
                        static_cast<unsigned>(std::strtoul(argv[4], nullptr, 10)),
                        std::atoi(argv[5]),
                        argv[6][0] == '1',
                        argv[7]};
  try {
    const cache_test::dataset data(cache_test::kill_shape);
    if (read_some(given, data)) return 0;
    std::fprintf(stderr, "a shard was wrong\n");
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
  }
  return 1;
}
