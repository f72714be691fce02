#include <mdstream/launch/environment.hpp>
#include <mdstream/stream/detail/substitutions.hpp>

#include <mdstream/async/detail/event.hpp>
#include <mdstream/mdstream.hpp>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/plain_dataset.hpp"
#include "support/seed.hpp"

// Shards that can not be read: fetched again, then an error, or others in their place.

namespace mds = mdstream;

namespace bad_shards_test {

using scratch_directory::scratch;
using ids_list = std::vector<std::int64_t>;

/// Overwrites the byte at `offset` of a file.
void damage(const std::string& path, std::streamoff offset, char value) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  REQUIRE(file.good());
  file.seekp(offset);
  file.put(value);
}

/// Two streams of 8 shards with 10 samples each; ids 0 to 79 and 80 to 159.
struct two_streams {
  scratch dir;
  two_streams() {
    support::write_plain_dataset(dir / "a", std::vector<std::uint64_t>(8, 10), 0);
    support::write_plain_dataset(dir / "b", std::vector<std::uint64_t>(8, 10), 80);
  }
  [[nodiscard]] std::string shard(const std::string& stream, int number) const {
    return dir / (stream + "/shard.0000" + std::to_string(number) + ".mds");
  }
  [[nodiscard]] mds::loader<>::options options() const {
    return {.streams = {{.remote = dir / "a", .local = dir / "cache/a"},
                        {.remote = dir / "b", .local = dir / "cache/b"}},
            .global_batch_size = 16,
            .num_canonical_nodes = 1,
            .world = mds::world{}};
  }
};

template <class Loader>
ids_list rest_of(Loader& loader) {
  ids_list out;
  for (const auto& batch : loader.epoch()) {
    const auto column = batch.template scalar<std::int64_t>("id");
    CHECK(std::ranges::equal(column, batch.ids()));
    out.insert(out.end(), column.begin(), column.end());
  }
  return out;
}

using texts = mds::policies<mds::schema<mds::column<"text", mds::str>>>;

/// Streams of so many shards.
mds::detail::shard_numbers numbered(const std::vector<std::uint32_t>& streams) {
  mds::detail::shard_numbers out;
  for (const std::uint32_t shards : streams) out.add_stream(shards);
  return out;
}

/// Sixty samples, some ten in each shard.
void write_texts(const std::string& where) {
  mds::writer<texts> out({.out = where, .size_limit = 400});
  for (int i = 0; i < 60; ++i) out.write("text " + std::to_string(i));
  out.finish();
}

}  // namespace bad_shards_test

TEST_CASE(
    "what takes the place of bad shards does not depend on the order in which they are found") {
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 100; ++round) {
    const std::vector<std::uint32_t> streams{1 + static_cast<std::uint32_t>(random() % 6),
                                             1 + static_cast<std::uint32_t>(random() % 6)};
    std::vector<std::uint64_t> sizes(streams[0] + streams[1]);
    for (auto& size : sizes) size = 1 + random() % 9;
    const mds::detail::shard_locator locate(sizes);
    std::vector<std::uint32_t> bad;
    for (std::uint32_t shard = 0; shard < sizes.size(); ++shard)
      if (shard != 0 && shard != streams[0] && random() % 2 == 0) bad.push_back(shard);
    mds::detail::substitutions at_once(bad_shards_test::numbered(streams));
    mds::detail::substitutions one_by_one = at_once;
    for (const auto shard : bad) at_once.add(shard);
    std::vector<mds::detail::sample_location> places, original;
    for (std::uint64_t i = 0; i < locate.samples(); ++i) original.push_back(locate(i));
    places = original;
    std::ranges::shuffle(bad, random);
    for (const auto shard : bad) {
      one_by_one.add(shard);
      for (auto& location : places) location = one_by_one(location, locate);
    }
    CHECK(one_by_one.bad() == at_once.bad());
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto now = at_once(original[i], locate);
      CHECK(now == places[i]);
      CHECK(now.shard == at_once(original[i].shard));
      CHECK_FALSE(at_once.is_bad(now.shard));
      CHECK((now.shard < streams[0]) == (original[i].shard < streams[0]));
      CHECK(now.index < sizes[now.shard]);
    }
  }
  mds::detail::substitutions last(bad_shards_test::numbered({2, 1}));
  last.add(0);
  support::expect_error([&] { last.add(1); }, mds::errc::corrupt, {"no shard of the stream"});
  support::expect_error([&] { last.add(2); }, mds::errc::corrupt, {"no shard of the stream"});
  support::expect_error([&] { last.add(3); }, mds::errc::out_of_range, {"3 of 3"});
  CHECK(last.bad() == std::vector<std::uint32_t>{0});
}

