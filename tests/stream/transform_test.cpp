#include <mdstream/collate/transform.hpp>

#include <mdstream/launch/environment.hpp>
#include <mdstream/mdstream.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/use_future.hpp>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/plain_dataset.hpp"

// A program's own code between shards and batches.

namespace mds = mdstream;
using namespace mds::literals;

namespace transform_test {

using scratch_directory::scratch;
using numbers = mds::schema<mds::column<"id", mds::int_>>;

/// A sample's id, and four numbers of its generator.
struct augment {
  using output = mds::schema<mds::column<"noise", mds::ndarray<std::uint64_t, 4>>,
                             mds::column<"id", std::int32_t>>;
  void operator()(const mds::sample_view<numbers>& in, mds::sample_writer<output>& out,
                  mds::sample_generator& random) const {
    const std::vector<std::uint64_t> noise{random(), random(), random.below(10), random()};
    out.write(noise, static_cast<std::int32_t>(in.get<"id">()));
  }
};

/// Does what the test says.
struct scripted {
  using output = numbers;
  std::function<void(std::int64_t id)> script;
  bool writes = true;
  void operator()(const mds::sample_view<numbers>& in, mds::sample_writer<output>& out,
                  mds::sample_generator&) const {
    const auto id = in.get<"id">();
    script(id);
    if (writes) out.write(-id);
  }
};

template <class Transform>
using policies = mds::policies<numbers, mds::collate::dense, Transform>;

struct dataset {
  scratch dir;
  dataset() { support::write_plain_dataset(dir / "data", std::vector<std::uint64_t>(12, 20)); }
  [[nodiscard]] auto options(unsigned threads = 2) const {
    return mds::loader<policies<augment>>::options{.remote = dir / "data",
                                                   .local = dir / "cache",
                                                   .global_batch_size = 24,
                                                   .shuffle_block_size = 60,
                                                   .num_canonical_nodes = 1,
                                                   .world = mds::world{},
                                                   .threads = threads};
  }
};

/// Noise of each sample by global batch, of all ranks.
using augmented = std::map<std::pair<std::uint64_t, std::int64_t>, std::vector<std::uint64_t>>;
template <class Batch>
void collect(const Batch& batch, augmented& out) {
  const auto noise = batch.template get<"noise">();
  const auto id = batch.template get<"id">();
  CHECK(noise.shape() == mds::array_shape{batch.size(), 4});
  for (std::size_t i = 0; i < batch.size(); ++i) {
    CHECK(id[i] == batch.ids()[i]);
    const auto row = noise[i];
    out[{batch.number(), batch.ids()[i]}].assign(row.begin(), row.end());
  }
}
augmented run(const dataset& data, std::uint64_t nodes, std::uint64_t ranks, unsigned threads,
              mds::byte_size ahead = 1_MiB) {
  augmented out;
  for (std::uint64_t rank = 0; rank < nodes * ranks; ++rank) {
    auto options = data.options(threads);
    options.world = mds::world{.nodes = nodes, .ranks_per_node = ranks, .rank = rank};
    options.prefetch_limit = ahead;
    mds::loader<policies<augment>> loader(options);
    for (const auto& batch : loader.epoch()) collect(batch, out);
  }
  return out;
}

}  // namespace transform_test

TEST_CASE(
    "what a transform draws depends on seed, epoch and sample, in any world and on any threads") {
  using namespace transform_test;
  const dataset data;
  const augmented expected = run(data, 1, 1, 1);
  CHECK(expected.size() == 240);
  std::map<std::vector<std::uint64_t>, int> distinct;
  for (const auto& [where, noise] : expected) {
    CHECK(noise[2] < 10);
    ++distinct[noise];
  }
  CHECK(distinct.size() == 240);
  CHECK(run(data, 1, 1, 4) == expected);
  CHECK(run(data, 1, 2, 2) == expected);
  CHECK(run(data, 3, 1, 1, mds::byte_size(1)) == expected);
  CHECK(run(data, 2, 3, 2) == expected);
}

TEST_CASE("a resumed run draws what the whole one drew, another epoch something else") {
  using namespace transform_test;
  const dataset data;
  const augmented expected = run(data, 1, 1, 2);
  augmented got;
  std::string state;
  {
    mds::loader<policies<augment>> loader(data.options());
    for (const auto& batch : loader.epoch()) {
      collect(batch, got);
      state = loader.state();
      if (batch.number() == 4) break;
    }
  }
  mds::loader<policies<augment>> resumed(data.options());
  resumed.load_state(state);
  for (const auto& batch : resumed.epoch()) collect(batch, got);
  CHECK(got == expected);
  augmented second;
  for (const auto& batch : resumed.epoch()) collect(batch, second);
  for (const auto& [where, noise] : second) {
    const auto before = expected.find(where);
    if (before != expected.end()) CHECK(noise != before->second);
  }
}

