// Epochs that begin, and states that are loaded, while fetches of an epoch before are under way.

#include <mdstream/async/runtime.hpp>
#include <mdstream/launch/environment.hpp>
#include <mdstream/store/blocking.hpp>
#include <mdstream/store/local.hpp>
#include <mdstream/stream/loader.hpp>

#include <mdstream/mdstream.hpp>

#include <algorithm>
#include <asio/use_future.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "store/forwarding.hpp"
#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/plain_dataset.hpp"
#include "support/seed.hpp"

namespace mds = mdstream;

namespace held_fetch {

using loader = mds::loader<>;
using ids_list = std::vector<std::int64_t>;

/// Reads of shards that the test ends, one by one. Any thread.
class held_reads {
 public:
  void hold(mds::detail::unique_function<void()> end) {
    {
      const std::lock_guard lock(mutex_);
      if (holds_) return held_.push_back(std::move(end));
    }
    end();
  }
  /// Ends one of them, if there is any.
  void end_one(std::mt19937& random) {
    mds::detail::unique_function<void()> end;
    {
      const std::lock_guard lock(mutex_);
      if (held_.empty()) return;
      const auto at = held_.begin() + static_cast<std::ptrdiff_t>(random() % held_.size());
      end = std::move(*at);
      held_.erase(at);
    }
    end();
  }
  /// Ends all of them, and holds none from here on.
  void end_all() {
    std::vector<mds::detail::unique_function<void()>> held;
    {
      const std::lock_guard lock(mutex_);
      holds_ = false;
      held.swap(held_);
    }
    for (auto& each : held) each();
  }
  [[nodiscard]] std::size_t count() const {
    const std::lock_guard lock(mutex_);
    return held_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<mds::detail::unique_function<void()>> held_;
  bool holds_ = true;
};

struct holding_store : store_test::forwarding<mds::blocking<mds::store::local>> {
  std::shared_ptr<held_reads> reads;

  void async_read(std::string key, std::uint64_t offset, mds::mutable_bytes into,
                  std::stop_token stop, mds::diagnostics& where,
                  mds::store_handler<std::size_t> done) const {
    const bool is_shard = key.starts_with("shard.");
    auto read = [from = inner, key = std::move(key), offset, into, stop = std::move(stop), &where,
                 done = std::move(done)]() mutable {
      from.async_read(std::move(key), offset, into, std::move(stop), where, std::move(done));
    };
    is_shard ? reads->hold(std::move(read)) : read();
  }
};

constexpr std::uint64_t epochs = 6, batches = 12;

struct twelve_shards {
  scratch_directory::scratch dir;
  twelve_shards() {
    support::write_plain_dataset(dir / "data", std::vector<std::uint64_t>(batches, 10));
  }
  [[nodiscard]] mds::byte_size room_for_half() const {
    return mds::byte_size(std::filesystem::file_size(dir / "data/index.json") +
                          batches / 2 * std::filesystem::file_size(dir / "data/shard.00000.mds"));
  }
  [[nodiscard]] loader::options options() const {
    return {.batch_size = 10,
            .shuffle_block_size = 30,
            .predownload = 40,
            .world = mds::world{},
            .threads = 2};
  }
};

ids_list ids_of(const loader::batch_type& batch) {
  CHECK(std::ranges::equal(batch.scalar<std::int64_t>("id"), batch.ids()));
  return {batch.ids().begin(), batch.ids().end()};
}

/// A run that nothing disturbs: the batches of each epoch, and the state before each of them.
struct whole_run {
  std::vector<std::vector<ids_list>> ids;
  std::vector<std::vector<std::string>> states;

  explicit whole_run(const twelve_shards& data) {
    auto given = data.options();
    given.local = data.dir / "data";
    loader one(given);
    for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
      ids.emplace_back();
      states.emplace_back();
      std::string state = one.state();
      for (const auto& batch : one.epoch()) {
        ids.back().push_back(ids_of(batch));
        states.back().push_back(std::exchange(state, one.state()));
      }
    }
  }
};

/// A run whose loop, in an order that a seed draws, takes batches, begins the next epoch, loads a
/// state of a later one, and ends reads.
class disturbed_run {
 public:
  disturbed_run(const twelve_shards& data, const whole_run& expected, unsigned seed)
      : expected_(expected), random_(seed), one_(options(data, seed)), at_(one_.epoch()) {
    take();  // which begins the epoch
  }
  disturbed_run(const disturbed_run&) = delete;
  disturbed_run& operator=(const disturbed_run&) = delete;
  ~disturbed_run() { reads_->end_all(); }

  void run() {
    while (epoch_ < epochs) {
      if (random_() % 4 == 0) reads_->end_one(random_);
      if (random_() % 8 == 0)
        begin(epoch_ + 1, 0);
      else if (random_() % 8 == 0)
        load(epoch_ + 1 + random_() % 2, 1 + random_() % (batches - 1));
      else
        take();
    }
  }
  /// How often an epoch began while reads of another were under way.
  [[nodiscard]] int disturbances() const { return disturbances_; }

 private:
  [[nodiscard]] loader::options options(const twelve_shards& data, unsigned seed) {
    auto given = data.options();
    const holding_store store{{mds::blocking(threads_, mds::store::local(data.dir / "data"))},
                              reads_};
    given.streams = {{.local = cache_.path(), .store = store}};
    if (seed % 2 == 0) given.cache_limit = data.room_for_half();
    return given;
  }

  void begin(std::uint64_t epoch, std::uint64_t batch) {
    epoch_ = epoch;
    batch_ = batch;
    if (epoch_ == epochs) return;
    const bool under_way = reads_->count() > 0;
    at_ = one_.epoch();
    take();
    if (under_way) ++disturbances_;
  }

  void load(std::uint64_t epoch, std::uint64_t batch) {
    if (epoch >= epochs) return;
    const std::string& state = expected_.states[epoch][batch];
    one_.load_state(state);
    REQUIRE(one_.state() == state);
    begin(epoch, batch);
  }

  void take() {
    auto next = at_.async_next(asio::use_future);
    while (next.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      reads_->end_one(random_);
      std::this_thread::yield();
    }
    if (batch_ == batches) {
      REQUIRE_THROWS_AS(next.get(), mds::error);
      return begin(epoch_ + 1, 0);
    }
    REQUIRE(ids_of(next.get()) == expected_.ids[epoch_][batch_++]);
  }

  const whole_run& expected_;
  std::mt19937 random_;
  const scratch_directory::scratch cache_;
  mds::runtime threads_{1};
  const std::shared_ptr<held_reads> reads_ = std::make_shared<held_reads>();
  loader one_;
  loader::epoch_type at_;
  std::uint64_t epoch_ = 0, batch_ = 0;
  int disturbances_ = 0;
};

}  // namespace held_fetch

TEST_CASE("an epoch is the same whatever is still fetched for those before it") {
  using namespace held_fetch;
  const twelve_shards data;
  const whole_run expected(data);
  REQUIRE(expected.ids.front().size() == batches);
  int disturbances = 0;
  for (unsigned run = 0; run < 50; ++run) {
    const unsigned seed = support::test_seed(run);
    INFO("MDSTREAM_TEST_SEED=" << seed);
    disturbed_run one(data, expected, seed);
    one.run();
    disturbances += one.disturbances();
  }
  CHECK(disturbances > 0);
}
