#include <mdstream/launch/environment.hpp>
#include <mdstream/stream/dataset.hpp>

#include <mdstream/mdstream.hpp>

#include <algorithm>
#include <array>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/use_future.hpp>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <numeric>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/plain_dataset.hpp"

namespace mds = mdstream;

namespace dataset_test {

using scratch_directory::scratch;

using rows = mds::policies<
    mds::schema<mds::column<"text", mds::str>, mds::column<"row", mds::ndarray<std::uint16_t, 3>>,
                mds::column<"label", std::int8_t>>>;

void write_rows(const std::string& where, int count) {
  mds::writer<rows> out({.out = where, .size_limit = 1024});
  for (int i = 0; i < count; ++i) {
    const auto x = static_cast<std::uint16_t>(i);
    out.write(std::string(static_cast<std::size_t>(i % 7), 'a'),
              std::array<std::uint16_t, 3>{x, 7, 9}, static_cast<std::int8_t>(-i));
  }
  out.finish();
}

}  // namespace dataset_test

TEST_CASE("samples are read by index, typed or by name, in place or through a cache") {
  using namespace dataset_test;
  const scratch dir;
  write_rows(dir / "data", 100);
  const mds::dataset<rows> typed({.local = dir / "data"});
  const mds::dataset<> by_name({.remote = dir / "data", .local = dir / "cache"});
  CHECK_FALSE(std::filesystem::exists(dir / "data/.mdstream"));  // nothing to agree on there
  REQUIRE(typed.size() == 100);
  REQUIRE(by_name.size() == 100);
  for (std::uint64_t i = 0; i < 100; ++i) {
    const auto sample = typed[i];
    CHECK(sample.get<"text">() == std::string(i % 7, 'a'));
    CHECK(sample.get<"row">()[0] == i);
    CHECK(sample.get<"label">() == -static_cast<int>(i));
    const auto same = by_name[99 - i];
    CHECK(same.get<std::string_view>("text") == std::string((99 - i) % 7, 'a'));
    CHECK(same.get<mds::unaligned_view<std::uint16_t>>("row")[0] == 99 - i);
    CHECK(same.get<mds::any_ndarray>("row").shape() == mds::array_shape{3});
    CHECK(same.get<std::int8_t>("label") == -static_cast<int>(99 - i));
    CHECK(same.get<mds::bytes_view>("label").size() == 1);
  }
}

TEST_CASE("threads of its own are the workers, and two for the network where there are several") {
  using namespace dataset_test;
  const scratch dir;
  write_rows(dir / "data", 10);
  // By their numbers: one that was joined just now may still be there, and is not counted.
  const auto threads = [] {
    std::set<std::string> out;
    for (const auto& each : std::filesystem::directory_iterator("/proc/self/task"))
      out.insert(each.path().filename());
    return out;
  };
  const auto added = [&](unsigned workers) {
    const auto before = threads();
    const mds::dataset<rows> made({.local = dir / "data", .threads = workers});
    const auto now = threads();
    return std::ranges::count_if(now, [&](const auto& each) { return !before.contains(each); });
  };
  CHECK(added(1) == 1 + 1);
  CHECK(added(3) == 3 + std::min(std::thread::hardware_concurrency(), 2U));
}

TEST_CASE("a sample outlives its shard's file, the cache and the dataset") {
  using namespace dataset_test;
  const scratch dir;
  write_rows(dir / "data", 20);
  std::optional<mds::sample<rows::schema>> kept;
  {
    const mds::dataset<rows> data({.remote = dir / "data", .local = dir / "cache"});
    kept = data[13];
    std::filesystem::remove_all(dir / "cache");
  }
  CHECK(kept->get<"row">()[0] == 13);
}

TEST_CASE("what is not there, or is something else, is refused by name") {
  using namespace dataset_test;
  using support::expect_error;
  const scratch dir;
  write_rows(dir / "data", 10);
  const mds::dataset<> data({.local = dir / "data"});
  expect_error([&] { (void)data[10]; }, mds::errc::out_of_range, {"sample 10", "10 samples"});
  const auto sample = data[3];
  expect_error([&] { (void)sample.get<float>("row"); }, mds::errc::invalid_argument,
               {"\"row\"", "ndarray:uint16:3"});
  expect_error([&] { (void)sample.get<std::int16_t>("label"); }, mds::errc::invalid_argument,
               {"int8"});
  expect_error([&] { (void)sample.get<std::string_view>("body"); }, mds::errc::not_found,
               {"\"body\"", "text: str"});
  expect_error([&] { mds::dataset<>({.local = dir / "none"}); }, mds::errc::not_found, {"none"});
  expect_error([&] { mds::dataset<>({}); }, mds::errc::invalid_argument, {"remote or local"});
}

