// States that continue although the batch size, the dataset or the mix is another: what is kept.

#include <mdstream/launch/environment.hpp>

#include <mdstream/mdstream.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/plain_dataset.hpp"

namespace mds = mdstream;

namespace accept_test {

using scratch_directory::scratch;
using ids_list = std::vector<std::int64_t>;

/// Two streams of eight and four shards.
struct two_streams {
  static constexpr std::uint64_t shard = 12, a = 8 * shard, b = 4 * shard;  // samples
  scratch dir;
  two_streams() {
    support::write_plain_dataset(dir / "a", std::vector<std::uint64_t>(8, shard), 0);
    support::write_plain_dataset(dir / "b", std::vector<std::uint64_t>(4, shard), a);
  }
  [[nodiscard]] mds::loader_options options(std::uint64_t global_batch_size,
                                            mds::world world = {}) const {
    return {.streams = {{.local = dir / "a"}, {.local = dir / "b"}},
            .global_batch_size = global_batch_size,
            .shuffle_block_size = 60,
            .num_canonical_nodes = 2,
            .world = world};
  }
};

/// Reads on to the end of the epoch, or so many batches.
ids_list read(mds::loader<>& loader, std::size_t most = 1'000'000) {
  ids_list out;
  for (const auto& batch : loader.epoch()) {
    const auto ids = batch.ids().first(batch.real_size());
    out.insert(out.end(), ids.begin(), ids.end());
    if (--most == 0) break;
  }
  return out;
}

/// What a loader of one rank warns of.
struct warned {
  std::vector<std::string> texts;
  [[nodiscard]] mds::warning_function to() {
    return [this](const std::string& text) { texts.push_back(text); };
  }
};

}  // namespace accept_test

TEST_CASE("with another global batch size the rest of the epoch is read, and the same samples") {
  using namespace accept_test;
  const two_streams data;
  const auto batching = GENERATE(mds::batching_method::random, mds::batching_method::once);
  const auto of = [&](std::uint64_t size, mds::world world = {}) {
    auto options = data.options(size, world);
    options.batching = batching;
    return options;
  };
  mds::loader<> uninterrupted(of(8));
  const ids_list whole = read(uninterrupted);
  REQUIRE(whole.size() == data.a + data.b);

  mds::loader<> before(of(8));
  ids_list got = read(before, 5);
  const std::string state = before.state();
  mds::loader<> after(of(16));
  support::expect_error([&] { after.load_state(state); }, mds::errc::state_mismatch,
                        {"global_batch_size 8", "16", "accept::global_batch_size"});
  support::expect_error([&] { after.load_state(state, mds::accept::dataset | mds::accept::mix); },
                        mds::errc::state_mismatch, {"global_batch_size"});
  after.load_state(state, mds::accept::global_batch_size);
  CHECK(after.next_epoch() == 0);
  CHECK(after.batches_left() == 7);  // 104 samples
  const ids_list rest = read(after);
  got.insert(got.end(), rest.begin(), rest.end());
  CHECK(got == whole);  // one rank reads the order as it is

  // Two ranks share what one has left.
  std::multiset<std::int64_t> shared(whole.begin(), whole.begin() + 40);
  for (std::uint64_t rank = 0; rank < 2; ++rank) {
    mds::loader<> one(of(26, {.ranks_per_node = 2, .rank = rank}));
    one.load_state(state, mds::accept::global_batch_size);
    for (const std::int64_t id : read(one)) shared.insert(id);
  }
  CHECK(shared == std::multiset<std::int64_t>(whole.begin(), whole.end()));
}

TEST_CASE("with another global batch size batches are numbered in that size") {
  using namespace accept_test;
  const two_streams data;
  mds::loader<> before(data.options(8));
  CHECK(read(before, 5).size() == 40);
  mds::loader<> after(data.options(16));
  after.load_state(before.state(), mds::accept::global_batch_size);
  auto epoch = after.epoch();
  CHECK((*epoch.begin()).number() == 40 / 16);
}

TEST_CASE("a batch size that grows in phases: every epoch has every sample once") {
  using namespace accept_test;
  const two_streams data;
  mds::loader<> uninterrupted(data.options(4));
  ids_list whole = read(uninterrupted);
  const ids_list second = read(uninterrupted);
  whole.insert(whole.end(), second.begin(), second.end());

  const std::vector<std::pair<std::uint64_t, std::size_t>> phases{{4, 9}, {8, 20}, {12, 100}};
  ids_list got;
  std::string state;
  for (const auto& [size, batches] : phases) {
    mds::loader<> loader(data.options(size));
    if (!state.empty()) loader.load_state(state, mds::accept::global_batch_size);
    std::size_t left = batches;
    while (left != 0 && loader.next_epoch() < 2)
      for (const auto& batch : loader.epoch()) {
        got.insert(got.end(), batch.ids().begin(), batch.ids().end());
        if (--left == 0) break;
      }
    state = loader.state();
  }
  CHECK(got == whole);
}

