#include <mdstream/collate/transform.hpp>

#include <mdstream/mdstream.hpp>
#include <mdstream/stream/detail/vetoed.hpp>

#include <algorithm>
#include <asio/use_future.hpp>
#include <atomic>
#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/plain_dataset.hpp"
#include "support/seed.hpp"

// Transforms that make none, one or several samples of each. A batch has all results of the samples
// of its place in the order, however many they are, so that nothing else depends on their number.

namespace mds = mdstream;
using namespace mds::literals;

namespace results_test {

using scratch_directory::scratch;
using rows =
    mds::schema<mds::column<"tokens", mds::ndarray<std::uint16_t>>, mds::column<"id", mds::int_>>;

/// Cuts the tokens of a sample into up to three pieces, by chance: none of some.
struct chop {
  using output =
      mds::schema<mds::column<"tokens", mds::ndarray<std::uint16_t>>, mds::column<"id", mds::int_>,
                  mds::column<"piece", std::int32_t>, mds::column<"noise", std::uint64_t>>;
  void operator()(const mds::sample_view<rows>& in, mds::results_writer<output>& out,
                  mds::sample_generator& random) const {
    const auto tokens = in.get<"tokens">();
    const std::vector<std::uint16_t> all(tokens.begin(), tokens.end());
    const std::uint64_t pieces = random.below(4);
    for (std::uint64_t k = 0; k < pieces; ++k) {
      const auto begin = static_cast<std::ptrdiff_t>(all.size() * k / pieces);
      const auto end = static_cast<std::ptrdiff_t>(all.size() * (k + 1) / pieces);
      out.write(std::vector<std::uint16_t>(all.begin() + begin, all.begin() + end), in.get<"id">(),
                static_cast<std::int32_t>(k), random());
    }
  }
};

template <class Collator>
using chopped = mds::policies<rows, chop, Collator>;
using ragged = mds::collate::ragged;
using padded = mds::collate::padded<mds::collate::padding{.multiple = 4}>;
using packed = mds::collate::packed<mds::collate::packing{.row = 24, .group = 2}>;
using none = mds::collate::none;

struct dataset {
  scratch dir;
  static constexpr std::uint64_t samples = 156, global_batch = 24;
  dataset() {
    mds::writer<mds::policies<rows>> out({.out = dir / "data", .size_limit = 800});
    for (std::int64_t id = 0; id < static_cast<std::int64_t>(samples); ++id) {
      std::vector<std::uint16_t> tokens(static_cast<std::size_t>(3 + id * 7 % 17));
      for (auto& each : tokens) each = static_cast<std::uint16_t>(id * 31 + (&each - &tokens[0]));
      out.write(tokens, id);
    }
    out.finish();
  }
  [[nodiscard]] mds::loader_options options(const mds::world& of = {}) const {
    return {.remote = dir / "data",
            .local = dir / "cache",
            .global_batch_size = global_batch,
            .shuffle_block_size = 60,
            .num_canonical_nodes = 2,
            .world = of,
            .threads = 2};
  }
};

/// A row of a batch, whatever its collator.
using row = std::tuple<std::int64_t, std::int32_t, std::uint64_t, std::vector<std::uint16_t>>;

template <class Batch>
std::vector<row> rows_of(const Batch& batch) {
  using collator = typename Batch::collator;
  std::vector<row> out(batch.size());
  const auto put = [&out](std::size_t i, std::int64_t id, std::int32_t piece, std::uint64_t noise,
                          const auto& tokens) {
    out[i] = {id, piece, noise, {tokens.begin(), tokens.end()}};
  };
  if constexpr (std::same_as<collator, none>) {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto one = batch.sample(i);
      put(i, one.template get<"id">(), one.template get<"piece">(), one.template get<"noise">(),
          one.template get<"tokens">());
    }
  } else {
    const auto id = batch.template get<"id">();
    const auto piece = batch.template get<"piece">();
    const auto noise = batch.template get<"noise">();
    const auto tokens = batch.template get<"tokens">();
    CHECK(id.size() == batch.size());
    if constexpr (std::same_as<collator, packed>) {
      std::vector<std::vector<std::uint16_t>> all(batch.size());
      for (const mds::packed_run& run : batch.packing())
        if (!run.is_padding()) {
          const auto part = tokens.values().subspan(run.begin, run.size);
          auto& to = all[static_cast<std::size_t>(run.sample)];
          to.insert(to.end(), part.begin(), part.end());
        }
      for (std::size_t i = 0; i < batch.size(); ++i) put(i, id[i], piece[i], noise[i], all[i]);
    } else {
      CHECK(tokens.size() == batch.size());
      for (std::size_t i = 0; i < batch.size(); ++i) put(i, id[i], piece[i], noise[i], tokens[i]);
    }
  }
  for (std::size_t i = 0; i < batch.size(); ++i) CHECK(batch.ids()[i] == std::get<0>(out[i]));
  CHECK(batch.real_size() == batch.size());
  return out;
}

