#include <mdstream/checkpoint/saver.hpp>
#include <mdstream/core/detail/chance.hpp>
#include <mdstream/store/fault_injecting.hpp>
#include <mdstream/store/local.hpp>
#include <mdstream/store/memory.hpp>

#include <sys/mount.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "checkpoint/launches.hpp"
#include "checkpoint/training.hpp"
#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/own_mounts.hpp"
#include "support/seed.hpp"

namespace saver_test {

namespace mds = mdstream;
namespace fs = std::filesystem;
using mds::errc;
using scratch_directory::scratch;
using support::expect_error;
using training::cut;
using training::model;
using namespace std::chrono_literals;

using launches::launch;
using launches::no_warnings;
using launches::on_ranks;
using launches::options_on;

/// A store whose writes wait until they are let through.
class gate {
 public:
  explicit gate(mds::store::local inner) : inner_(std::move(inner)) {}
  std::uint64_t size(std::string_view key) const { return inner_.size(key); }
  std::size_t read(std::string_view key, std::uint64_t offset, mds::mutable_bytes into) const {
    return inner_.read(key, offset, into);
  }
  void write(std::string_view key, mds::bytes_view bytes) const {
    if (key.ends_with(".safetensors")) {
      std::unique_lock lock(state_->mutex);
      state_->most = std::max(state_->most, ++state_->waiting);
      state_->changed.notify_all();
      state_->changed.wait(lock, [this] { return state_->open; });
      --state_->waiting;
    }
    inner_.write(key, bytes);
  }
  std::vector<mds::object_info> list(std::string_view prefix) const { return inner_.list(prefix); }
  void remove(std::string_view key) const { inner_.remove(key); }
  std::string url(std::string_view key) const { return inner_.url(key); }

  void let_through() const {
    const std::lock_guard lock(state_->mutex);
    state_->open = true;
    state_->changed.notify_all();
  }

 private:
  struct state {
    std::mutex mutex;
    std::condition_variable changed;
    int waiting = 0, most = 0;
    bool open = false;
  };
  mds::store::local inner_;
  std::shared_ptr<state> state_ = std::make_shared<state>();
};

/// A directory whose disk is full when the first file of tensors comes.
class full_once {
 public:
  explicit full_once(mds::store::local inner) : inner_(std::move(inner)) {}
  std::uint64_t size(std::string_view key) const { return inner_.size(key); }
  std::size_t read(std::string_view key, std::uint64_t offset, mds::mutable_bytes into) const {
    return inner_.read(key, offset, into);
  }
  void write(std::string_view key, mds::bytes_view bytes) const {
    if (key.ends_with(".safetensors") && !was_full_->exchange(true))
      throw mds::error(errc::no_space, "the disk is full");
    inner_.write(key, bytes);
  }
  std::vector<mds::object_info> list(std::string_view prefix) const { return inner_.list(prefix); }
  void remove(std::string_view key) const { inner_.remove(key); }
  std::string url(std::string_view key) const { return inner_.url(key); }

 private:
  mds::store::local inner_;
  std::shared_ptr<std::atomic<bool>> was_full_ = std::make_shared<std::atomic<bool>>(false);
};

/// A store whose uploads of tensors end with a stop alone.
class stuck {
 public:
  explicit stuck(mds::any_async_store inner) : inner_(std::move(inner)) {}
  void async_size(std::string key, std::stop_token stop, mds::diagnostics& where,
                  mds::store_handler<std::uint64_t> done) const {
    inner_.async_size(std::move(key), std::move(stop), where, std::move(done));
  }
  void async_read(std::string key, std::uint64_t offset, mds::mutable_bytes into,
                  std::stop_token stop, mds::diagnostics& where,
                  mds::store_handler<std::size_t> done) const {
    inner_.async_read(std::move(key), offset, into, std::move(stop), where, std::move(done));
  }
  void async_write(std::string key, mds::bytes_view bytes, std::stop_token stop,
                   mds::diagnostics& where, mds::store_handler<> done) const {
    if (!key.ends_with(".safetensors"))
      return inner_.async_write(std::move(key), bytes, std::move(stop), where, std::move(done));
    const std::lock_guard lock(state_->mutex);
    state_->threads.emplace_back([stop, done = std::move(done)]() mutable {
      std::mutex mutex;
      std::condition_variable_any changed;
      std::unique_lock waiting(mutex);
      changed.wait(waiting, stop, [] { return false; });
      done(errc::canceled);
    });
  }
  void async_list(std::string prefix, std::stop_token stop, mds::diagnostics& where,
                  mds::store_handler<std::vector<mds::object_info>> done) const {
    inner_.async_list(std::move(prefix), std::move(stop), where, std::move(done));
  }
  void async_remove(std::string key, std::stop_token stop, mds::diagnostics& where,
                    mds::store_handler<> done) const {
    inner_.async_remove(std::move(key), std::move(stop), where, std::move(done));
  }
  std::string url(std::string_view key) const { return inner_.url(key); }