TEST_CASE("batches that are built of streams begin the next epoch with another batch size") {
  using namespace accept_test;
  const two_streams data;
  const auto batching = GENERATE(mds::batching_method::stratified, mds::batching_method::per_stream,
                                 mds::batching_method::device_per_stream);
  warned heard;
  const auto of = [&](std::uint64_t size) {
    auto options = data.options(size);
    options.batching = batching;
    options.warn = heard.to();
    return options;
  };
  mds::loader<> before(of(12));
  CHECK(read(before, 3).size() == 36);
  mds::loader<> after(of(24));
  after.load_state(before.state(), mds::accept::global_batch_size);
  REQUIRE(heard.texts.size() == 1);
  CHECK(heard.texts[0].find("epoch 0, of which 36 samples were read") != std::string::npos);
  CHECK(heard.texts[0].find("epoch 1 begins") != std::string::npos);
  CHECK(after.next_epoch() == 1);
  mds::loader<> fresh(of(24));
  (void)read(fresh);
  CHECK(read(after) == read(fresh));  // its second epoch

  // Nothing is lost between two epochs.
  mds::loader<> ended(of(12));
  (void)read(ended);
  mds::loader<> next(of(12));
  next.load_state(ended.state());
  CHECK(next.next_epoch() == 1);
}

TEST_CASE("a dataset that has grown begins the next epoch, with seed and canonical nodes kept") {
  using namespace accept_test;
  const two_streams data;
  warned heard;
  auto options = data.options(8);
  options.warn = heard.to();
  std::string begun, ended, unread;
  {
    mds::loader<> saved(options);
    unread = saved.state();
    (void)read(saved, 3);
    begun = saved.state();
  }
  {
    mds::loader<> saved(options);
    (void)read(saved);
    ended = saved.state();
  }
  mds::run_state with_bad = mds::parse_state(begun);
  with_bad.substituted = {3};
  with_bad.bad_samples = {.count = 2, .first = {5, 7}};

  support::write_plain_dataset(data.dir / "b", std::vector<std::uint64_t>(6, data.shard), data.a);
  mds::loader<> other(options);
  support::expect_error([&] { other.load_state(begun); }, mds::errc::state_mismatch,
                        {"dataset", "accept::dataset"});
  support::expect_error([&] { other.load_state(begun, mds::accept::mix); },
                        mds::errc::state_mismatch, {"dataset"});
  CHECK(heard.texts.empty());
  other.load_state(mds::to_text(with_bad), mds::accept::dataset);
  REQUIRE(heard.texts.size() == 1);
  CHECK(heard.texts[0].find("epoch 0, of which 24 samples") != std::string::npos);
  CHECK(other.next_epoch() == 1);
  CHECK(other.bad_samples().count == 2);
  CHECK(other.bad_samples().first.empty());
  const ids_list all = read(other);
  CHECK(std::set<std::int64_t>(all.begin(), all.end()).size() == data.a + 6 * data.shard);
  CHECK(mds::parse_state(other.state()).substituted.empty());

  mds::loader<> after_all(options);
  after_all.load_state(ended, mds::accept::dataset);
  CHECK(after_all.next_epoch() == 1);
  CHECK(heard.texts.size() == 1);  // nothing of it was left
  mds::loader<> from_start(options);
  from_start.load_state(unread, mds::accept::dataset);
  CHECK(from_start.next_epoch() == 0);
  mds::loader<> fresh(options);
  CHECK(read(from_start) == read(fresh));
}

TEST_CASE("another mix begins the next epoch; nothing else passes with it") {
  using namespace accept_test;
  const two_streams data;
  warned heard;
  mds::loader<> saved(data.options(8));
  (void)read(saved, 3);
  const std::string state = saved.state();
  const auto with = [&](auto change) {
    auto options = data.options(8);
    options.warn = heard.to();
    change(options);
    return options;
  };
  mds::loader<> other(with([](auto& o) { o.streams[0].repeat = 2.0; }));
  support::expect_error([&] { other.load_state(state, mds::accept::dataset); },
                        mds::errc::state_mismatch, {"epoch_size 144", "240", "accept::mix"});
  other.load_state(state, mds::accept::mix);
  CHECK(heard.texts.size() == 1);
  CHECK(other.next_epoch() == 1);
  CHECK(read(other).size() == 2 * data.a + data.b);

  mds::loader<> both(with([](auto& o) {
    o.batching = mds::batching_method::per_stream;
    o.global_batch_size = 12;
  }));
  both.load_state(state, mds::accept::mix | mds::accept::global_batch_size);
  CHECK(both.next_epoch() == 1);

  const auto all = mds::accept::dataset | mds::accept::mix | mds::accept::global_batch_size;
  mds::loader<> seed(with([](auto& o) { o.seed = 1; }));
  support::expect_error([&] { seed.load_state(state, all); }, mds::errc::state_mismatch, {"seed"});
  mds::loader<> block(with([](auto& o) { o.shuffle_block_size = 50; }));
  support::expect_error([&] { block.load_state(state, all); }, mds::errc::state_mismatch,
                        {"shuffle_block_size 60", "50"});
  mds::loader<> phased(with([](auto& o) {
    o.phases = {{.weights = {{}, {}}}};
    o.global_batch_size = 16;
  }));
  support::expect_error([&] { phased.load_state(state, all); }, mds::errc::unsupported,
                        {"phases", "without them"});
  CHECK(phased.next_epoch() == 0);
  mds::loader<> same(data.options(8));
  same.load_state(state, all);  // nothing differs: it goes on in its epoch
  CHECK(same.next_epoch() == 0);
  CHECK(same.batches_left() == 15);
}
