#include <mdstream/launch/environment.hpp>
#include <mdstream/stream/loader.hpp>

#include <mdstream/mdstream.hpp>

#include <algorithm>
#include <asio/use_future.hpp>
#include <fstream>
#include <future>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/plain_dataset.hpp"
#include "support/seed.hpp"

namespace mds = mdstream;
using namespace mds::literals;

namespace loader_test {

using scratch_directory::scratch;
using ids_list = std::vector<std::int64_t>;

using typed = mds::policies<mds::schema<mds::column<"id", mds::int_>>, mds::collate::dense>;

/// Two streams of 400 samples each in small shards, with ids 0 to 799.
struct two_streams {
  scratch dir;
  two_streams() {
    support::write_plain_dataset(dir / "a", std::vector<std::uint64_t>(20, 20), 0);
    support::write_plain_dataset(dir / "b", std::vector<std::uint64_t>(16, 25), 400);
  }
  [[nodiscard]] std::uint64_t index_bytes() const {
    return std::filesystem::file_size(dir / "a/index.json") +
           std::filesystem::file_size(dir / "b/index.json");
  }
  [[nodiscard]] mds::loader<>::options options() const {
    return {.streams = {{.remote = dir / "a"}, {.remote = dir / "b"}},
            .local = dir / "cache",
            .batch_size = 8,
            .shuffle_block_size = 100,
            .world = mds::world{}};
  }
};

/// Takes up to `most` batches; checks that each sample's column says what its id says.
template <class Epoch>
std::vector<ids_list> take(Epoch&& epoch, std::size_t most = 1000000) {
  std::vector<ids_list> out;
  if (most == 0) return out;
  for (auto& batch : epoch) {
    const auto column = batch.template scalar<std::int64_t>("id");
    CHECK(std::ranges::equal(column, batch.ids()));
    out.emplace_back(batch.ids().begin(), batch.ids().end());
    if (out.size() == most) break;
  }
  return out;
}

ids_list joined(const std::vector<ids_list>& batches) {
  ids_list out;
  for (const auto& batch : batches) out.insert(out.end(), batch.begin(), batch.end());
  return out;
}

}  // namespace loader_test

using namespace std::string_literals;