TEST_CASE("a sample that comes twice in an epoch is drawn for twice") {
  using namespace transform_test;
  const dataset data;
  auto options = data.options();
  options.streams = {{.local = data.dir / "data", .repeat = 2.0}};
  options.remote.clear();
  options.local.clear();
  mds::loader<policies<augment>> loader(options);
  std::map<std::vector<std::uint64_t>, int> distinct;
  for (const auto& batch : loader.epoch()) {
    const auto noise = batch.get<"noise">();
    for (std::size_t i = 0; i < batch.size(); ++i) ++distinct[{noise[i].begin(), noise[i].end()}];
  }
  CHECK(distinct.size() == 480);
}

TEST_CASE("what a transform throws reaches the caller with the sample's id, again at every call") {
  using namespace transform_test;
  const dataset data;
  auto options = data.options();
  options.shuffle = false;
  struct own_failure : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  mds::loader<policies<scripted>> loader(options, {.script = [](std::int64_t id) {
                                           if (id == 77 || id == 80)
                                             throw own_failure("no such crop");
                                         }});
  auto epoch = loader.epoch();
  mds::loader<policies<scripted>>::batch_type batch;
  for (int i = 0; i < 3; ++i) REQUIRE(epoch.next(batch));
  CHECK(batch.get<"id">()[0] == -48);
  for (int again = 0; again < 2; ++again) {
    try {
      epoch.next(batch);
      FAIL("the transform's exception was lost");
    } catch (const mds::error& e) {
      CHECK(e.code() == mds::errc::transform_failed);
      CHECK(std::string(e.what()).find("sample 77 (") != std::string::npos);
      CHECK(std::string(e.what()).find("shard 3, sample 17") != std::string::npos);
      CHECK(std::string(e.what()).find("because: no such crop") != std::string::npos);
      CHECK_THROWS_AS(std::rethrow_if_nested(e), own_failure);
    }
  }
  CHECK(mds::parse_state(loader.state()).at.sample_in_epoch == 72);
}

TEST_CASE("a transform that makes another shape, nothing or two samples is an error") {
  using namespace transform_test;
  const dataset data;
  struct other_shape {
    using output = mds::schema<mds::column<"x", mds::ndarray<float, 3>>>;
    void operator()(const mds::sample_view<numbers>& in, mds::sample_writer<output>& out,
                    mds::sample_generator&) const {
      const auto id = in.get<"id">();
      out.write(std::vector<float>(id == 5 ? 2 : 3));
      if (id == 6) out.write(std::vector<float>(3));
    }
  };
  auto options = data.options();
  options.shuffle = false;
  mds::loader<policies<other_shape>> loader(options);
  mds::loader<policies<other_shape>>::batch_type batch;
  support::expect_error([&] { loader.epoch().next(batch); }, mds::errc::invalid_argument,
                        {"sample 5 (", "column \"x\""});
  mds::loader<policies<scripted>> silent(options, {.script = [](std::int64_t) {}, .writes = false});
  mds::loader<policies<scripted>>::batch_type none;
  support::expect_error([&] { silent.epoch().next(none); }, mds::errc::invalid_argument,
                        {"sample 0 (", "wrote no sample"});
}

TEST_CASE("a transform writes values by the names of columns, in any order") {
  using namespace transform_test;
  const dataset data;
  struct named {
    using output = mds::schema<mds::column<"plus", mds::int_>, mds::column<"minus", mds::int_>>;
    void operator()(const mds::sample_view<numbers>& in, mds::sample_writer<output>& out,
                    mds::sample_generator&) const {
      const auto id = in.get<"id">();
      out.write(mds::col<"minus">(-id), mds::col<"plus">(id));
    }
  };
  struct named_twice {
    using output = named::output;
    void operator()(const mds::sample_view<numbers>& in, mds::results_writer<output>& out,
                    mds::sample_generator&) const {
      const auto id = in.get<"id">();
      for (int i = 0; i < 2; ++i) out.write(mds::col<"minus">(-id), mds::col<"plus">(id));
    }
  };
  const auto check = [&]<class Transform>(Transform transform, std::size_t each) {
    mds::loader<policies<Transform>> loader(data.options(), transform);
    for (auto& batch : loader.epoch()) {
      CHECK(batch.size() == 24 * each);
      for (std::size_t i = 0; i < batch.size(); ++i) {
        CHECK(batch.template get<"plus">()[i] == batch.ids()[i]);
        CHECK(batch.template get<"minus">()[i] == -batch.ids()[i]);
      }
    }
  };
  check(named(), 1);
  check(named_twice(), 2);
}

