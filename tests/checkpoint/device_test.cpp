// Tensors on a scripted device, whose streams run late and in any order that their events allow.

#include <mdstream/checkpoint/saver.hpp>
#include <mdstream/store/memory.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "checkpoint/launches.hpp"
#include "checkpoint/training.hpp"
#include "stage/scripted_device.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/sanitizer.hpp"
#include "support/seed.hpp"

namespace checkpoint_device_test {

namespace mds = mdstream;
using launches::no_warnings;
using launches::options_on;
using mds::errc;
using scripted::machine;
using support::error_of;
using support::expect_error;
using training::cut;
using training::model;

constexpr std::uint64_t memory_bytes = 700'000;  // about half of what is saved

// A fault at every call takes two minutes under TSan. Threads meet at one call of five as they meet
// at each.
constexpr int calls_between_faults = support::under_tsan ? 5 : 1;

mds::saver_options options_of(const mds::opened_store& run, const std::shared_ptr<machine>& m) {
  mds::saver_options options = options_on(run);
  options.memory.value = memory_bytes;
  options.device = scripted::api(m);
  return options;
}

/// Two steps of a trainer: the stream makes the values late, and overwrites them as soon as it may.
void save_two(mds::checkpoint_saver& saver, machine& m, model& mine, bool on_stream) {
  const auto stream = m.trainer_stream(1);
  for (std::uint64_t step = 1; step <= 2; ++step) {
    m.launch(stream, [&mine, step] { mine.set(step); });
    saver.save(step, mine.list(), {}, stream);
    if (on_stream)
      saver.wait_snapshot(stream);
    else
      saver.wait_snapshot();
    m.launch(stream, [&mine] { mine.clear(); });
  }
  saver.finish();
}

std::string difference(const mds::opened_store& run, std::uint64_t step) {
  model whole(0, 1, cut::rows);
  mds::checkpoint::open(run, std::to_string(step)).load(whole.list());
  return whole.difference(step);
}

}  // namespace checkpoint_device_test

using namespace checkpoint_device_test;

TEST_CASE("tensors on a device are saved as the stream leaves them, through bounded pinned memory",
          "[checkpoint]") {
  for (unsigned round = 0; round < 24; ++round) {
    const unsigned seed = support::test_seed(round);
    INFO("seed " << seed);
    const auto m = std::make_shared<machine>(seed);
    const mds::opened_store run = mds::store::memory();
    model mine(0, 1, cut::rows);
    {
      mds::checkpoint_saver saver(options_of(run, m));
      save_two(saver, *m, mine, round % 2 == 0);
      CHECK(m->finish());
    }
    CHECK(difference(run, 1) == "");
    CHECK(difference(run, 2) == "");
    CHECK(m->faults.empty());
    CHECK(m->live.empty());
    CHECK(m->calls_of["download"] > 10);
    CHECK(m->most_pinned <= memory_bytes);
    CHECK(m->most_pinned > memory_bytes / 2);
  }
}