using batch_key = std::pair<std::uint64_t, std::uint64_t>;  // epoch and batch
/// Of each sample of each global batch its results, in their order.
using results = std::map<std::pair<batch_key, std::int64_t>, std::vector<row>>;

constexpr std::uint64_t full_batches = dataset::samples / dataset::global_batch;

/// Goes on from a state, if there is one.
template <class Loader>
void go_on(Loader& loader, const std::string& state) {
  if (!state.empty()) loader.load_state(state);
}

/// What a loader without the transform reads in so many batches, by batch.
template <class Collator>
std::map<batch_key, std::vector<std::int64_t>> ids_read(const mds::loader_options& options,
                                                        const std::string& state,
                                                        std::size_t most) {
  mds::loader<mds::policies<rows, Collator>> loader(options);
  go_on(loader, state);
  std::map<batch_key, std::vector<std::int64_t>> out;
  for (const auto& batch : loader.epoch()) {
    out[{batch.epoch(), batch.number()}].assign(batch.ids().begin(), batch.ids().end());
    if (--most == 0) break;
  }
  return out;
}

/// Reads so many batches of one epoch on one rank, which has to have the results of the samples
/// that it reads without the transform, in their order.
template <class Collator>
void read(const mds::loader_options& options, std::string& state, std::size_t most, results& out) {
  const auto samples = ids_read<Collator>(options, state, most);
  mds::loader<chopped<Collator>> loader(options);
  go_on(loader, state);
  mds::result_counts expected;
  std::size_t batches = 0;
  for (const auto& batch : loader.epoch()) {
    const batch_key at{batch.epoch(), batch.number()};
    const auto got = rows_of(batch);
    auto next = got.begin();
    for (const std::int64_t id : samples.at(at)) {
      auto& of_sample = out[{at, id}];
      of_sample.clear();  // the last batch repeats samples
      for (; next != got.end() && std::get<0>(*next) == id &&
             std::get<1>(*next) == static_cast<std::int32_t>(of_sample.size());
           ++next)
        of_sample.push_back(*next);
      ++expected.samples;
      expected.results += of_sample.size();
      expected.vetoed += of_sample.empty() ? 1 : 0;
    }
    CHECK(next == got.end());
    if (++batches == most) break;
  }
  CHECK(batches == samples.size());
  CHECK(loader.results() == expected);
  state = loader.state();
}

template <class Collator>
void same_in_any_world(const dataset& data, std::mt19937& random) {
  results expected;
  std::string at_end;
  read<Collator>(data.options(), at_end, 1000, expected);
  read<Collator>(data.options(), at_end, 1000, expected);
  for (const mds::world& of : {mds::world{.ranks_per_node = 2}, mds::world{.ranks_per_node = 3},
                               mds::world{.nodes = 2, .ranks_per_node = 3}}) {
    INFO(of.text());
    results got;
    std::string state;
    for (std::uint64_t epoch = 0, done = 0; epoch < 2;) {
      // Behind the last full batch the rest of an epoch is not the same in every world.
      const std::uint64_t most =
          done == full_batches ? 1000
                               : std::min<std::uint64_t>(1 + random() % 4, full_batches - done);
      const std::string from = state;
      for (std::uint64_t rank = 0; rank < of.num_ranks(); ++rank) {
        auto options = data.options(of);
        options.world->rank = rank;
        options.prefetch_limit = mds::byte_size(random() % 3 * 4000);
        options.threads = 1 + static_cast<unsigned>(random() % 3);
        state = from;
        read<Collator>(options, state, most, got);
      }
      epoch += done == full_batches ? 1 : 0;
      done = done == full_batches ? 0 : done + most;
    }
    for (const auto& [where, all] : expected) {
      if (where.first.second >= full_batches) continue;
      INFO("epoch " << where.first.first << ", batch " << where.first.second << ", sample "
                    << where.second);
      REQUIRE(got.contains(where));
      CHECK(got.at(where) == all);
    }
  }
}

