// A run that lies in several stores: what is saved goes to all, and it goes on from the newest
// checkpoint that any of them has.

#include <mdstream/checkpoint/clean.hpp>
#include <mdstream/checkpoint/saver.hpp>
#include <mdstream/mdstream.hpp>
#include <mdstream/store/memory.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/launches.hpp"
#include "checkpoint/training.hpp"
#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/plain_dataset.hpp"
#include "support/sanitizer.hpp"

namespace mirrors_test {

namespace mds = mdstream;
using launches::on_ranks;
using launches::options_on;
using mds::errc;
using mds::store::memory;
using support::expect_error;
using training::cut;
using training::model;

/// A cloud that can be out of order, for reads or for writes.
class cloud {
 public:
  struct weather {
    std::atomic<bool> no_reads{false}, no_writes{false};
  };

  explicit cloud(std::string name, memory inner = {})
      : name_(std::move(name)), inner_(std::move(inner)) {}
  std::uint64_t size(std::string_view key) const { return reading().size(key); }
  std::size_t read(std::string_view key, std::uint64_t offset, mds::mutable_bytes into) const {
    return reading().read(key, offset, into);
  }
  void write(std::string_view key, mds::bytes_view bytes) const { writing().write(key, bytes); }
  std::vector<mds::object_info> list(std::string_view prefix) const {
    return reading().list(prefix);
  }
  void remove(std::string_view key) const { writing().remove(key); }
  std::string url(std::string_view key) const { return name_ + "://run/" + std::string(key); }

  [[nodiscard]] weather& now() const { return *weather_; }
  [[nodiscard]] const memory& objects() const { return inner_; }

 private:
  const memory& reading() const { return weather_->no_reads ? refuse() : inner_; }
  const memory& writing() const { return weather_->no_writes ? refuse() : inner_; }
  // Not transient: a test does not wait for it.
  [[noreturn]] static const memory& refuse() {
    throw mds::error(errc::permission_denied, "the cloud is closed");
  }

  std::string name_;
  memory inner_;
  std::shared_ptr<weather> weather_ = std::make_shared<weather>();
};

/// What savers told, from whatever thread.
class listener {
 public:
  [[nodiscard]] mds::warning_function hears() const {
    return [heard = heard_](const std::string& text) {
      const std::lock_guard lock(heard->mutex);
      heard->texts.push_back(text);
    };
  }
  [[nodiscard]] std::size_t count(const std::string& part) const {
    const std::lock_guard lock(heard_->mutex);
    std::size_t out = 0;
    for (const std::string& each : heard_->texts)
      if (each.find(part) != std::string::npos) ++out;
    return out;
  }

 private:
  struct texts_heard {
    std::mutex mutex;
    std::vector<std::string> texts;
  };
  std::shared_ptr<texts_heard> heard_ = std::make_shared<texts_heard>();
};

/// A loader that holds a state.
struct place_keeper {
  std::string state{};
  void load_state(const std::string& saved) { state = saved; }
};

/// A launch of so many ranks, which goes on where `from` says and saves `steps`. What failed, or
/// was not as it had been saved.
std::string launch(const std::vector<cloud>& at, const std::string& token, std::uint64_t ranks,
                   std::uint64_t from, const std::vector<std::uint64_t>& steps,
                   const listener& warnings = {}) {
  return on_ranks(ranks, [&](std::uint64_t rank) {
    mds::saver_options options = options_on(at[0]);
    options.mirrors.assign(at.begin() + 1, at.end());
    options.world = {.ranks_per_node = ranks, .rank = rank};
    options.token = token;
    options.warn = warnings.hears();
    mds::checkpoint_saver saver(options);
    model mine(rank, ranks, cut::rows);
    mine.clear();
    place_keeper loader;
    const mds::resumed_run resumed = saver.resume(mine.list(), loader, {.check_all = true});
    if (resumed.step != from)
      throw std::runtime_error("went on from step " + std::to_string(resumed.step));
    if (from > 0 && loader.state != "at " + std::to_string(from))
      throw std::runtime_error("the loader goes on " + loader.state);
    if (const auto other = from > 0 ? mine.difference(from) : std::string(); !other.empty())
      throw std::runtime_error(other + " is not what was saved");
    for (const std::uint64_t step : steps) {
      mine.set(step);
      saver.save(step, mine.list(), {.loader_state = "at " + std::to_string(step)});
      saver.wait_snapshot();
    }
    saver.finish();
  });
}

void copy(const memory& from, const memory& to) {
  for (const auto& each : to.list("")) to.remove(each.key);
  for (const auto& each : from.list("")) to.write(each.key, mds::read_all(from, each.key));
}

std::uint64_t newest_step(const cloud& at) { return mds::checkpoint::open(at.objects()).step(); }

}  // namespace mirrors_test

