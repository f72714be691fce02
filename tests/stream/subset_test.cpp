#include <mdstream/stream/subset.hpp>

#include <mdstream/mdstream.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/plain_dataset.hpp"
#include "support/seed.hpp"

// Parts of a dataset: which samples they hold, and loaders that read only these.

namespace mds = mdstream;

namespace subset_test {

using scratch_directory::scratch;
using ids_list = std::vector<std::int64_t>;
using numbers = std::vector<std::uint64_t>;

numbers list(const mds::sample_subset& of) { return {of.begin(), of.end()}; }

// The ids of a subset that is gone at the end of the line.
template <class T>
concept lends_ids = requires { std::declval<T>().ids(); };
static_assert(lends_ids<mds::sample_subset&> && !lends_ids<mds::sample_subset> &&
              !lends_ids<const mds::sample_subset>);

/// The batches of one rank, as ids, each checked against the column; up to `most` of them.
std::vector<ids_list> read(mds::loader<>& loader, std::size_t most = 1000000) {
  std::vector<ids_list> out;
  for (const auto& batch : loader.epoch()) {
    CHECK(std::ranges::equal(batch.scalar<std::int64_t>("id"), batch.ids()));
    out.emplace_back(batch.ids().begin(), batch.ids().end());
    if (out.size() == most) break;
  }
  return out;
}

/// What a loader reads in two epochs, and why it does not, where small streams do not suit a
/// method.
struct two_epochs {
  std::vector<ids_list> batches;
  std::uint64_t epoch_size = 0;
  std::string failure;
};

two_epochs read_two(const mds::loader_options& options) {
  two_epochs out;
  try {
    mds::loader<> loader(options);
    out.epoch_size = loader.epoch_size();
    for (int epoch = 0; epoch < 2; ++epoch)
      for (const auto& batch : loader.epoch()) {
        const auto ids = batch.ids();
        const auto column = batch.scalar<std::int64_t>("id").values();
        CHECK(std::ranges::equal(column.first(batch.real_size()), ids.first(batch.real_size())));
        out.batches.emplace_back(ids.begin(), ids.end());
      }
  } catch (const mds::error& e) {
    CHECK(e.code() == mds::errc::invalid_argument);
    out.failure = e.what();
  }
  return out;
}

/// Two streams, some ids of both, and two streams that have only these.
struct part_and_whole {
  scratch dir;
  std::vector<mds::stream_options> whole{{.local = dir / "a"}, {.local = dir / "b"}};
  std::vector<mds::stream_options> alone{{.local = dir / "alone_a"}, {.local = dir / "alone_b"}};
  std::optional<mds::sample_subset> subset;

  explicit part_and_whole(std::mt19937& random) {
    numbers ids;
    std::int64_t first = 0, first_alone = 0;
    for (std::size_t k = 0; k < 2; ++k) {
      numbers sizes(2 + random() % 6), chosen;
      std::uint64_t id = static_cast<std::uint64_t>(first);
      for (auto& size : sizes) {
        size = 1 + random() % 30;
        std::uint64_t taken = 0;
        const bool none = &size != &sizes.back() && random() % 4 == 0;
        for (std::uint64_t i = 0; i < size; ++i, ++id)
          if (!none && (random() % 2 == 0 || i < 6)) {
            ids.push_back(id);
            ++taken;
          }
        if (taken != 0) chosen.push_back(taken);
      }
      first = support::write_plain_dataset(whole[k].local, sizes, first);
      first_alone = support::write_plain_dataset(alone[k].local, chosen, first_alone);
    }
    std::ranges::shuffle(ids, random);
    subset = mds::sample_subset(ids, static_cast<std::uint64_t>(first));
  }
};

}  // namespace subset_test