 private:
  struct state {
    std::mutex mutex;
    std::vector<std::jthread> threads;
  };
  mds::any_async_store inner_;
  std::shared_ptr<state> state_ = std::make_shared<state>();
};

/// Flips a byte of a file.
void damage(const std::string& path, std::uint64_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  const char byte = static_cast<char>(file.get() ^ 16);
  file.seekp(static_cast<std::streamoff>(at));
  file.put(byte);
  REQUIRE(file.good());
}

std::string file_of(const std::string& root, const std::string& name, std::uint64_t rank) {
  const auto id = mds::detail::save_id::parse(name);
  return root + '/' + id->directory() + mds::detail::data_file_name(rank, 0);
}

}  // namespace saver_test

using namespace saver_test;

TEST_CASE("a run moves from 1 to 3 to 2 ranks with other cuts, and stays equal to the bit",
          "[checkpoint]") {
  const scratch root;
  const mds::opened_store run = mds::store::local(root.path());
  CHECK(launch(run, "a", 1, cut::rows, {}, {1, 2}) == "");
  CHECK(launch(run, "b", 3, cut::columns, 2, {3}) == "");
  CHECK(launch(run, "c", 2, cut::rows, 3, {4}) == "");
  CHECK(launch(run, "d", 3, cut::whole, 4, {5}) == "");
  CHECK(launch(run, "e", 5, cut::rows, 5, {}) == "");
  const auto found = mds::checkpoint::list(run);
  REQUIRE(found.size() == 5);
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i].step == i + 1);
    CHECK(found[i].on_line);
    CHECK_FALSE(found[i].pinned);
    CHECK_FALSE(found[i].damaged);
    CHECK(found[i].metadata.at(0).second == std::to_string(i + 1));
    CHECK(found[i].parent == (i == 0 ? "" : found[i - 1].name));
  }
  CHECK(found[2].ranks == 3);
  const auto third = mds::checkpoint::open(run, "3");
  CHECK(third.name() == found[2].name);
  CHECK(third.own(2) == "rank 2");
  expect_error([&] { (void)third.own(3); }, errc::out_of_range, {"3 ranks"});
  CHECK(third.verify().empty());
  CHECK(mds::checkpoint::open(run).step() == 5);
  expect_error([&] { (void)mds::checkpoint::open(run, "6"); }, errc::not_found, {"\"6\""});
  // No file is a quarter of the memory larger than allowed, and none lies about what it is.
  for (const auto& each : run.list("data/"))
    if (each.key.ends_with(".safetensors")) CHECK(each.bytes < 160'000);
}