TEST_CASE("a checkpoint is loaded to a device, behind what the stream holds", "[checkpoint]") {
  const mds::opened_store run = mds::store::memory();
  {
    model mine(0, 1, cut::rows);
    mds::checkpoint_saver saver(options_on(run));
    mine.set(5);
    saver.save(5, mine.list());
    saver.finish();
  }
  for (unsigned round = 0; round < 24; ++round) {
    const unsigned seed = support::test_seed(round);
    INFO("seed " << seed);
    const auto m = std::make_shared<machine>(seed);
    const auto stream = m->trainer_stream(2);
    const cut how = round % 2 == 0 ? cut::rows : cut::columns;
    model mine(round % 3, 3, how);
    m->launch(stream, [&mine] { mine.clear(); });  // late
    mds::read_options options{.stream = stream};
    options.memory.value = 200'000;
    {
      mds::checkpoint_saver saver(options_of(run, m));
      const auto last = round < 12 ? saver.resume_point() : mds::checkpoint::open(run);
      REQUIRE(last);
      if (round >= 12) options.device = scripted::api(m);
      last->load(mine.list(), options);
      CHECK(mine.difference(5) == "");
      CHECK(m->most_pinned <= 200'000);
      CHECK(m->finish());
      CHECK(mine.difference(5) == "");
    }
    options.device = {};
    CHECK(m->faults.empty());
    CHECK(m->live.empty());
    CHECK(m->calls_of["upload"] > 7);
  }
}

TEST_CASE("a load to a device fails with what the device or the store fails with", "[checkpoint]") {
  const mds::opened_store run = mds::store::memory();
  model mine(0, 1, cut::rows);
  {
    mds::checkpoint_saver saver(options_on(run));
    mine.set(5);
    saver.save(5, mine.list());
    saver.finish();
  }
  const auto found = mds::checkpoint::open(run);
  int failed = 0;
  for (int at = 1;; ++at) {
    const auto m = std::make_shared<machine>(static_cast<std::uint32_t>(at));
    m->fail_at = at;
    const auto error = error_of([&] {
      mds::read_options options{.device = scripted::api(m)};
      options.memory.value = 500'000;
      found.load(mine.list(), options);
    });
    CHECK(m->faults.empty());
    if (m->failed_call.empty()) {
      CHECK_FALSE(error);
      break;
    }
    if (!error) continue;  // on the way out
    ++failed;
    CHECK(error->code() == errc::device_error);
  }
  CHECK(failed > 10);
  mds::tensor_list other;
  std::byte memory{};
  other.add("not there", mds::tensor_type::u8, {1}, &memory);
  const auto m = std::make_shared<machine>(1);
  expect_error([&] { found.load(other, {.device = scripted::api(m)}); }, errc::not_found,
               {"not there"});
  CHECK(m->live.empty());
}

TEST_CASE("whatever a device fails with, the save fails and nothing else does", "[checkpoint]") {
  int failed = 0;
  for (int at = 1, last = 0; last < 3;
       at += calls_between_faults) {  // until no call is left that could fail
    INFO("call " << at);
    const auto m = std::make_shared<machine>(static_cast<std::uint32_t>(at));
    m->fail_at = at;
    const mds::opened_store run = mds::store::memory();
    model mine(0, 1, cut::rows), again(0, 1, cut::rows);
    const auto error = error_of([&] {
      mds::checkpoint_saver saver(options_of(run, m));
      const auto first = error_of([&] { save_two(saver, *m, mine, at % 2 == 0); });
      m->fail_at = 0;
      m->finish();
      again.set(3);
      saver.save(3, again.list());
      saver.wait_snapshot();
      again.clear();
      saver.finish();
      CHECK(difference(run, 3) == "");
      if (first) throw *first;
    });
    // What is complete has the values of its step.
    for (const auto& each : mds::checkpoint::list(run))
      if (each.step < 3) CHECK(difference(run, each.step) == "");
    CHECK(m->faults.empty());
    if (m->failed_call.empty()) {
      ++last;
      CHECK_FALSE(error);
      continue;
    }
    // A call that only frees, or pauses, fails nothing.
    if (!error) continue;
    ++failed;
    INFO(error->what());
    CHECK(error->code() == errc::device_error);
    CHECK(std::string(error->what()).find("scriptedError: " + m->failed_call) != std::string::npos);
    CHECK(std::string(error->what()).find("device 7") != std::string::npos);
  }
  CHECK(failed > 30 / calls_between_faults);
}

TEST_CASE("a stream of another device is refused", "[checkpoint]") {
  const auto m = std::make_shared<machine>(1);
  const mds::opened_store run = mds::store::memory();
  model mine(0, 1, cut::rows);
  mds::checkpoint_saver saver(options_of(run, m));
  expect_error([&] { saver.save(1, mine.list(), {}, m->foreign_stream()); }, errc::invalid_argument,
               {"stream of another device"});
  m->current_device = 3;
  expect_error([&] { saver.save(1, mine.list()); }, errc::invalid_argument, {"default stream"});
  m->current_device = 7;
  saver.save(1, mine.list());
  expect_error([&] { saver.wait_snapshot(m->foreign_stream()); }, errc::invalid_argument, {"7"});
  saver.finish();
}