TEST_CASE("any number of threads read, and any completion token is taken") {
  using namespace dataset_test;
  const scratch dir;
  support::write_plain_dataset(dir / "data", std::vector<std::uint64_t>(40, 25));
  const mds::dataset<> data({.remote = dir / "data", .local = dir / "cache"});
  std::vector<std::thread> readers;
  std::atomic<int> wrong{0};
  for (std::uint64_t k = 0; k < 4; ++k)
    readers.emplace_back([&data, &wrong, k] {
      for (std::uint64_t i = 0; i < 1000; ++i) {
        const std::uint64_t at = (i * 7 + k * 251) % 1000;
        if (data[at].get<std::int64_t>("id") != static_cast<std::int64_t>(at)) ++wrong;
      }
    });
  std::vector<std::future<std::optional<mds::sample<mds::dynamic_schema>>>> pending;
  for (std::uint64_t i = 0; i < 100; ++i)
    pending.push_back(data.async_get(i * 10, asio::use_future));
  for (std::uint64_t i = 0; i < 100; ++i)
    CHECK(pending[i].get()->get<std::int64_t>("id") == static_cast<std::int64_t>(i * 10));
  for (std::thread& reader : readers) reader.join();
  CHECK(wrong == 0);
  try {
    data.async_get(1000, asio::use_future).get();
    FAIL("an index beyond the end was taken");
  } catch (const mds::error& e) {
    CHECK(e.code() == mds::errc::out_of_range);
  }
}

namespace dataset_test {

using numbered = mds::policies<mds::schema<mds::column<"id", mds::int_>>>;

/// Streams of shards of these sizes, whose samples are numbered through.
template <class Policies>
mds::dataset<Policies> numbered_streams(const scratch& dir,
                                        const std::vector<std::vector<std::uint64_t>>& sizes) {
  typename mds::dataset<Policies>::options given;
  std::int64_t next = 0;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const std::string where = dir / ("stream-" + std::to_string(k));
    next = support::write_plain_dataset(where, sizes[k], next);
    given.streams.push_back({.local = where});
  }
  return mds::dataset<Policies>(std::move(given));
}

/// Every third sample, from the last to the first.
template <class Data, class Id>
void numbers_agree(const Data& data, const Id& id) {
  for (std::uint64_t i = data.size(); i > 0; i -= std::min<std::uint64_t>(i, 3))
    if (const std::int64_t found = id(data[i - 1]); found != static_cast<std::int64_t>(i) - 1)
      FAIL("sample " << i - 1 << " is " << found);
}

}  // namespace dataset_test

TEST_CASE("samples of one size are found in shards of one size and of several, in any streams") {
  using namespace dataset_test;
  const std::vector<std::vector<std::vector<std::uint64_t>>> cases = {
      {{7, 7, 7, 3}},
      {{9}},
      {{1, 1, 1, 1, 1}},
      {{300, 300, 17}},
      {{7, 7}, {7, 7, 2}},
      {{7, 2}, {7, 7}},
      {{3, 50, 1}, {9}, {20, 4}},
      {std::vector<std::uint64_t>(600, 2)}};
  for (const auto& sizes : cases) {
    const scratch dir;
    const auto typed = numbered_streams<numbered>(dir, sizes);
    numbers_agree(typed, [](const auto& sample) { return sample.template get<"id">(); });
    const auto by_name = numbered_streams<mds::policies<>>(dir, sizes);
    numbers_agree(by_name,
                  [](const auto& sample) { return sample.template get<std::int64_t>("id"); });
    CHECK_THROWS_AS(typed[typed.size()], mds::error);
  }
}

TEST_CASE("streams whose samples have one size and other columns keep their own") {
  using namespace dataset_test;
  using reals = mds::policies<mds::schema<mds::column<"real", double>>>;
  const scratch dir;
  support::write_plain_dataset(dir / "ids", {4, 4});
  {
    mds::writer<reals> out({.out = dir / "reals"});
    for (int i = 0; i < 4; ++i) out.write(0.5 * i);
    out.finish();
  }
  const mds::dataset<> data(
      mds::dataset<>::options{.streams = {{.local = dir / "ids"}, {.local = dir / "reals"}}});
  for (int round = 0; round < 2; ++round) {
    CHECK(data[7].get<std::int64_t>("id") == 7);
    CHECK(data[9].get<double>("real") == 0.5);
    CHECK(data[9].layout()[0].name == "real");
  }
}