TEST_CASE("a part of a tensor is read alone; other types and shapes are refused", "[checkpoint]") {
  const mds::opened_store run = mds::store::memory();
  CHECK(launch(run, "a", 2, cut::rows, {}, {7}) == "");
  const auto last = mds::checkpoint::open(run);
  model whole(0, 1, cut::rows);
  last.load(whole.list());
  CHECK(whole.difference(7) == "");
  std::vector<float> part(6), all(static_cast<std::size_t>(96 * 133));
  last.read("h.0.w", {{47, 130}, {2, 3}},
            mds::mutable_bytes(reinterpret_cast<std::byte*>(part.data()), 24));
  last.read("h.0.w", mds::box::whole({96, 133}),
            mds::mutable_bytes(reinterpret_cast<std::byte*>(all.data()), all.size() * 4));
  for (std::size_t row = 0; row < 2; ++row)
    CHECK(std::memcmp(&part[3 * row], &all[(47 + row) * 133 + 130], 12) == 0);
  float one = 0;
  mds::tensor_list wrong;
  wrong.add("few", mds::tensor_type::u32, {2, 3}, {{0, 0}, {1, 1}}, &one);
  expect_error([&] { last.load(wrong); }, errc::invalid_argument,
               {"\"few\"", "F32 [2, 3]", "U32 [2, 3]"});
  mds::tensor_list unknown;
  unknown.add("other", mds::tensor_type::f32, {1}, &one);
  expect_error([&] { last.load(unknown); }, errc::not_found, {"\"other\""});
  mds::tensor_list renamed;
  renamed.add("model.few", mds::tensor_type::f32, {2, 3}, {{1, 2}, {1, 1}}, &one);
  last.load(renamed, {.rename = [](const std::string& name) { return name.substr(6); }});
  CHECK(one != 0);
  expect_error([&] { last.read("few", {{1, 1}, {1, 3}}, {}); }, errc::invalid_argument,
               {"\"few\""});
  std::vector<std::string> names;
  for (const auto& each : last.tensors()) names.push_back(each.name);
  CHECK(names == std::vector<std::string>{"few", "h.0.w", "h.1.w", "h.2.cube", "long", "none",
                                          "scalar", "wide"});
}

TEST_CASE("a snapshot is what the tensors were, however slow the upload is", "[checkpoint]") {
  const scratch root;
  const gate slow{mds::store::local(root.path())};
  mds::checkpoint_saver saver(options_on(slow));
  model mine(0, 1, cut::rows);
  mine.set(1);
  saver.save(1, mine.list());
  saver.wait_snapshot();  // while no upload has ended
  mine.set(2);
  slow.let_through();
  saver.finish();
  mine.clear();
  const auto last = mds::checkpoint::open(mds::store::local(root.path()));
  last.load(mine.list());
  CHECK(mine.difference(1) == "");
}

TEST_CASE("a saver that is destroyed gives up at once, and nothing looks complete",
          "[checkpoint]") {
  const scratch root;
  const mds::opened_store run = mds::store::local(root.path());
  std::exception_ptr reported;
  {
    model mine(0, 1, cut::rows);  // outlives the saver, which may be copying it
    mds::runtime threads(2);
    mds::saver_options options = options_on(stuck(run.on(threads)));
    options.memory.value = 300'000;
    options.on_saved = [&](const std::exception_ptr& failure, const mds::saved_checkpoint&) {
      reported = failure;
    };
    mds::checkpoint_saver saver(options);
    saver.save(1, mine.list());
  }
  CHECK(mds::code_of(reported) == errc::canceled);
  CHECK(mds::checkpoint::list(run).empty());
  CHECK(launch(run, "b", 1, cut::rows, {}, {1}) == "");
}

TEST_CASE("steps rise, a rank's own bytes are few, ranks have to agree", "[checkpoint]") {
  const mds::opened_store run = mds::store::memory();
  mds::checkpoint_saver saver(options_on(run));
  model mine(0, 1, cut::rows);
  saver.save(5, mine.list());
  expect_error([&] { saver.save(5, mine.list()); }, errc::invalid_argument, {"step 5", "rising"});
  expect_error([&] { saver.save(6, mine.list(), {.own = std::string(65537, 'x')}); },
               errc::invalid_argument, {"65536", "65537"});
  saver.save(6, mine.list());
  saver.finish();
  CHECK(mds::checkpoint::list(run).size() == 2);
  mds::saver_options several = options_on(run);
  several.world = {.ranks_per_node = 2, .rank = 1};
  expect_error([&] { mds::checkpoint_saver none(several); }, errc::invalid_argument,
               {"2 ranks", "`token`", "`broadcast`"});
  // Tensors that do not cover what they are a part of.
  mds::tensor_list half;
  float x[4] = {};
  half.add("x", mds::tensor_type::f32, {8}, {{0}, {4}}, x);
  saver.save(7, half);
  expect_error([&] { saver.finish(); }, errc::invalid_argument, {"\"x\"", "[4] is missing"});
  saver.save(8, mine.list());
  saver.finish();  // which throws no failure twice
  CHECK(mds::checkpoint::open(run).step() == 8);
}