TEST_CASE("a loader of a subset has the order of a dataset with only these samples") {
  using namespace subset_test;
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  int compared = 0;
  for (int round = 0; round < 8; ++round) {
    const part_and_whole data(random);
    for (const auto method : {mds::batching_method::random, mds::batching_method::stratified,
                              mds::batching_method::per_stream, mds::batching_method::once})
      for (const mds::world& world :
           {mds::world{}, mds::world{.nodes = 2, .ranks_per_node = 2, .rank = 2}}) {
        mds::loader_options options{.streams = data.alone,
                                    .global_batch_size = 4,
                                    .shuffle_block_size = 40,
                                    .num_canonical_nodes = 2,
                                    .batching = method,
                                    .world = world};
        INFO(to_string(method) << ", " << world.text());
        two_epochs expected = read_two(options);
        for (ids_list& batch : expected.batches)
          for (std::int64_t& id : batch)
            if (id >= 0)
              id = static_cast<std::int64_t>((*data.subset)[static_cast<std::size_t>(id)]);
        options.streams = data.whole;
        options.subset = data.subset;
        const two_epochs got = read_two(options);
        CHECK(got.failure == expected.failure);
        CHECK(got.batches == expected.batches);
        CHECK(got.epoch_size == expected.epoch_size);
        compared += got.batches.size() > 4;
      }
  }
  CHECK(compared > 30);
}

TEST_CASE("a subset's state goes on with the same subset alone, in another world") {
  using namespace subset_test;
  const scratch dir;
  support::write_plain_dataset(dir / "data", numbers(10, 20));
  const mds::dataset<> data({.local = dir / "data"});
  const auto parts = data.split({0.5, 0.5}, 3);
  const auto options = [&](const std::optional<mds::sample_subset>& of, const mds::world& world) {
    return mds::loader_options{.local = dir / "data",
                               .subset = of,
                               .global_batch_size = 10,
                               .num_canonical_nodes = 2,
                               .world = world};
  };
  mds::loader<> whole_run(options(parts[0], {}));
  const auto expected = read(whole_run);
  CHECK(expected.size() == 10);
  mds::loader<> saved(options(parts[0], {}));
  read(saved, 4);
  const std::string state = saved.state();

  std::vector<ids_list> rest(6);
  for (std::uint64_t rank = 0; rank < 2; ++rank) {
    mds::loader<> resumed(options(parts[0], {.nodes = 2, .rank = rank}));
    resumed.load_state(state);
    const auto got = read(resumed);
    REQUIRE(got.size() == 6);
    for (std::size_t i = 0; i < 6; ++i) rest[i].insert(rest[i].end(), got[i].begin(), got[i].end());
  }
  for (std::size_t i = 0; i < 6; ++i) {
    ids_list one = expected[4 + i];
    std::ranges::sort(one);
    std::ranges::sort(rest[i]);
    CHECK(one == rest[i]);
  }
  for (const auto& other : {std::optional(parts[1]), std::optional<mds::sample_subset>()}) {
    mds::loader<> loader(options(other, {}));
    support::expect_error([&] { loader.load_state(state); }, mds::errc::state_mismatch,
                          {"dataset"});
  }
  support::expect_error([&] { (void)saved.python_state(); }, mds::errc::unsupported, {"subset"});
}

TEST_CASE("a split is NumPy's permutation, cut") {
  using namespace subset_test;
  // numpy.random.default_rng(17).permutation(20) and default_rng(2**40 + 5).permutation(11)
  const numbers twenty{5, 6, 4, 3, 17, 14, 16, 9, 12, 8, 18, 7, 1, 0, 13, 15, 2, 10, 11, 19};
  const numbers eleven{9, 5, 1, 2, 8, 3, 0, 10, 7, 4, 6};
  const auto expect = [](const numbers& order, std::uint64_t seed,
                         const std::vector<double>& fractions, const numbers& ends) {
    const auto parts = mds::sample_subset::all(order.size()).split(fractions, seed);
    REQUIRE(parts.size() == ends.size());
    std::uint64_t begin = 0;
    for (std::size_t k = 0; k < ends.size(); ++k) {
      numbers part(order.begin() + static_cast<std::ptrdiff_t>(begin),
                   order.begin() + static_cast<std::ptrdiff_t>(ends[k]));
      std::ranges::sort(part);
      CHECK(list(parts[k]) == part);
      CHECK(parts[k].whole() == order.size());
      begin = ends[k];
    }
  };
  expect(twenty, 17, {0.9, 0.1}, {18, 20});
  expect(twenty, 17, {0.7, 0.2, 0.1}, {14, 18, 20});
  expect(twenty, 17, {0.33, 0.33}, {7, 13});  // the rest is in no part
  expect(twenty, 17, {0, 1}, {0, 20});
  expect(eleven, (std::uint64_t{1} << 40) + 5, {0.5, 0.5}, {6, 11});
  expect(eleven, (std::uint64_t{1} << 40) + 5, {}, {});

  const auto parts = mds::sample_subset({30, 10, 20, 40}, 50).split({0.5, 0.5}, 1);
  numbers together = list(parts[0]);
  for (const std::uint64_t id : parts[1]) together.push_back(id);
  std::ranges::sort(together);
  CHECK(parts[0].size() == 2);
  CHECK(together == numbers{10, 20, 30, 40});
  const auto thirds = mds::sample_subset::all(1000).split({0.1, 0.2, 0.7}, 5);
  CHECK(thirds[0].size() + thirds[1].size() + thirds[2].size() == 1000);
}