using numbers = mds::schema<mds::column<"id", mds::int_>>;

/// Keeps what the test says.
struct keep_if {
  using output = numbers;
  std::function<bool(std::int64_t id)> keeps;
  void operator()(const mds::sample_view<numbers>& in, mds::results_writer<output>& out,
                  mds::sample_generator&) const {
    if (keeps(in.get<"id">())) out.write(in);
  }
};
using kept = mds::policies<numbers, keep_if>;

struct ids_of_shards {
  scratch dir;
  explicit ids_of_shards(std::uint64_t samples) {
    support::write_plain_dataset(dir / "data", std::vector<std::uint64_t>(samples / 20, 20));
  }
  [[nodiscard]] mds::loader_options options(std::uint64_t batch_size) const {
    return {.remote = dir / "data",
            .local = dir / "cache",
            .batch_size = batch_size,
            .shuffle = false,
            .world = mds::world{},
            .threads = 2};
  }
};

/// One whose writer is a template makes one sample of each.
struct of_any_writer {
  using output = numbers;
  void operator()(const mds::sample_view<numbers>& in, auto& out, mds::sample_generator&) const {
    out.write(in.get<"id">());
  }
};
static_assert(mds::sample_transform<of_any_writer, numbers>);
static_assert(!mds::detail::makes_results<of_any_writer, numbers>);

keep_if nothing() {
  return {[](std::int64_t) { return false; }};
}

}  // namespace results_test

TEST_CASE("a global batch has the results of its samples, in any world and from any state") {
  using namespace results_test;
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const dataset data;
  SECTION("ragged") { same_in_any_world<ragged>(data, random); }
  SECTION("padded") { same_in_any_world<padded>(data, random); }
  SECTION("packed") { same_in_any_world<packed>(data, random); }
  SECTION("samples as they are") { same_in_any_world<none>(data, random); }
}

TEST_CASE("packs of results are the same on any number of ranks") {
  using namespace results_test;
  const dataset data;
  using blocks = std::map<std::uint64_t, std::vector<std::uint16_t>>;
  const auto blocks_of = [&data](std::uint64_t ranks) {
    blocks out;
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
      mds::loader<chopped<packed>> loader(data.options({.ranks_per_node = ranks, .rank = rank}));
      for (const auto& batch : loader.epoch()) {
        if (batch.number() >= full_batches) break;
        const auto tokens = batch.get<"tokens">().values();
        auto& all = out[batch.number()];
        all.insert(all.end(), tokens.begin(), tokens.end());
      }
    }
    return out;
  };
  const blocks expected = blocks_of(1);
  CHECK(expected.size() == full_batches);
  CHECK(blocks_of(2) == expected);
  CHECK(blocks_of(3) == expected);
  CHECK(blocks_of(6) == expected);
}

TEST_CASE("a batch without results is handed out, with columns of no rows") {
  using namespace results_test;
  const ids_of_shards data(240);
  const keep_if some{[](std::int64_t id) { return id / 24 % 2 == 1 && id % 3 == 0; }};
  const auto read = [&]<class Collator>(Collator) {
    mds::loader<mds::policies<numbers, keep_if, Collator>> loader(data.options(24), some);
    std::uint64_t number = 0;
    for (const auto& batch : loader.epoch()) {
      CHECK(batch.number() == number);
      CHECK(batch.size() == number % 2 * 8);
      CHECK(batch.empty() == (number % 2 == 0));
      CHECK(mds::parse_state(loader.state()).at.sample_in_epoch == ++number * 24);
      if constexpr (std::same_as<Collator, none>) {
        for (std::size_t i = 0; i < batch.size(); ++i)
          CHECK(batch.sample(i).template get<"id">() == batch.ids()[i]);
      } else {
        const auto id = batch.template get<"id">();
        CHECK(std::ranges::equal(id, batch.ids()));
        CHECK(id.shape() == mds::array_shape{batch.size()});
      }
    }
    CHECK(number == 10);
    CHECK(loader.results() == mds::result_counts{.samples = 240, .results = 40, .vetoed = 200});
    CHECK(loader.estimated_results() == 40);
  };
  read(mds::collate::dense{});
  read(ragged{});
  read(padded{});
  read(none{});
}