/// Hands rank 0's text to the others, as MPI_Bcast does.
class notice_board {
 public:
  [[nodiscard]] std::function<void(std::string&)> of(std::uint64_t rank) {
    return [this, rank](std::string& mine) {
      std::unique_lock lock(mutex_);
      if (rank == 0) text_ = mine;
      changed_.notify_all();
      changed_.wait(lock, [&] { return text_.has_value(); });
      mine = *text_;
    };
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::string> text_;
};

TEST_CASE("ranks agree by a broadcast of the caller's", "[checkpoint]") {
  const mds::opened_store run = mds::store::memory();
  CHECK(launch(run, "a", 1, cut::rows, {}, {1}) == "");
  notice_board board;
  CHECK(on_ranks(3, [&](std::uint64_t rank) {
          mds::saver_options options = options_on(run);
          options.world = {.ranks_per_node = 3, .rank = rank};
          options.broadcast = board.of(rank);
          mds::checkpoint_saver saver(options);
          if (saver.resume_point().value().step() != 1) throw std::runtime_error("another step");
          model mine(rank, 3, cut::columns);
          mine.set(2);
          saver.save(2, mine.list());
          saver.finish();
        }) == "");
  CHECK(mds::checkpoint::open(run).ranks() == 3);
}

TEST_CASE("where rank 0 cannot start, the broadcast tells the others", "[checkpoint]") {
  notice_board board;
  const std::string failures = on_ranks(3, [&](std::uint64_t rank) {
    mds::saver_options options = options_on(mds::store::local("/proc/version/run"));
    options.world = {.ranks_per_node = 3, .rank = rank};
    options.broadcast = board.of(rank);
    mds::checkpoint_saver saver(options);
    (void)saver.resume_point();
  });
  INFO(failures);
  CHECK(failures.find("rank 0: ") == 0);
  CHECK(failures.find("/proc/version/run") != std::string::npos);
  for (const char* each : {"rank 1: rank 0 could not start", "rank 2: rank 0 could not start"})
    CHECK(failures.find(each) != std::string::npos);
}

TEST_CASE("a rank that starts late goes on where the others do", "[checkpoint]") {
  const mds::opened_store run = mds::store::memory();
  CHECK(launch(run, "a", 2, cut::rows, {}, {1}) == "");
  mds::runtime threads(2);
  for (const std::uint64_t late : {0, 2}) {
    const std::string token = "late " + std::to_string(late);
    const std::uint64_t from = mds::checkpoint::open(run).step();
    // Each rank's, to count its calls.
    const std::vector<mds::fault_injecting> runs(3, {threads, run.on(threads), {}});
    // Without rank 0 the others ask for its choice again and again; with it they store their parts.
    const auto is_waiting = [&](std::uint64_t rank) {
      if (late == 0) return runs[rank].calls() >= 3;
      return std::ranges::any_of(run.list("data/"), [&](const mds::object_info& each) {
        const auto save = mds::detail::save_of_data(each.key);
        return save && save->step == from + 1 && each.key == save->record(rank);
      });
    };
    CHECK(on_ranks(3, [&](std::uint64_t rank) {
            for (std::uint64_t other = 0; rank == late && other < 3; ++other)
              while (other != late && !is_waiting(other)) std::this_thread::sleep_for(1ms);
            mds::saver_options options = options_on(runs[rank]);
            options.world = {.ranks_per_node = 3, .rank = rank};
            options.token = token;
            mds::checkpoint_saver saver(options);
            model mine(rank, 3, cut::columns);
            const auto last = saver.resume_point().value();
            if (last.step() != from) throw std::runtime_error("another step");
            last.load(mine.list());
            if (!mine.difference(from).empty()) throw std::runtime_error("other tensors");
            mine.set(from + 1);
            saver.save(from + 1, mine.list());
            saver.finish();
          }) == "");
    CHECK(mds::checkpoint::open(run).step() == from + 1);
  }
}

TEST_CASE("of two jobs on one run the later goes on, and the earlier saves no more",
          "[checkpoint]") {
  const scratch root;
  const mds::opened_store run = mds::store::local(root.path());
  CHECK(launch(run, "a", 1, cut::rows, {}, {1}) == "");
  mds::checkpoint_saver earlier(options_on(run)), later(options_on(run));
  model mine(0, 1, cut::rows);
  CHECK(earlier.resume_point().value().step() == 1);
  CHECK(later.resume_point().value().step() == 1);
  model its(0, 1, cut::rows);
  its.set(2000);
  earlier.save(2, its.list());
  mine.set(2);
  later.save(2, mine.list());
  later.finish();
  expect_error([&] { earlier.finish(); }, errc::superseded, {"taken over"});
  expect_error([&] { earlier.save(3, its.list()); }, errc::superseded, {"taken over"});
  const auto found = mds::checkpoint::list(run);
  REQUIRE(found.size() == 2);
  const auto last = mds::checkpoint::open(run);
  CHECK(last.name() == found[1].name);
  last.load(mine.list());
  CHECK(mine.difference(2) == "");
}

TEST_CASE("all ranks of a job learn at their next save that another has taken over",
          "[checkpoint]") {
  const mds::opened_store run = mds::store::memory();
  constexpr std::uint64_t ranks = 3;
  std::vector<std::unique_ptr<model>> models;
  std::vector<std::unique_ptr<mds::checkpoint_saver>> savers;
  for (std::uint64_t rank = 0; rank < ranks; ++rank) {
    mds::saver_options options = options_on(run);
    options.world = {.ranks_per_node = ranks, .rank = rank};
    options.token = "earlier";
    models.push_back(std::make_unique<model>(rank, ranks, cut::rows));
    savers.push_back(std::make_unique<mds::checkpoint_saver>(options));
    CHECK_FALSE(savers.back()->resume_point());
  }
  const auto save = [&](std::uint64_t rank, std::uint64_t step) {
    models[rank]->set(step);
    savers[rank]->save(step, models[rank]->list());
  };
  const auto is_refused = [&](std::uint64_t rank) {
    INFO("rank " << rank);
    expect_error([&] { savers[rank]->finish(); }, errc::superseded, {"taken over"});
    expect_error([&] { save(rank, 9); }, errc::superseded, {"taken over"});
  };
  for (std::uint64_t rank = 0; rank < ranks; ++rank) save(rank, 1);
  for (const auto& each : savers) each->finish();
  mds::checkpoint_saver later(options_on(run));
  SECTION("before any of them saves") {
    CHECK(later.resume_point().value().step() == 1);
    for (std::uint64_t rank = 0; rank < ranks; ++rank) save(rank, 2);
    for (std::uint64_t rank = 0; rank < ranks; ++rank) is_refused(rank);
  }
  SECTION("when all but rank 0 have stored their parts") {
    for (const std::uint64_t rank : {1, 2}) {
      save(rank, 2);
      savers[rank]->finish();
    }
    CHECK(later.resume_point().value().step() == 1);
    save(0, 2);
    is_refused(0);
    for (const std::uint64_t rank : {1, 2}) {
      save(rank, 3);
      is_refused(rank);
    }
  }
  CHECK(mds::checkpoint::list(run).size() == 1);
}

TEST_CASE("ranks of a launch whose token was used before overwrite nothing", "[checkpoint]") {
  const mds::opened_store run = mds::store::memory();
  REQUIRE(launch(run, "a", 2, cut::rows, {}, {1, 2}) == "");
  const auto options_of = [&](std::uint64_t rank) {
    mds::saver_options options = options_on(run);
    options.world = {.ranks_per_node = 2, .rank = rank};
    options.token = "a";
    return options;
  };
  mds::checkpoint_saver first(options_of(0));
  expect_error([&] { (void)first.resume_point(); }, errc::invalid_argument, {"\"a\""});
  model mine(1, 2, cut::rows);
  mds::checkpoint_saver second(options_of(1));  // of which nobody tells it
  CHECK_FALSE(second.resume_point());
  for (const std::uint64_t step : {1U, 2U}) {
    mine.set(9);
    second.save(step, mine.list(), {.own = "other"});
    expect_error([&] { second.finish(); }, errc::invalid_argument, {"rank 1", "same token"});
    const auto saved = mds::checkpoint::open(run, std::to_string(step));
    CHECK(saved.verify().empty());
    CHECK(saved.own(1) == "rank 1");
  }
}

TEST_CASE("of many who create the same manifest one does", "[checkpoint]") {
  const scratch root;
  const mds::store::local store(root.path());
  mds::runtime threads(4);
  const mds::any_async_store face = mds::opened_store(store).on(threads);
  REQUIRE(face.creates());
  std::atomic<int> made{0};
  CHECK(on_ranks(8, [&](std::uint64_t rank) {
          const std::string text = "of " + std::to_string(rank);
          if (store.create("manifest/x.json", mds::as_bytes(text))) ++made;
        }) == "");
  CHECK(made == 1);
  CHECK(store.list("").size() == 1);
}

TEST_CASE("a store that fails for a while is waited for", "[checkpoint]") {
  const auto seed = support::test_seed();
  INFO("seed " << seed);
  const scratch root;
  mds::runtime threads(4);
  const mds::any_async_store inner = mds::opened_store(mds::store::local(root.path())).on(threads);
  mds::fault_plan plan{.chance = 0.04,
                       .kinds = {mds::store_fault::unavailable, mds::store_fault::stall,
                                 mds::store_fault::broken_off},
                       .seed = seed};
  // What is wrong twice running counts as damaged: wrong bytes come far apart, not by chance.
  for (std::uint64_t call = 12; call < 2000; call += 37)
    plan.script[call] = mds::store_fault::wrong_byte;
  const mds::fault_injecting failing(threads, inner, plan);
  CHECK(launch(failing, "a", 2, cut::rows, {}, {1, 2}) == "");
  CHECK(launch(failing, "b", 1, cut::columns, 2, {3}) == "");
  CHECK(failing.calls() > 40);
  CHECK(launch(mds::store::local(root.path()), "c", 1, cut::rows, 3, {}) == "");
}

TEST_CASE("a full disk fails the save, not the run", "[checkpoint]") {
  const scratch root;
  support::with_own_mounts([&] {
    REQUIRE(::mount("none", root.path().c_str(), "tmpfs", 0, "size=4m") == 0);
    const mds::opened_store run = mds::store::local(root.path());
    mds::checkpoint_saver saver(options_on(run));
    model mine(0, 1, cut::rows);
    mine.set(1);
    saver.save(1, mine.list());  // 1.3 MB
    saver.finish();
    run.write("other", std::vector<std::byte>(2'000'000));
    mine.set(2);
    saver.save(2, mine.list());
    saver.wait_snapshot();
    expect_error([&] { saver.finish(); }, errc::no_space, {root.path()});
    CHECK(mds::checkpoint::open(run).step() == 1);
    run.remove("other");
    mine.set(3);
    // What the failed save left is swept later; there is room for one more.
    saver.save(3, mine.list());
    saver.finish();
    const auto last = mds::checkpoint::open(run);
    CHECK(last.step() == 3);
    last.load(mine.list());
    CHECK(mine.difference(3) == "");
  });
}

TEST_CASE("a rank that cannot save is named by rank 0, and the next step is saved",
          "[checkpoint]") {
  const scratch root;
  const mds::opened_store run = mds::store::local(root.path());
  std::vector<std::optional<errc>> codes(2);
  std::vector<std::string> texts(2);
  CHECK(on_ranks(2, [&](std::uint64_t rank) {
          mds::saver_options options = options_on(
              rank == 1 ? mds::opened_store(full_once(mds::store::local(root.path()))) : run);
          options.world = {.ranks_per_node = 2, .rank = rank};
          options.token = "a";
          mds::checkpoint_saver saver(options);
          model mine(rank, 2, cut::rows);
          mine.set(1);
          saver.save(1, mine.list());
          try {
            saver.finish();
          } catch (const mds::error& e) {
            codes[rank] = static_cast<errc>(e.code().value());
            texts[rank] = e.what();
          }
          mine.set(2);
          saver.save(2, mine.list());
          saver.finish();
        }) == "");
  CHECK(codes[1] == errc::no_space);
  CHECK(codes[0] == errc::io_error);
  INFO(texts[0]);
  CHECK(texts[0].find("rank 1 could not save") != std::string::npos);
  CHECK(texts[0].find("the disk is full") != std::string::npos);
  const auto found = mds::checkpoint::list(run);
  REQUIRE(found.size() == 1);
  CHECK(found[0].step == 2);
  CHECK(launch(run, "b", 1, cut::rows, {}, {}) != "");  // there is one, without a loader's state
}

TEST_CASE("a rank whose record cannot be written as text says so, too", "[checkpoint]") {
  const mds::opened_store run = mds::store::memory();
  std::vector<std::optional<errc>> codes(2);
  std::vector<std::string> texts(2);
  CHECK(on_ranks(2, [&](std::uint64_t rank) {
          mds::saver_options options = options_on(run);
          options.world = {.ranks_per_node = 2, .rank = rank};
          options.token = "a";
          mds::checkpoint_saver saver(options);
          model mine(rank, 2, cut::rows);
          saver.save(1, mine.list(), {.loader_state = rank == 1 ? "\xFF" : ""});
          try {
            saver.finish();
          } catch (const mds::error& e) {
            codes[rank] = static_cast<errc>(e.code().value());
            texts[rank] = e.what();
          }
        }) == "");
  CHECK(codes[1] == errc::invalid_argument);
  CHECK(codes[0] == errc::io_error);  // and not that the rank never came
  for (const std::string& each : texts) {
    INFO(each);
    CHECK(each.find("not UTF-8") != std::string::npos);
  }
}

TEST_CASE("bytes that are damaged are named, and the next start takes the one before",
          "[checkpoint]") {
  const scratch root;
  const mds::opened_store run = mds::store::local(root.path());
  CHECK(launch(run, "a", 2, cut::rows, {}, {1, 2}) == "");
  const auto newest = mds::checkpoint::open(run);
  const std::string file = file_of(root.path(), newest.name(), 1);
  damage(file, fs::file_size(file) - 1);
  mds::saver_options options = options_on(run);
  std::vector<std::string> warnings;
  options.warn = [&](const std::string& text) { warnings.push_back(text); };
  model mine(0, 1, cut::rows);
  {
    mds::checkpoint_saver saver(options);
    const auto last = saver.resume_point();
    REQUIRE(last);
    CHECK(last->step() == 2);
    expect_error([&] { last->load(mine.list()); }, errc::corrupt,
                 {file, "step 2", "tensor", "bytes 0 to"});
    const auto found = last->verify();
    REQUIRE(found.size() == 1);
    CHECK(found[0].file == "r1-0.safetensors");
    CHECK(found[0].what.find("tensor") != std::string::npos);
  }
  CHECK(warnings.empty());
  mds::checkpoint_saver again(options);
  const auto last = again.resume_point();
  REQUIRE(last);
  CHECK(last->step() == 1);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("passed over") != std::string::npos);
  CHECK(warnings[0].find(newest.name()) != std::string::npos);
  last->load(mine.list());
  CHECK(mine.difference(1) == "");
  const auto listed = mds::checkpoint::list(run);
  CHECK(listed.at(1).damaged);
  CHECK_FALSE(listed.at(0).damaged);
  // A file that is gone is found at once, without a load.
  fs::remove(file_of(root.path(), last->name(), 0));
  expect_error([&] { (void)mds::checkpoint::open(run, {}, {.warn = no_warnings}); }, errc::corrupt,
               {"checkpoints can be used", last->name()});
  expect_error([&] { (void)mds::checkpoint::open(run, "1", {.warn = no_warnings}); }, errc::corrupt,
               {"r0-0.safetensors is missing"});
  CHECK(last->verify().size() == 1);
}

