#include <mdstream/cache/shard_cache.hpp>

#include <mdstream/cache/load_index.hpp>
#include <mdstream/store/local.hpp>
#include <mdstream/store/memory.hpp>

#include "cache/fixture.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace shard_cache_test {

using namespace cache_test;
using mds::errc;
using support::expect_error;
using memory_cache = cache<mds::store::memory>;

TEST_CASE("a cache fetches every shard once and maps it", "[cache]") {
  const bool zipped = GENERATE(false, true);
  const std::string hash = GENERATE("", "xxh64");
  const dataset data({.shards = 5, .zipped = zipped});
  const mds::store::memory remote;
  data.put(remote, "train");
  const scratch root;
  mds::runtime threads(2);
  auto stream = stream_of<mds::store::memory>(data, root / "train", remote);
  stream.prefix = "train";
  stream.validate_hash = hash;
  memory_cache shards(threads, options_of(root.path()), {stream});
  REQUIRE(shards.shards() == 5);
  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t i = 0; i < 5; ++i) {
      CHECK(shards.try_acquire(i).has_value() == (round == 1));
      const mds::shard_ref ref = shards.acquire(i);
      CHECK(data.is_right(i, ref.bytes()));
    }
  }
  CHECK(shards.counters().shards_fetched == 5);
  CHECK(files_in(root / "train").size() == 5);
  CHECK(*shards.usage() == bytes_in(root.path()));
}

TEST_CASE("a limit is kept and the farthest next use goes first", "[cache]") {
  const dataset data({.shards = 6, .bytes = 4096});
  const mds::store::memory remote;
  data.put(remote);
  const scratch root;
  mds::runtime threads(2);
  const std::uint64_t limit = data.text().size() + 3 * 4112;
  memory_cache shards(threads, options_of(root.path(), limit),
                      {stream_of<mds::store::memory>(data, root.path(), remote)});
  shards.set_next_use([](std::uint32_t shard) { return shard == 1 ? mds::never : shard; });
  for (std::uint32_t i = 0; i < 4; ++i) (void)shards.acquire(i);
  CHECK(files_in(root.path()) ==
        std::vector<std::string>{"shard.00000.mds", "shard.00002.mds", "shard.00003.mds"});
  CHECK(bytes_in(root.path()) <= limit);
  CHECK(*shards.usage() == bytes_in(root.path()));
}

}  // namespace shard_cache_test