TEST_CASE("sequences of no results: offsets, masks, packs") {
  using namespace results_test;
  const dataset data;
  struct drop {
    using output = rows;
    void operator()(const mds::sample_view<rows>& in, mds::results_writer<output>& out,
                    mds::sample_generator&) const {
      if (in.get<"id">() >= 24) out.write(in);
    }
  };
  auto options = data.options();
  options.shuffle = false;
  options.batching = mds::batching_method::once;
  const auto first = [&]<class Collator>(Collator, auto check) {
    mds::loader<mds::policies<rows, drop, Collator>> loader(options);
    typename mds::loader<mds::policies<rows, drop, Collator>>::batch_type batch;
    auto epoch = loader.epoch();
    REQUIRE(epoch.next(batch));
    CHECK(batch.empty());
    check(batch);
    REQUIRE(epoch.next(batch));
    CHECK(batch.size() == 24);
  };
  first(ragged{}, [](const auto& batch) {
    const auto offsets = batch.template get<"tokens">().offsets();
    CHECK(std::vector<std::int64_t>(offsets.begin(), offsets.end()) ==
          std::vector<std::int64_t>{0});
  });
  first(padded{}, [](const auto& batch) {
    CHECK(batch.template get<"tokens">().mask().empty());
    CHECK(batch.template get<"tokens">().lengths().empty());
  });
  first(packed{}, [](const auto& batch) {
    CHECK(batch.template get<"tokens">().size() == 0);
    CHECK(batch.packing().empty());
    CHECK(batch.packing().cu_seqlens().size() == 1);
  });
  first(none{}, [](const auto& batch) {
    support::expect_error([&] { static_cast<void>(batch.sample(0)); }, mds::errc::out_of_range,
                          {"sample 0 of a batch of 0"});
  });
}

TEST_CASE("a sample is kept as the schema has it, whatever columns lie in its shard") {
  using namespace results_test;
  const scratch dir;
  using stored = mds::schema<mds::column<"name", mds::str>, mds::column<"id", mds::int_>,
                             mds::column<"tokens", mds::ndarray<std::uint16_t>>>;
  {
    mds::writer<mds::policies<stored>> out({.out = dir / "data"});
    for (std::int64_t id = 0; id < 30; ++id)
      out.write("sample " + std::to_string(id), id,
                std::vector<std::uint16_t>(static_cast<std::size_t>(id + 1),
                                           static_cast<std::uint16_t>(id)));
    out.finish();
  }
  struct odd {
    using output = rows;
    void operator()(const mds::sample_view<rows>& in, mds::results_writer<output>& out,
                    mds::sample_generator&) const {
      if (in.get<"id">() % 2 != 0) out.write(in);
    }
  };
  mds::loader<mds::policies<rows, odd>> loader(
      {.local = dir / "data", .batch_size = 10, .shuffle = false, .world = mds::world{}});
  std::int64_t expected = 1;
  for (const auto& batch : loader.epoch()) {
    CHECK(batch.size() == 5);
    const auto id = batch.get<"id">();
    const auto tokens = batch.get<"tokens">();
    for (std::size_t i = 0; i < batch.size(); ++i, expected += 2) {
      CHECK(id[i] == expected);
      CHECK(tokens[i].size() == static_cast<std::size_t>(expected + 1));
      CHECK(std::ranges::all_of(tokens[i], [&](auto each) { return each == expected; }));
    }
  }
  CHECK(expected == 31);
}