using namespace mirrors_test;

TEST_CASE("what is saved lies in all stores, each of which is a run of its own", "[checkpoint]") {
  const cloud s3("s3"), azure("azure"), gs("gs");
  CHECK(launch({s3}, "a", 3, 0, {10}) == "");  // in one store to begin with
  CHECK(launch({s3, azure}, "b", 2, 10, {20, 30}) == "");
  CHECK(newest_step(s3) == 30);
  CHECK(newest_step(azure) == 30);
  CHECK(mds::checkpoint::open(azure.objects()).verify().empty());
  CHECK(launch({gs, azure}, "c", 4, 30, {40}) == "");  // the first store is left
  CHECK(launch({gs}, "d", 1, 40, {}) == "");
}

// Damage to every object takes over a minute under TSan. Threads meet at one of five as they meet
// at each.
constexpr std::size_t objects_apart = support::under_tsan ? 5 : 1;

TEST_CASE("any object of the newest checkpoint may be damaged in one of two stores",
          "[checkpoint]") {
  const cloud s3("s3"), azure("azure");
  REQUIRE(launch({s3, azure}, "a", 2, 0, {10, 20}) == "");
  const memory whole;
  copy(s3.objects(), whole);
  std::size_t harmed = 0;
  const std::vector<mds::object_info> objects = whole.list("");
  for (std::size_t i = 0; i < objects.size(); i += objects_apart) {
    const mds::object_info& each = objects[i];
    for (const bool is_first : {true, false}) {
      const memory& store = is_first ? s3.objects() : azure.objects();
      const auto bytes = mds::read_all(whole, each.key);
      for (const int how : {0, 1, 2}) {
        INFO(each.key << (is_first ? " of the first" : " of the second") << ", way " << how);
        auto other = bytes;
        if (how == 0) other[other.size() / 2] ^= std::byte{1};
        if (how == 1) other.resize(other.size() / 2);
        if (how == 2)
          store.remove(each.key);
        else
          store.write(each.key, other);
        const listener warnings;
        const std::string token = "b" + std::to_string(harmed++);
        CHECK(launch({s3, azure}, token, 1, 20, {}, warnings) == "");
        // Whatever was read and is not the hint that nobody reads: it is told which one was not
        // used.
        const bool is_data = each.key.ends_with(".safetensors") &&
                             each.key.find("/000000000020/") != std::string::npos;
        if (is_first && is_data)
          CHECK(warnings.count("s3://run/" + each.key + " is passed over") > 0);
        copy(whole, s3.objects());
        copy(whole, azure.objects());
      }
    }
  }
  CHECK(harmed > 60 / objects_apart);
}

TEST_CASE("a checkpoint that is damaged in all stores is passed over", "[checkpoint]") {
  const cloud s3("s3"), azure("azure");
  REQUIRE(launch({s3, azure}, "a", 1, 0, {10, 20}) == "");
  for (const cloud& each : {s3, azure}) {
    const auto newest = mds::checkpoint::open(each.objects()).name();
    each.objects().write("manifest/" + newest + ".json", mds::as_bytes(std::string_view("{}")));
  }
  const listener warnings;
  CHECK(launch({s3, azure}, "b", 1, 10, {}, warnings) == "");
  CHECK(warnings.count("is passed over") > 0);
}