TEST_CASE("an offset that is not where samples of one size begin is an error each time") {
  using namespace dataset_test;
  const scratch dir;
  support::write_plain_dataset(dir / "data", {5, 5, 5});
  {
    std::fstream shard(dir / "data/shard.00001.mds",
                       std::ios::in | std::ios::out | std::ios::binary);
    shard.seekp(4 + 4 * 3);
    shard.put('\x01');
  }
  const mds::dataset<numbered> data({.local = dir / "data"});
  for (int round = 0; round < 2; ++round) {
    for (const std::uint64_t i : {5, 9})
      support::expect_error([&] { (void)data[i]; }, mds::errc::corrupt,
                            {"shard 1", "sample 2", "offsets"});
    CHECK(data[4].get<"id">() == 4);
    CHECK(data[10].get<"id">() == 10);
  }
}

TEST_CASE("copies of samples hold their shard, and all of them gone leave it to be evicted") {
  using namespace dataset_test;
  const scratch dir;
  constexpr std::uint64_t shards = 6, each = 500;
  support::write_plain_dataset(dir / "data", std::vector<std::uint64_t>(shards, each));
  const auto shard_bytes = std::filesystem::file_size(dir / "data/shard.00000.mds");
  // Place for three: what is held, and what is read besides.
  const mds::dataset<numbered> data(
      {.remote = dir / "data",
       .local = dir / "cache",
       .cache_limit = std::filesystem::file_size(dir / "data/index.json") + 7 * shard_bytes / 2});
  const auto read_all = [&] {
    for (std::uint64_t k = 0; k < shards; ++k)
      CHECK(data[k * each + 3].get<"id">() == static_cast<std::int64_t>(k * each + 3));
  };
  for (std::uint64_t k = 0; k < 3 * shards; ++k) {
    const std::uint64_t i = (k % shards) * each + k;
    auto first = data[i];
    const auto copied = first;
    auto moved = std::move(first);
    auto assigned = data[(i + each) % data.size()];
    assigned = copied;
    first = moved;  // what was moved from may be assigned to
    moved = data[(i + each) % data.size()];
    moved = std::move(assigned);
    read_all();
    const auto expected = static_cast<std::int64_t>(i);
    CHECK(first.get<"id">() == expected);
    CHECK(copied.get<"id">() == expected);
    CHECK(moved.get<"id">() == expected);
  }
  CHECK(data.counters().shards_evicted > 2 * shards);
}

TEST_CASE("a dataset is a range of its samples, and parts of it are ranges and feed a loader") {
  using namespace dataset_test;
  using data_type = mds::dataset<numbered>;
  static_assert(std::ranges::random_access_range<data_type> && std::ranges::sized_range<data_type>);
  const scratch dir;
  const auto data = numbered_streams<numbered>(dir, {{7, 7, 3}, {9, 4}});
  const auto id = [](const auto& sample) { return sample.template get<"id">(); };
  const auto ids_of = [&](auto&& range) {
    std::vector<std::int64_t> out;
    for (const auto sample : range) out.push_back(id(sample));
    return out;
  };
  using ids = std::vector<std::int64_t>;
  ids all(30);
  std::iota(all.begin(), all.end(), 0);
  CHECK(ids_of(data) == all);
  CHECK(ids_of(data | std::views::drop(10) | std::views::take(3)) == ids{10, 11, 12});
  CHECK(ids_of(data | std::views::reverse | std::views::take(2)) == ids{29, 28});
  CHECK(id(*(data.begin() + 17)) == 17);
  CHECK(id((data.end() - 30)[4]) == 4);
  CHECK(data.end() - data.begin() == 30);
  CHECK(data.begin() < data.end());
  CHECK(id(data.from_end(1)) == 29);
  CHECK(id(data.from_end(30)) == 0);
  for (const std::uint64_t i : {0, 31})
    support::expect_error([&] { (void)data.from_end(i); }, mds::errc::out_of_range, {"30 samples"});

  CHECK(ids_of(data.samples({17, 3, 17})) == ids{17, 3, 17});
  CHECK(ids_of(data.samples(std::vector<int>{2, 1})) == ids{2, 1});
  support::expect_error([&] { ids_of(data.samples({3, 30})); }, mds::errc::out_of_range,
                        {"sample 30", "30 samples"});
  CHECK(data.shards() == 5);
  CHECK(ids_of(data.samples(data.shard(2))) == ids{14, 15, 16});
  CHECK(ids_of(data.samples(data.shard(4))) == ids{26, 27, 28, 29});
  CHECK(ids_of(data.samples(data.stream(1))) == ids(all.begin() + 17, all.end()));
  support::expect_error([&] { (void)data.shard(5); }, mds::errc::out_of_range,
                        {"shard 5", "5 shards"});
  support::expect_error([&] { (void)data.stream(2); }, mds::errc::out_of_range, {"stream 2 of 2"});
  CHECK(data.origin(18) == mds::sample_origin{.stream = 1, .shard = 0, .index = 1});
  support::expect_error([&] { (void)data.origin(30); }, mds::errc::out_of_range);
  const auto streams = data.streams();
  REQUIRE(streams.size() == 2);
  CHECK(streams[1].shards == 2);
  CHECK(streams[1].samples == 13);
  CHECK(streams[1].directory == dir / "stream-1");

  const auto read = [](mds::loader_options options) {
    mds::loader<numbered> loader(std::move(options));
    ids out;
    for (const auto& batch : loader.epoch())
      out.insert(out.end(), batch.get<"id">().begin(), batch.get<"id">().end());
    std::ranges::sort(out);
    return out;
  };
  const data_type one({.local = dir / "stream-1"});
  CHECK(read({.local = dir / "stream-1",
              .subset = one.shard(0),
              .batch_size = 3,
              .world = mds::world{}}) == ids(all.begin() + 17, all.begin() + 26));
  CHECK(read({.local = dir / "stream-1",
              .subset = one.stream(0),
              .batch_size = 13,
              .world = mds::world{}}) == ids(all.begin() + 17, all.end()));
}