TEST_CASE("a cached shard with damaged bytes is fetched once more") {
  using namespace bad_shards_test;
  const two_streams data;
  const ids_list expected = [&] {
    mds::loader<> first(data.options());
    return rest_of(first);
  }();
  SECTION("its number of samples") { damage(data.dir / "cache/a/shard.00007.mds", 0, '\x7f'); }
  SECTION("an offset") { damage(data.dir / "cache/b/shard.00006.mds", 4 + 4 * 5, '\x01'); }
  SECTION("both, and a limit") {
    damage(data.dir / "cache/a/shard.00007.mds", 0, '\x7f');
    damage(data.dir / "cache/b/shard.00006.mds", 4 + 4 * 5, '\x01');
  }
  mds::loader<> again(data.options());
  CHECK(rest_of(again) == expected);
  CHECK((again.counters().shards_fetched == 1 || again.counters().shards_fetched == 2));
}

TEST_CASE("damage in the samples of a cached shard is healed too") {
  using namespace bad_shards_test;
  const scratch dir;
  write_texts(dir / "data");
  const auto read = [&](mds::byte_size ahead) {
    mds::loader<texts> loader({.remote = dir / "data",
                               .local = dir / "cache",
                               .batch_size = 10,
                               .world = mds::world{},
                               .prefetch_limit = ahead});
    std::map<std::int64_t, std::string> found;
    for (const auto& batch : loader.epoch())
      for (std::size_t i = 0; i < batch.size(); ++i)
        found[batch.ids()[i]] = std::string(batch.get<"text">()[i]);
    CHECK(found.size() == 60);
    for (const auto& [id, text] : found) CHECK(text == "text " + std::to_string(id));
    return loader.counters().shards_fetched;
  };
  const std::uint64_t shards = read(mds::byte_size(0));
  CHECK(shards > 3);
  const std::string victim = dir / "cache/shard.00001.mds";
  std::ifstream in(victim, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  const auto size_header = static_cast<std::streamoff>(bytes.rfind("text ")) - 4;
  damage(victim, size_header, '\x60');
  CHECK(read(mds::byte_size(0)) == 1);
  damage(victim, size_header, '\x60');
  CHECK(read(mds::byte_size(1000)) == 1);
}

TEST_CASE("a damaged shard that the next epoch holds already is healed too") {
  using namespace bad_shards_test;
  const scratch dir;
  write_texts(dir / "data");
  mds::runtime threads(1);
  const mds::loader<texts>::options given{.remote = dir / "data",
                                          .local = dir / "cache",
                                          .batch_size = 10,
                                          .world = mds::world{},
                                          .shared_runtime = &threads};
  mds::loader<texts> loader(given);
  const auto check = [](const auto& batch) {
    for (std::size_t i = 0; i < batch.size(); ++i)
      CHECK(batch.template get<"text">()[i] == "text " + std::to_string(batch.ids()[i]));
  };
  std::int64_t last_id = -1;  // of the first epoch
  {
    mds::loader<texts> same(given);
    for (const auto& batch : same.epoch()) last_id = batch.ids()[batch.size() - 1];
  }
  auto first = loader.epoch();
  mds::loader<texts>::batch_type batch;
  for (int i = 0; i < 5; ++i) {
    REQUIRE(first.next(batch));
    check(batch);
  }
  mds::detail::one_time_event held;  // by the next epoch, which the one worker has made before
  threads.post([&held] { held.set(); });
  held.wait();
  const std::string wanted = "text " + std::to_string(last_id);
  int damaged = 0;
  for (const auto& file : std::filesystem::directory_iterator(dir / "cache")) {
    if (file.path().extension() != ".mds") continue;
    std::ifstream in(file.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), {});
    const std::size_t at = bytes.find(wanted);
    if (at == std::string::npos ||
        std::isdigit(static_cast<unsigned char>(bytes[at + wanted.size()])) != 0)
      continue;
    damage(file.path(), static_cast<std::streamoff>(at) - 4, '\x60');
    ++damaged;
  }
  REQUIRE(damaged == 1);
  REQUIRE(first.next(batch));
  check(batch);
  CHECK_FALSE(first.next(batch));
  CHECK(loader.counters().shards_fetched == 1);
  for (const auto& each : loader.epoch()) check(each);
  CHECK(loader.counters().shards_fetched == 1);
}