TEST_CASE("a store that comes back with old contents changes nothing", "[checkpoint]") {
  const cloud s3("s3"), azure("azure");
  REQUIRE(launch({s3, azure}, "a", 2, 0, {10}) == "");
  const memory old;
  copy(s3.objects(), old);
  REQUIRE(launch({s3, azure}, "b", 2, 10, {20, 30}) == "");
  copy(old, s3.objects());
  CHECK(launch({s3, azure}, "c", 3, 30, {40}) == "");
  // The old one is whole again from here on.
  CHECK(launch({s3}, "d", 2, 40, {}) == "");
}

TEST_CASE("a store that fails while training goes on is done without, with one warning",
          "[checkpoint]") {
  const cloud s3("s3"), azure("azure");
  const listener warnings;
  mds::saver_options options = options_on(s3);
  options.mirrors = {azure};
  options.warn = warnings.hears();
  mds::checkpoint_saver saver(options);
  model mine(0, 1, cut::whole);
  place_keeper loader;
  REQUIRE(saver.resume(mine.list(), loader).step == 0);
  const auto save = [&](std::uint64_t step) {
    mine.set(step);
    saver.save(step, mine.list(), {.loader_state = "at " + std::to_string(step)});
    saver.finish();
  };
  for (const cloud* closed : {&azure, &s3}) {
    closed->now().no_reads = closed->now().no_writes = true;
    save(closed == &azure ? 10 : 30);
    closed->now().no_reads = closed->now().no_writes = false;
    CHECK(warnings.count("do without " + closed->url("")) == 1);
    save(closed == &azure ? 20 : 40);
    CHECK(newest_step(s3) == (closed == &azure ? 20 : 40));
    CHECK(newest_step(azure) == (closed == &azure ? 20 : 40));
  }
  for (const cloud& each : {s3, azure}) each.now().no_writes = true;
  expect_error([&] { save(50); }, errc::permission_denied, {"the cloud is closed"});
}

TEST_CASE("a checkpoint is complete when each of its parts lies in one of the stores",
          "[checkpoint]") {
  const memory first, second;
  CHECK(on_ranks(2, [&](std::uint64_t rank) {
          // What the two ranks reach is the same, but each can write to one store only.
          const cloud s3("s3", first), azure("azure", second);
          mds::saver_options options = options_on(s3);
          options.mirrors = {azure};
          options.world = {.ranks_per_node = 2, .rank = rank};
          options.token = "a";
          mds::checkpoint_saver saver(options);
          model mine(rank, 2, cut::rows);
          place_keeper loader;
          if (saver.resume(mine.list(), loader).step != 0)
            throw std::runtime_error("not a new run");
          (rank == 0 ? azure : s3).now().no_writes = true;
          mine.set(10);
          saver.save(10, mine.list(), {.loader_state = "at 10"});
          saver.finish();
        }) == "");
  expect_error([&] { (void)mds::checkpoint::open(first, {}, {.warn = launches::no_warnings}); },
               errc::corrupt);
  const cloud s3("s3", first), azure("azure", second);
  CHECK(launch({s3, azure}, "b", 3, 10, {20}) == "");
  CHECK(newest_step(s3) == 20);
  CHECK(newest_step(azure) == 20);
}

TEST_CASE("a run does not start without one of its stores: the newest may lie there",
          "[checkpoint]") {
  const cloud s3("s3"), azure("azure");
  REQUIRE(launch({s3, azure}, "a", 1, 0, {10}) == "");
  for (const cloud* each : {&s3, &azure}) {
    each->now().no_reads = true;
    CHECK(launch({s3, azure}, "b", 1, 10, {}).find("the cloud is closed") != std::string::npos);
    each->now().no_reads = false;
  }
}