TEST_CASE("a run goes on from the newest checkpoint that is accepted", "[checkpoint]") {
  const scratch root;
  const mds::opened_store run = mds::store::local(root.path());
  CHECK(launch(run, "a", 2, cut::rows, {}, {1, 2, 3}) == "");
  mds::saver_options options = options_on(run);
  std::vector<std::string> warnings, asked;
  options.warn = [&](const std::string& text) { warnings.push_back(text); };
  std::uint64_t most = 1;
  options.accept = [&](const auto& metadata) {
    asked.push_back(metadata.at(0).second);
    return std::stoull(asked.back()) <= most;
  };
  model mine(0, 1, cut::rows);
  {
    mds::checkpoint_saver saver(options);
    const auto last = saver.resume_point();
    REQUIRE(last);
    CHECK(last->step() == 1);
    CHECK(asked == std::vector<std::string>{"3", "2", "1"});
    REQUIRE(warnings.size() == 2);
    CHECK(warnings[0].find("is not accepted") != std::string::npos);
    mine.set(1);
    saver.save(1, mine.list(), {.metadata = {{"loss", "1"}}});  // once more, by this start
    saver.finish();
  }
  // What was passed over stays rolled back, also for a start that accepts all.
  CHECK(mds::checkpoint::open(run).step() == 1);
  {
    most = 0;
    mds::checkpoint_saver saver(options);
    CHECK_FALSE(saver.resume_point());  // the first one is there: the run begins anew
  }
  CHECK(launch(run, "b", 2, cut::rows, {}, {1, 2, 3}) == "");
  for (const auto& each : run.list("manifest/"))
    if (!each.key.ends_with("3.json")) run.remove(each.key);
  mds::checkpoint_saver saver(options);  // it is gone, and whole weeks may be behind it
  expect_error([&] { (void)saver.resume_point(); }, errc::corrupt, {"can be used"});
}