TEST_CASE("batches ahead are bounded in bytes, and come in order however long each takes") {
  using namespace transform_test;
  const dataset data;
  std::atomic<std::int64_t> begun{0};
  auto options = data.options(4);
  options.prefetch_limit = mds::byte_size(3 * 256);  // a batch of 24 ids takes 256 bytes
  mds::loader<policies<scripted>> loader(options, {.script = [&](std::int64_t id) {
                                           ++begun;
                                           if (id % 7 == 0) std::this_thread::yield();
                                         }});
  std::uint64_t number = 0;
  for (const auto& batch : loader.epoch()) {
    CHECK(batch.number() == number++);
    for (std::size_t i = 0; i < batch.size(); ++i) REQUIRE(batch.get<"id">()[i] == -batch.ids()[i]);
    // This one and three that wait: also at the beginning, when no size is known yet.
    CHECK(begun <= static_cast<std::int64_t>(24 * (number + 3)));
  }
  CHECK(number == 10);
}

TEST_CASE("without a transform batches can be put together ahead too") {
  using namespace transform_test;
  const dataset data;
  using plain = mds::policies<numbers>;
  mds::loader<plain>::options options{.remote = data.dir / "data",
                                      .local = data.dir / "cache",
                                      .cache_limit = 100_KiB,
                                      .batch_size = 7,
                                      .world = mds::world{},
                                      .prefetch_limit = 4_KiB};
  const auto ids_of = [&options](mds::byte_size ahead) {
    options.prefetch_limit = ahead;
    mds::loader<plain> loader(options);
    std::vector<std::int64_t> ids;
    for (const auto& batch : loader.epoch()) {
      const auto column = batch.get<"id">();
      ids.insert(ids.end(), column.begin(), column.end());
    }
    return ids;
  };
  const auto expected = ids_of(mds::byte_size(0));
  CHECK(expected.size() == 240);
  CHECK(ids_of(4_KiB) == expected);
}

TEST_CASE("calls without blocking get the same batches from the ring, and can be cancelled") {
  using namespace transform_test;
  const dataset data;
  const augmented expected = run(data, 1, 1, 2);
  mds::loader<policies<augment>> loader(data.options());
  auto epoch = loader.epoch();
  augmented got;
  while (true) {
    try {
      collect(epoch.async_next(asio::use_future).get(), got);
    } catch (const mds::error& e) {
      CHECK(e.code() == mds::errc::end_of_epoch);
      break;
    }
  }
  CHECK(got == expected);

  std::promise<void> let_go;
  const auto released = let_go.get_future().share();
  mds::loader<policies<scripted>> blocking(data.options(1),
                                           {.script = [&](std::int64_t) { released.wait(); }});
  auto waiting = blocking.epoch();
  asio::cancellation_signal signal;
  std::promise<std::error_code> outcome;
  waiting.async_next(asio::bind_cancellation_slot(
      signal.slot(),
      [&](std::exception_ptr failure, auto) { outcome.set_value(mds::code_of(failure)); }));
  signal.emit(asio::cancellation_type::terminal);
  let_go.set_value();  // the answer comes by the pool, whose one thread the transform holds
  CHECK(outcome.get_future().get() == mds::errc::canceled);
  mds::loader<policies<scripted>>::batch_type batch;
  CHECK(waiting.next(batch));
  CHECK(batch.number() == 0);
}

TEST_CASE("a loader with batches on their way may be dropped at any point") {
  using namespace transform_test;
  const dataset data;
  for (unsigned round = 0; round < 40; ++round) {
    auto options = data.options(1 + round % 3);
    options.prefetch_limit = mds::byte_size(round % 5 * 300);
    mds::loader<policies<scripted>> loader(
        options, {.script = [](std::int64_t) { std::this_thread::yield(); }});
    auto epoch = loader.epoch();
    mds::loader<policies<scripted>>::batch_type batch;
    for (unsigned i = 0; i < round % 4; ++i) REQUIRE(epoch.next(batch));
    if (round % 2 != 0) {
      auto answered = std::make_shared<std::promise<void>>();
      const auto done = answered->get_future();
      epoch.async_next([answered](std::exception_ptr, auto) { answered->set_value(); });
      if (round % 4 == 1) done.wait();
    }
  }
}