TEST_CASE("a shard that is bad at its remote fails after one more fetch") {
  using namespace bad_shards_test;
  const two_streams data;
  damage(data.shard("a", 3), 0, '\x7f');
  mds::loader<> loader(data.options());
  support::expect_error([&] { rest_of(loader); }, mds::errc::corrupt, {"shard 3", "/a"});
  CHECK(loader.counters().shards_fetched <= 17);
}

TEST_CASE(
    "other shards take the place of bad ones, the same in every world, and the state says so") {
  using namespace bad_shards_test;
  const two_streams data;
  damage(data.shard("a", 7), 0, '\x7f');                 // bad
  std::filesystem::remove(data.shard("b", 2));           // gone
  std::filesystem::resize_file(data.shard("b", 3), 60);  // cut short
  auto options = data.options();
  options.on_bad_shard = mds::bad_shards::substitute;
  options.download_retry = 1;
  const auto read = [&](std::uint64_t ranks, std::string* state) {
    std::map<std::uint64_t, std::multiset<std::int64_t>> batches;
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
      options.world = mds::world{.ranks_per_node = ranks, .rank = rank};
      mds::loader<> loader(options);
      for (const auto& batch : loader.epoch())
        batches[batch.number()].insert(batch.ids().begin(), batch.ids().end());
      if (state != nullptr) *state = loader.state();
    }
    return batches;
  };
  std::string state;
  const auto alone = read(1, &state);
  CHECK(mds::parse_state(state).substituted == std::vector<std::uint32_t>{7, 10, 11});
  std::map<std::int64_t, int> count;
  for (const auto& [number, batch] : alone)
    for (const auto id : batch) ++count[id];
  for (std::int64_t id = 0; id < 160; ++id) {
    const bool gone = (id >= 70 && id < 80) || (id >= 100 && id < 120);
    const int times = gone ? 0 : id < 10 ? 2 : id >= 120 && id < 130 ? 3 : 1;
    CHECK(count[id] == times);
  }
  CHECK(read(2, nullptr) == alone);
  CHECK(read(4, nullptr) == alone);

  // Who goes on from a state does not ask for them again.
  options.world = mds::world{};
  std::filesystem::copy_file(data.shard("b", 4), data.shard("b", 2));
  mds::loader<> resumed(options);
  resumed.load_state(state);
  const auto second = rest_of(resumed);
  CHECK(std::ranges::none_of(second, [](auto id) { return id >= 100 && id < 120; }));
  support::expect_error([&] { (void)resumed.python_state(); }, mds::errc::unsupported,
                        {"in place of bad ones"});
}

TEST_CASE("a stream without one good shard fails, whatever the options") {
  using namespace bad_shards_test;
  const two_streams data;
  for (int i = 0; i < 8; ++i) std::filesystem::remove(data.shard("b", i));
  auto options = data.options();
  options.on_bad_shard = mds::bad_shards::substitute;
  options.download_retry = 1;
  mds::loader<> loader(options);
  support::expect_error([&] { rest_of(loader); }, mds::errc::not_found, {"/b"});
}

TEST_CASE(
    "a shard that is cut short while it is mapped is an error that names it, or fetched again",
    "[loader]") {
  using namespace bad_shards_test;
  const scratch dir;
  support::write_plain_dataset(dir / "data", std::vector<std::uint64_t>(4, 3000));
  const bool has_remote = GENERATE(false, true);
  mds::loader<>::options given{
      .local = dir / "data", .batch_size = 100, .shuffle = false, .world = mds::world{}};
  if (has_remote) {
    given.remote = dir / "data";
    given.local = dir / "cache";
  }
  const std::string shard = *given.local.begin() == '/' ? given.local + "/shard.00002.mds" : "";
  mds::loader<> loader(given);
  std::int64_t next = 0;
  const auto read_all = [&] {
    for (const auto& batch : loader.epoch()) {
      for (const std::int64_t id : batch.scalar<std::int64_t>("id")) CHECK(id == next++);
      if (next == 6100) std::filesystem::resize_file(shard, 4096);  // mapped by now
    }
  };
  if (has_remote) {
    read_all();
    CHECK(next == 12'000);
  } else {
    support::expect_error(read_all, mds::errc::io_error, {"cut short", shard});
    CHECK(next > 6000);
  }
}