TEST_CASE("an epoch has every sample of every stream once, in batches of the asked size") {
  using namespace loader_test;
  const two_streams data;
  mds::loader<> loader(data.options());
  const auto batches = take(loader.epoch());
  CHECK(batches.size() == 100);
  auto all = joined(batches);
  CHECK(all != [&] {
    auto s = all;
    std::ranges::sort(s);
    return s;
  }());
  std::ranges::sort(all);
  for (std::int64_t i = 0; i < 800; ++i) REQUIRE(all[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("a typed schema reads the column by name, with its shape") {
  using namespace loader_test;
  const two_streams data;
  mds::loader<typed> loader({.streams = {{.remote = data.dir / "a"}},
                             .local = data.dir / "cache",
                             .batch_size = 16,
                             .world = mds::world{}});
  std::uint64_t number = 0;
  for (auto& batch : loader.epoch()) {
    batch.ready_on();
    const auto id = batch.get<"id">();
    CHECK(id.shape() == mds::array_shape{16});
    CHECK(std::ranges::equal(id, batch.ids()));
    CHECK(batch.number() == number++);
    CHECK(batch.epoch() == 0);
  }
  CHECK(number == 25);
}

TEST_CASE("a weighted mix has its proportions") {
  using namespace loader_test;
  const two_streams data;
  auto options = data.options();
  options.streams[0].proportion = 0.7;
  options.streams[1].proportion = 0.3;
  options.epoch_size = 1000;
  mds::loader<> loader(options);
  const auto all = joined(take(loader.epoch()));
  CHECK(all.size() == 1000);
  CHECK(std::ranges::count_if(all, [](auto id) { return id < 400; }) == 700);
}

TEST_CASE("the cache limit holds, and every sample still comes") {
  using namespace loader_test;
  const two_streams data;
  const auto bytes_in_cache = [&] {
    std::uint64_t sum = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(data.dir / "cache"))
      if (entry.path().extension() == ".mds") sum += entry.file_size();
    return sum;
  };
  auto options = data.options();
  options.cache_limit = data.index_bytes() + 4000;  // of 9,888 bytes of shards
  options.shuffle_block_size = 40;
  std::vector<std::int64_t> all;
  {
    mds::loader<> loader(options);
    all = joined(take(loader.epoch()));
    CHECK(loader.counters().shards_evicted > 0);
  }
  CHECK(bytes_in_cache() <= 4000);  // once nothing comes or goes
  std::ranges::sort(all);
  CHECK(all.size() == 800);
  CHECK(std::ranges::adjacent_find(all) == all.end());
}

TEST_CASE("a state goes on where the batches stopped, also in a new process") {
  using namespace loader_test;
  const two_streams data;
  const auto whole = [&] {
    mds::loader<> loader(data.options());
    auto two = take(loader.epoch());
    const auto second = take(loader.epoch());
    two.insert(two.end(), second.begin(), second.end());
    return two;
  }();
  for (const std::size_t stop : {0U, 1U, 37U, 99U, 100U}) {
    std::string state;
    std::vector<ids_list> got;
    {
      mds::loader<> loader(data.options());
      got = take(loader.epoch(), stop);
      state = loader.state();
      CHECK(state.size() < 4096);
    }
    mds::loader<> resumed(data.options());
    resumed.load_state(state);
    for (int epoch = 0; epoch < 2; ++epoch) {
      const auto rest = take(resumed.epoch());
      got.insert(got.end(), rest.begin(), rest.end());
    }
    if (stop == 0) got.resize(std::min(got.size(), whole.size()));  // nothing was begun
    INFO("stopped after " << stop);
    CHECK(std::vector<ids_list>(got.begin(), got.begin() + 200) == whole);
  }
}

TEST_CASE("ranks share each global batch, and any number of them holds the same samples") {
  using namespace loader_test;
  const two_streams data;
  const auto global_batches = [&](std::uint64_t nodes, std::uint64_t ranks) {
    std::vector<std::multiset<std::int64_t>> out;
    for (std::uint64_t rank = 0; rank < nodes * ranks; ++rank) {
      auto options = data.options();
      options.batch_size = 0;
      options.global_batch_size = 24;
      options.num_canonical_nodes = 2;
      options.world = mds::world{.nodes = nodes, .ranks_per_node = ranks, .rank = rank};
      mds::loader<> loader(options);
      const auto mine = take(loader.epoch());
      out.resize(std::max(out.size(), mine.size()));
      for (std::size_t t = 0; t < mine.size(); ++t) out[t].insert(mine[t].begin(), mine[t].end());
    }
    return out;
  };
  const auto one = global_batches(1, 1);
  CHECK(one.size() == 34);
  for (const auto& [nodes, ranks] : {std::pair{1U, 2U}, {1U, 3U}, {2U, 1U}, {2U, 3U}, {1U, 8U}}) {
    const auto other = global_batches(nodes, ranks);
    INFO(nodes << " nodes of " << ranks);
    REQUIRE(other.size() == one.size());
    for (std::size_t t = 0; t + 1 < one.size(); ++t) CHECK(other[t] == one[t]);
  }
}

TEST_CASE("replicated ranks read the same samples") {
  using namespace loader_test;
  const two_streams data;
  const auto of_rank = [&](std::uint64_t rank) {
    auto options = data.options();
    options.replication = 2;
    options.world = mds::world{.ranks_per_node = 4, .rank = rank};
    mds::loader<> loader(options);
    return take(loader.epoch());
  };
  const auto first = of_rank(0), second = of_rank(1), third = of_rank(2);
  CHECK(first == second);
  CHECK(first != third);
}

TEST_CASE("any completion token gives the batches, and the end of the epoch as its own code") {
  using namespace loader_test;
  const two_streams data;
  const auto expected = [&] {
    mds::loader<> loader(data.options());
    return take(loader.epoch());
  }();
  auto options = data.options();
  options.local = data.dir / "other";  // nothing is there yet: batches are waited for
  mds::loader<> loader(options);
  auto epoch = loader.epoch();
  std::vector<ids_list> got;
  try {
    while (true) {
      const auto batch = epoch.async_next(asio::use_future).get();
      got.emplace_back(batch.ids().begin(), batch.ids().end());
    }
  } catch (const mds::error& e) {
    CHECK(e.code() == mds::errc::end_of_epoch);
  }
  CHECK(got == expected);
}

TEST_CASE("batches outlive the loop's step, the epoch and the loader when moved out") {
  using namespace loader_test;
  const two_streams data;
  std::vector<mds::loader<typed>::batch_type> kept;
  {
    mds::loader<typed> loader({.streams = {{.remote = data.dir / "a"}},
                               .local = data.dir / "cache",
                               .batch_size = 50,
                               .world = mds::world{}});
    for (auto& batch : loader.epoch()) kept.push_back(std::move(batch));
  }
  REQUIRE(kept.size() == 8);
  for (const auto& batch : kept) CHECK(std::ranges::equal(batch.get<"id">(), batch.ids()));
}

TEST_CASE("an epoch that was advanced counts; one that was not does not") {
  using namespace loader_test;
  const two_streams data;
  mds::loader<> loader(data.options());
  {
    [[maybe_unused]] auto never_advanced = loader.epoch();
  }
  auto first = loader.epoch();
  mds::loader<>::batch_type batch;
  REQUIRE(first.next(batch));
  CHECK(batch.epoch() == 0);
  auto second = loader.epoch();
  REQUIRE(second.next(batch));
  CHECK(batch.epoch() == 1);
  support::expect_error([&] { first.next(batch); }, mds::errc::invalid_argument, {"another epoch"});
}

TEST_CASE("a state of another run is refused by name") {
  using namespace loader_test;
  const two_streams data;
  mds::loader<> loader(data.options());
  take(loader.epoch(), 3);
  const std::string state = loader.state();
  const auto refused = [&](auto change, std::initializer_list<std::string_view> pieces) {
    auto options = data.options();
    change(options);
    mds::loader<> other(options);
    support::expect_error([&] { other.load_state(state); }, mds::errc::state_mismatch, pieces);
  };
  refused([](auto& o) { o.streams.pop_back(); }, {"dataset"});
  refused([](auto& o) { o.streams[0].repeat = 2.0; }, {"epoch_size 800", "1200"});
  refused(
      [](auto& o) {
        o.streams[0].choose = 500;
        o.streams[1].choose = 300;
      },
      {"mix"});
  refused([](auto& o) { o.batch_size = 4; }, {"global_batch_size 8", "4"});
  refused([](auto& o) { o.seed = 1; }, {"seed 9176", "1"});
  refused([](auto& o) { o.shuffle_algo = "naive"; }, {"shuffle \"py1e\"", "\"naive\""});
  refused([](auto& o) { o.shuffle = false; }, {"\"none\""});
  refused([](auto& o) { o.num_canonical_nodes = 4; }, {"num_canonical_nodes 1", "4"});
}

TEST_CASE("a state of Python is taken, and ours goes back in its five keys") {
  using namespace loader_test;
  const two_streams data;
  mds::loader<> loader(data.options());
  take(loader.epoch(), 5);
  const std::string python = loader.python_state();
  CHECK(python == R"({"epoch": 0, "initial_physical_nodes": 1, "num_canonical_nodes": 1, )"
                  R"("sample_in_epoch": 40, "shuffle_seed": 9176})");
  const auto rest = take(loader.epoch(), 0);
  mds::loader<> resumed(data.options());
  resumed.load_state(python);
  mds::loader<> original(data.options());
  const auto whole = take(original.epoch());
  CHECK(take(resumed.epoch()) == std::vector<ids_list>(whole.begin() + 5, whole.end()));
}

TEST_CASE("options that can not be right are refused with the numbers in them") {
  using namespace loader_test;
  using support::expect_error;
  const two_streams data;
  const auto refused = [&](auto change, mds::errc code,
                           std::initializer_list<std::string_view> pieces) {
    auto options = data.options();
    change(options);
    expect_error(
        [&] {
          mds::loader<> loader(options);
          take(loader.epoch(), 1);
        },
        code, pieces);
  };
  refused([](auto& o) { o.batch_size = 0; }, mds::errc::invalid_argument,
          {"batch_size", "at least 1"});
  refused([](auto& o) { o.global_batch_size = 16; }, mds::errc::invalid_argument, {"exactly one"});
  refused(
      [](auto& o) {
        o.batch_size = 0;
        o.global_batch_size = 7;
        o.world = mds::world{.ranks_per_node = 2};
      },
      mds::errc::invalid_argument, {"7 samples", "2 ranks"});
  refused(
      [](auto& o) {
        o.streams.clear();
        o.local.clear();
      },
      mds::errc::invalid_argument, {"streams"});
  refused([](auto& o) { o.remote = "x"; }, mds::errc::invalid_argument, {"either streams"});
  refused([](auto& o) { o.shuffle_algo = "py9"; }, mds::errc::unsupported, {"py9", "py1e"});
  refused([](auto& o) { o.download_retry = 0; }, mds::errc::invalid_argument, {"download_retry"});
  refused([](auto& o) { o.replication = 3; }, mds::errc::invalid_argument, {"replication 3"});
  refused([](auto& o) { o.streams[0].proportion = 1.0; }, mds::errc::invalid_argument,
          {"proportion"});
  refused([](auto& o) { o.cache_limit = 100; }, mds::errc::cache_too_small, {"100"});
}

TEST_CASE(
    "datasets that are missing, empty, damaged or different are refused by stream and cause") {
  using namespace loader_test;
  using support::expect_error;
  const two_streams data;
  const auto open = [&](const std::string& remote) {
    return [&data, remote] {
      std::filesystem::remove_all(data.dir / "c2");  // an index that was fetched is not refreshed
      mds::loader<typed> loader({.streams = {{.remote = remote}},
                                 .local = data.dir / "c2",
                                 .batch_size = 4,
                                 .world = mds::world{}});
      for (auto& batch : loader.epoch()) (void)batch;
    };
  };
  const auto replace = [](const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  };
  const auto read = [](const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string a = data.dir / "a";

  expect_error(open(data.dir / "nowhere"), mds::errc::not_found, {"nowhere", "index"});
  replace(a + "/index.json", R"({"shards": [], "version": 2})");
  expect_error(open(a), mds::errc::invalid_argument, {"no samples", a});
  support::write_plain_dataset(a, {3});
  const std::string index = read(a + "/index.json");
  replace(a + "/index.json", index.substr(0, index.size() / 2));
  expect_error(open(a), mds::errc::corrupt, {a, "byte"});

  std::string renamed = index;
  renamed.replace(renamed.find("\"id\""), 4, "\"no\"");
  replace(a + "/index.json", renamed);
  expect_error(open(a), mds::errc::schema_mismatch, {a, "no: int", "id: int"});

  std::string outside = index;
  outside.replace(outside.find("shard.00000.mds"), 15, "../../etc/passwd");
  replace(a + "/index.json", outside);
  expect_error(open(a), mds::errc::corrupt, {"../../etc/passwd"});

  replace(a + "/index.json", index);
  const std::string shard = read(a + "/shard.00000.mds");
  replace(a + "/shard.00000.mds", shard.substr(0, shard.size() - 1));
  expect_error(open(a), mds::errc::corrupt, {a, "shard 0"});

  std::string backwards = shard;  // offsets of sample 1 run backwards
  backwards[4 + 8] = 24;
  replace(a + "/shard.00000.mds", backwards);
  expect_error(open(a), mds::errc::corrupt, {"shard 0", "sample", "byte", "run forwards"});
}

TEST_CASE("a stream that has no column of the first is refused") {
  using namespace loader_test;
  const two_streams data;
  const std::string path = data.dir / "b/index.json";
  std::ifstream in(path);
  std::string index(std::istreambuf_iterator<char>(in), {});
  for (std::size_t at = 0; (at = index.find("\"id\"", at)) != std::string::npos;)
    index.replace(at, 4, "\"xy\"");
  std::ofstream(path) << index;
  support::expect_error([&] { mds::loader<> loader(data.options()); }, mds::errc::schema_mismatch,
                        {"xy: int", "id: int", "/b"});
}

TEST_CASE("a loader that is dropped at any point neither hangs nor leaks") {
  using namespace loader_test;
  const two_streams data;
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 20; ++round) {
    auto options = data.options();
    options.local = data.dir / ("cache" + std::to_string(round % 4));
    mds::loader<> loader(options);
    auto epoch = loader.epoch();
    mds::loader<>::batch_type batch;
    for (std::size_t i = random() % 4; i > 0; --i) CHECK(epoch.next(batch));
    if (round % 2 == 0) {
      std::promise<void> done;
      epoch.async_next(
          [&done](std::exception_ptr, mds::loader<>::batch_type) { done.set_value(); });
      if (round % 4 == 0)
        done.get_future().get();
      else {
        [[maybe_unused]] auto ended = mds::loader<>(std::move(loader));
        done.get_future().wait();
      }
    }
  }
}