TEST_CASE("the last ones, every m-th and those that are pinned stay", "[checkpoint]") {
  const scratch root;
  const mds::opened_store run = mds::store::local(root.path());
  // A job that died while it saved.
  run.write("data/00000001-00000000000000aa/000000000009/r0-0.safetensors", mds::as_bytes("x"));
  run.write("starts/00000001-00000000000000aa.claim", mds::as_bytes("{}\n"));
  run.write("data/notes.txt", mds::as_bytes("of the user"));
  // A file that it was writing.
  std::ofstream(root / "data/00000001-00000000000000aa/000000000009/.mdstream-0a.tmp") << "half";
  mds::saver_options options = options_on(run);
  options.keep = {.last = 2, .every = 40, .grace = 0ms};
  mds::checkpoint_saver saver(options);
  model mine(0, 1, cut::rows);
  const auto steps = [&] {
    std::vector<std::uint64_t> out;
    for (const auto& each : mds::checkpoint::list(run)) out.push_back(each.step);
    return out;
  };
  for (std::uint64_t step = 10; step <= 90; step += 10) {
    saver.save(step, mine.list());
    if (step != 20) continue;
    saver.finish();
    mds::pin_checkpoint(run, "20", "the paper");
  }
  saver.finish();
  CHECK(steps() == std::vector<std::uint64_t>{20, 40, 80, 90});
  CHECK_FALSE(fs::exists(root / "data/00000001-00000000000000aa"));
  CHECK(mds::as_text(mds::read_all(run, "data/notes.txt")) == "of the user");
  const auto pinned = mds::checkpoint::open(run, "20");
  CHECK(pinned.verify().empty());
  CHECK(mds::checkpoint::list(run).at(0).pinned);
  mds::unpin_checkpoint(run, pinned.name(), "the paper");
  saver.save(100, mine.list());
  saver.save(110, mine.list());
  saver.finish();
  CHECK(steps() == std::vector<std::uint64_t>{40, 80, 100, 110});
  expect_error([&] { mds::pin_checkpoint(run, "20", "x"); }, errc::not_found, {"\"20\""});
  for (const auto& each : run.list("data/")) {
    const auto id = mds::detail::save_of_data(each.key);
    if (id) CHECK((id->step == 40 || id->step == 80 || id->step >= 90));
  }
}