TEST_CASE("a checkpoint is read from whichever of its run's stores has each part whole",
          "[checkpoint]") {
  const cloud s3("s3"), azure("azure");
  REQUIRE(launch({s3}, "a", 2, 0, {10}) == "");
  REQUIRE(launch({s3, azure}, "b", 2, 10, {20, 30, 40}) == "");
  const auto damage = [](const cloud& at, const std::string& part) {
    for (const auto& each : at.objects().list("data/"))
      if (each.key.find(part) != std::string::npos) at.objects().write(each.key, {});
  };
  damage(s3, "40/r0-0.safetensors");
  damage(azure, "40/r1-0.safetensors");
  const listener warnings;
  const mds::checkpoint_options both{.mirrors = {azure}, .warn = warnings.hears()};
  for (const mds::store::memory& alone : {s3.objects(), azure.objects()})
    CHECK(mds::checkpoint::open(alone, {}, {.warn = launches::no_warnings}).step() < 40);
  const auto newest = mds::checkpoint::open(s3, {}, both);
  REQUIRE(newest.step() == 40);
  model mine(0, 1, cut::whole);
  newest.load(mine.list(), {.check_all = true});
  CHECK(mine.difference(40) == "");
  CHECK(newest.verify().empty());
  CHECK(warnings.count("is passed over") > 0);
  // Step 10 lies in the first store alone.
  CHECK(mds::checkpoint::list(azure.objects()).size() == 3);
  CHECK(mds::checkpoint::list(azure, {.mirrors = {s3}, .warn = warnings.hears()}).size() == 4);
  mds::pin_checkpoint(azure, "20", "paper", {.mirrors = {s3}});
  for (const mds::store::memory& each : {s3.objects(), azure.objects()})
    CHECK(each.list("pins/").size() == 1);
  const auto cleaned = mds::clean_run(s3, {.last = 1, .grace = std::chrono::milliseconds(0)}, false,
                                      {.mirrors = {azure}, .warn = warnings.hears()});
  CHECK(cleaned.checkpoints.size() == 1);
  CHECK(s3.objects().list("manifest/").size() == 3);
  azure.now().no_reads = true;  // it may have the newest
  expect_error([&] { (void)mds::checkpoint::open(s3, {}, both); }, errc::permission_denied, {});
  expect_error([&] { (void)mds::checkpoint::open_files(s3, {}, both); }, errc::invalid_argument,
               {"plain files have no mirrors"});
}

TEST_CASE("a loader with other options is refused by their name before tensors are read",
          "[checkpoint]") {
  const scratch_directory::scratch root;
  support::write_plain_dataset(root.path(), {40, 40});
  const auto loader_of = [&](std::uint64_t batch) {
    return mds::loader<>({.local = root.path(), .batch_size = batch, .seed = 5});
  };
  const cloud s3("s3"), azure("azure");
  mds::saver_options options = options_on(s3);
  options.mirrors = {azure};
  model mine(0, 1, cut::whole);
  {
    auto loader = loader_of(4);
    mds::checkpoint_saver saver(options);
    REQUIRE(saver.resume(mine.list(), loader).checkpoint.empty());
    mine.set(7);
    saver.save(7, mine.list(),
               {.loader_state = loader.state(), .metadata = {{"loss", "2.5"}}, .own = "dice"});
    saver.finish();
  }
  mine.set(1);
  {
    auto other = loader_of(8);
    mds::checkpoint_saver saver(options);
    expect_error([&] { (void)saver.resume(mine.list(), other); }, errc::state_mismatch,
                 {"global_batch_size 4"});
    CHECK(mine.difference(1) == "");
  }
  auto same = loader_of(4);
  mds::checkpoint_saver saver(options);
  const mds::resumed_run resumed = saver.resume(mine.list(), same);
  CHECK(resumed.step == 7);
  CHECK(resumed.own == "dice");
  REQUIRE(resumed.metadata.size() == 1);
  CHECK(resumed.metadata.text("loss") == "2.5");
  CHECK(resumed.metadata.text("Loss") == "");
  CHECK(mine.difference(7) == "");
}