TEST_CASE("once: padding has no results") {
  using namespace results_test;
  const ids_of_shards data(100);
  auto options = data.options(0);
  options.global_batch_size = 24;
  options.batching = mds::batching_method::once;
  std::vector<std::int64_t> got;
  std::uint64_t vetoed = 0;
  for (std::uint64_t rank = 0; rank < 3; ++rank) {
    options.world = mds::world{.nodes = 3, .rank = rank};
    mds::loader<kept> loader(options, {[](std::int64_t id) { return id % 4 != 1; }});
    std::uint64_t batches = 0;
    for (const auto& batch : loader.epoch()) {
      got.insert(got.end(), batch.ids().begin(), batch.ids().end());
      ++batches;
    }
    CHECK(batches == 5);
    vetoed += loader.results().vetoed;
  }
  CHECK(vetoed == 25);
  std::ranges::sort(got);
  REQUIRE(got.size() == 75);
  for (std::size_t i = 0; i < got.size(); ++i) {
    CHECK(got[i] % 4 != 1);
    if (i != 0) CHECK(got[i] > got[i - 1]);
  }
}

TEST_CASE("an epoch whose samples are all vetoed ends with an error, and the next one begins") {
  using namespace results_test;
  const ids_of_shards data(240);
  mds::loader<kept> loader(data.options(24), nothing());
  for (std::uint64_t e = 0; e < 2; ++e) {
    auto epoch = loader.epoch();
    mds::loader<kept>::batch_type batch;
    for (int i = 0; i < 10; ++i) {
      REQUIRE(epoch.next(batch));
      CHECK(batch.empty());
      CHECK(batch.epoch() == e);
    }
    const std::string what = "vetoed all 240 samples of epoch " + std::to_string(e);
    support::expect_error([&] { epoch.next(batch); }, mds::errc::transform_failed, {what});
    support::expect_error([&] { epoch.next(batch); }, mds::errc::transform_failed, {what});
    try {
      epoch.async_next(asio::use_future).get();
      FAIL("the end of the epoch is no error");
    } catch (const mds::error& failure) {
      CHECK(failure.code() == mds::errc::transform_failed);
      CHECK(std::string(failure.what()).find(what) != std::string::npos);
    }
  }
  CHECK(loader.results().vetoed == 2 * 240);  // of two epochs
  CHECK(loader.estimated_results() == 0);
}

TEST_CASE("what a rank can not know is no error: others' results, and those before a resume") {
  using namespace results_test;
  const ids_of_shards data(1200);
  const auto run = [&](std::uint64_t ranks, const std::string& state) {
    auto options = data.options(24);
    options.world = mds::world{.ranks_per_node = ranks};
    mds::loader<kept> loader(options, nothing());
    if (!state.empty()) loader.load_state(state);
    std::string at_40;
    for (const auto& batch : loader.epoch())
      if (batch.number() == 40) at_40 = loader.state();
    return at_40;
  };
  support::expect_error([&] { run(1, {}); }, mds::errc::transform_failed, {"of epoch 0"});
  run(4, {});
  std::string state;
  {
    mds::loader<kept> loader(data.options(24), nothing());
    for (const auto& batch : loader.epoch()) {
      state = loader.state();
      if (batch.number() == 40) break;
    }
  }
  run(1, state);
  constexpr auto all = [](std::uint64_t vetoed) {
    return mds::result_counts{.samples = vetoed, .vetoed = vetoed};
  };
  static_assert(mds::detail::vetoes_all(all(1), 1) && !mds::detail::vetoes_all(all(0), 1));
  constexpr std::uint64_t enough = mds::detail::enough_vetoed;
  static_assert(mds::detail::vetoes_all(all(enough), 2) &&
                !mds::detail::vetoes_all(all(enough - 1), 2));
  static_assert(!mds::detail::vetoes_all({.samples = 999, .results = 1, .vetoed = 998}, 1));
}

TEST_CASE("observers hear of results and of vetoed samples") {
  using namespace results_test;
  const ids_of_shards data(240);
  struct recorder {
    std::vector<mds::observe::step>* steps;
    void operator()(const mds::observe::step& what) const { steps->push_back(what); }
  };
  std::vector<mds::observe::step> steps;
  using watched = kept::with<recorder>;
  mds::loader<watched> loader(data.options(24), {[](std::int64_t id) { return id % 8 == 0; }},
                              recorder{&steps});
  CHECK(loader.estimated_results() == 240);
  for (const auto& batch : loader.epoch()) CHECK(batch.size() == 3);
  REQUIRE(steps.size() == 10);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    CHECK(steps[i].samples == 24);
    CHECK(steps[i].results == 3);
    CHECK(steps[i].vetoed == 21);
    CHECK(steps[i].sum.samples == 24 * (i + 1));
    CHECK(steps[i].sum.results == 3 * (i + 1));
    CHECK(steps[i].sum.vetoed == 21 * (i + 1));
  }
  CHECK(loader.estimated_results() == 30);
}