TEST_CASE("any column of a sample is a variant") {
  using namespace dataset_test;
  const scratch dir;
  write_rows(dir / "data", 10);
  const mds::dataset<> data({.local = dir / "data"});
  const auto sample = data[9];
  CHECK(sample.value("text").as<std::string_view>() == "aa");
  CHECK(sample.value("label").as<std::int64_t>() == -9);
  CHECK(sample.value("row").as<mds::any_ndarray>().shape() == mds::array_shape{3});
  const auto label = sample.value("label");
  CHECK(std::visit(
      [](const auto& value) {
        return std::is_same_v<std::remove_cvref_t<decltype(value)>, std::int64_t>;
      },
      label.get()));
  support::expect_error([&] { (void)sample.value("body"); }, mds::errc::not_found, {"\"body\""});
  support::expect_error([&] { (void)sample.value("text").as<double>(); },
                        mds::errc::schema_mismatch, {"another type"});
}

TEST_CASE("shards are fetched and evicted by hand, and loaders of the directory see it") {
  using namespace dataset_test;
  const scratch dir;
  support::write_plain_dataset(dir / "data", {10, 10, 10});
  const mds::dataset<numbered> data({.remote = dir / "data", .local = dir / "cache"});
  const auto is_there = [&](int shard) {
    return std::filesystem::exists(dir / ("cache/shard.0000" + std::to_string(shard) + ".mds"));
  };
  data.fetch_shard(1);
  CHECK_FALSE(is_there(0));
  CHECK(is_there(1));
  data.fetch_shard(1);
  CHECK(data.counters().shards_fetched == 1);

  {
    const auto held = data[15];
    CHECK_FALSE(data.evict_shard(1));
    CHECK(held.get<"id">() == 15);
    CHECK(is_there(1));
  }
  CHECK(data.evict_shard(1));
  CHECK_FALSE(is_there(1));
  CHECK(data.evict_shard(1));  // it is not there: nothing is left to do
  CHECK(data.counters().shards_evicted == 1);
  CHECK(data[15].get<"id">() == 15);
  CHECK(data.counters().shards_fetched == 2);

  for (const std::uint64_t shard : {0, 2}) data.fetch_shard(shard);
  mds::loader<numbered> loader(
      {.remote = dir / "data", .local = dir / "cache", .batch_size = 10, .world = mds::world{}});
  std::size_t samples = 0;
  for (const auto& batch : loader.epoch()) samples += batch.size();
  CHECK(samples == 30);
  CHECK(loader.counters().shards_fetched == 0);

  support::expect_error([&] { data.fetch_shard(3); }, mds::errc::out_of_range, {"shard 3"});
  support::expect_error([&] { data.evict_shard(3); }, mds::errc::out_of_range, {"shard 3"});
  const mds::dataset<numbered> in_place({.local = dir / "data"});
  in_place.fetch_shard(0);
  CHECK_FALSE(in_place.evict_shard(0));  // it has no remote
  CHECK(std::filesystem::exists(dir / "data/shard.00000.mds"));
}