TEST_CASE("a filter keeps the samples that it chooses, for a loader") {
  using namespace subset_test;
  const scratch dir;
  support::write_plain_dataset(dir / "data", {20, 20, 20});
  const mds::dataset<> data({.remote = dir / "data", .local = dir / "all"});
  const auto kept = data.filter(
      [](const auto& sample) { return sample.template get<std::int64_t>("id") / 5 == 4; });
  CHECK(list(kept) == numbers{20, 21, 22, 23, 24});
  CHECK(kept == data.subset({24, 23, 22, 21, 20}));
  CHECK(!(kept == data.subset({20, 21, 22, 23})));
  mds::loader<> loader(
      {.remote = dir / "data", .local = dir / "cache", .subset = kept, .batch_size = 2});
  ids_list ids;
  for (const auto& batch : read(loader)) ids.insert(ids.end(), batch.begin(), batch.end());
  std::ranges::sort(ids);
  CHECK(ids == ids_list{20, 21, 22, 23, 24});
  CHECK(loader.counters().shards_fetched == 1);  // the others have none of them
}

TEST_CASE("subsets that cannot be meant are refused") {
  using namespace subset_test;
  using mds::errc;
  const scratch dir;
  support::write_plain_dataset(dir / "a", {20, 20});
  support::write_plain_dataset(dir / "b", {10}, 40);
  const mds::dataset<> data({.streams = {{.local = dir / "a"}, {.local = dir / "b"}}});
  support::expect_error([&] { (void)data.subset({3, 50}); }, errc::out_of_range,
                        {"sample 50", "50 samples"});
  support::expect_error([&] { (void)data.subset({3, 7, 3}); }, errc::invalid_argument,
                        {"sample 3", "twice"});
  for (const std::vector<double>& wrong :
       {std::vector<double>{0.5, -0.1}, {0.5, std::nan("")}, {HUGE_VAL}, {0.9, 0.2}})
    support::expect_error([&] { (void)data.split(wrong, 1); }, errc::invalid_argument, {"split"});

  const auto refused = [&](const mds::sample_subset& of, std::string_view why,
                           mds::bad_shards bad = mds::bad_shards::error) {
    support::expect_error(
        [&] {
          const mds::loader<> loader({.streams = {{.local = dir / "a"}, {.local = dir / "b"}},
                                      .subset = of,
                                      .batch_size = 2,
                                      .on_bad_shard = bad});
        },
        errc::invalid_argument, {why});
  };
  refused(mds::sample_subset({1, 45}, 49), "49 samples");
  refused(data.subset({}), "the subset has no samples");
  refused(data.subset({1, 2}), "no sample of stream 1");
  refused(data.subset({1, 45}), "not in the subset", mds::bad_shards::substitute);
}

TEST_CASE("a subset of all samples is the dataset to a state") {
  using namespace subset_test;
  const scratch dir;
  support::write_plain_dataset(dir / "a", {20, 20});
  const mds::dataset<> data({.local = dir / "a"});
  const auto open = [&](std::optional<mds::sample_subset> of) {
    return mds::loader<>({.local = dir / "a", .subset = std::move(of), .batch_size = 3, .seed = 5});
  };
  auto whole = open({}), all = open(mds::sample_subset::all(data.size()));
  for (auto* const each : {&whole, &all})
    for (const auto& batch : each->epoch())
      if (batch.number() == 1) break;
  CHECK(whole.state() == all.state());
  const std::string state = whole.state();
  CHECK_NOTHROW(open(mds::sample_subset::all(data.size())).load_state(state));
  CHECK_THROWS_AS(open(data.subset({1, 30})).load_state(state), mds::error);
}

TEST_CASE("a subset that was moved from is still the subset") {
  mds::sample_subset from({3, 1}, 5);
  const mds::sample_subset to = std::move(from);
  CHECK(from == to);
  CHECK(from.size() == 2);
}