TEST_CASE("what fails after a result leaves none: the error names the sample, or another is read") {
  using namespace results_test;
  const ids_of_shards data(240);
  struct twice {
    using output = numbers;
    void operator()(const mds::sample_view<numbers>& in, mds::results_writer<output>& out,
                    mds::sample_generator&) const {
      out.write(in);
      if (in.get<"id">() == 77) throw std::runtime_error("cut off");
      out.write(in.get<"id">() + 1000);
    }
  };
  using split = mds::policies<numbers, twice>;
  auto options = data.options(24);
  const auto read = [&options] {
    mds::loader<split> loader(options);
    std::vector<std::int64_t> got;
    for (const auto& batch : loader.epoch()) {
      const auto id = batch.get<"id">();
      CHECK(batch.size() == 48);
      got.insert(got.end(), id.begin(), id.end());
    }
    return got;
  };
  support::expect_error([&] { read(); }, mds::errc::transform_failed, {"sample 77 (", "cut off"});
  options.on_bad_sample = mds::bad_samples::substitute;
  options.warn = [](const std::string&) {};
  const auto got = read();
  REQUIRE(got.size() == 2 * 240);
  for (std::int64_t i = 0; i < 240; ++i) {
    const std::int64_t id = i == 77 ? 78 : i;
    CHECK(got[static_cast<std::size_t>(2 * i)] == id);
    CHECK(got[static_cast<std::size_t>(2 * i + 1)] == id + 1000);
  }
}

TEST_CASE("a result that the collator refuses is named by its sample, and can be substituted") {
  using namespace results_test;
  const dataset data;
  struct grow {  // two results of each, of which one of sample 30 does not fit its row
    using output = rows;
    void operator()(const mds::sample_view<rows>& in, mds::results_writer<output>& out,
                    mds::sample_generator&) const {
      if (in.get<"id">() % 2 != 0) return;
      out.write(in);
      out.write(std::vector<std::uint16_t>(in.get<"id">() == 30 ? 25U : 1U), in.get<"id">());
    }
  };
  auto options = data.options();
  options.shuffle = false;
  options.batching = mds::batching_method::once;
  const auto read = [&options] {
    std::vector<std::int64_t> ids;
    mds::loader<mds::policies<rows, grow, packed>> loader(options);
    for (const auto& batch : loader.epoch())
      ids.insert(ids.end(), batch.ids().begin(), batch.ids().end());
    return ids;
  };
  const auto at = mds::loader<mds::policies<rows>>(options).origin(30);
  support::expect_error([&] { read(); }, mds::errc::out_of_range,
                        {"a sequence of 25 elements", "shard " + std::to_string(at.shard) +
                                                          ", sample " + std::to_string(at.index)});
  options.on_bad_sample = mds::bad_samples::substitute;
  options.warn = [](const std::string&) {};
  const auto ids = read();  // 31 has no results
  CHECK(std::ranges::count(ids, 30) == 0);
  CHECK(ids.size() == 2 * (dataset::samples / 2 - 1));
}

TEST_CASE("batches of which little is left fill the ring as their samples do") {
  using namespace results_test;
  const ids_of_shards data(4800);
  std::atomic<std::uint64_t> begun{0};
  auto options = data.options(24);
  options.prefetch_limit = mds::byte_size(3 * 24 * 8);  // of three batches
  mds::loader<kept> loader(options, {[&](std::int64_t id) {
                             ++begun;
                             return id % 1000 == 0;
                           }});
  std::uint64_t number = 0;
  for (const auto& batch : loader.epoch()) {
    ++number;
    CHECK(batch.size() <= 1);
    CHECK(begun <= 24 * (number + 3));
  }
  CHECK(number == 200);
}
