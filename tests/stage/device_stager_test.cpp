#include <mdstream/stage/detail/device_stager.hpp>

#include "stage/plans.hpp"
#include "stage/scripted_device.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/seed.hpp"

#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace mds = mdstream;

namespace device_stager_test {

using scripted::machine;
using pinned = mds::stage::detail::basic_pinned<2, scripted::api>;
using device = mds::stage::detail::basic_device<3, scripted::memory, scripted::api>;

device make_device(const std::shared_ptr<machine>& m) {
  return {scripted::api(m), scripted::memory(m)};
}

/// Random steps of a trainer: batches are staged, read on one or more streams, moved, dropped
/// unread, kept, and at the end they or the stager go first. Reads are launched late and check
/// every byte. Returns the number of errors that the stager reported.
template <class Stager>
class trainer {
 public:
  trainer(std::shared_ptr<machine> m, std::uint32_t seed) : m_(std::move(m)), random_(seed) {}

  int run(const std::function<Stager()>& make, int steps) {
    std::optional<Stager> stager;
    attempt([&] { stager.emplace(make()); });
    for (int i = 0; stager && i < steps; ++i) attempt([&] { step(*stager, i); });
    if (random_() % 2 == 0) held_.clear();
    stager.reset();
    held_.clear();
    return errors_;
  }
  [[nodiscard]] int wrong() const { return *wrong_; }

 private:
  template <class F>
  void attempt(F&& f) {
    try {
      f();
    } catch (const mds::error& e) {
      ++errors_;
      if (e.code() != mds::errc::device_error ||
          std::string(e.what()).find("scriptedError") == std::string::npos ||
          std::string(e.what()).find("device 7") == std::string::npos)
        m_->faults.push_back(std::string("an error without its place and cause: ") + e.what());
    }
  }

  void step(Stager& stager, int number) {
    std::vector<std::uint64_t> values(random_() % 40, static_cast<std::uint64_t>(number) << 32);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += i;
    const plans::one_column batch(values);
    if (random_() % 2 == 0) current_ = {};  // as the loop does; or the old one goes after
    current_ = stager.stage(batch.plan());
    for (auto readers = random_() % 3; readers > 0; --readers) read(values);
    if (random_() % 4 == 0) held_.push_back(std::move(current_));
    if (!held_.empty() && random_() % 3 == 0) held_.erase(held_.begin());
  }

  void read(const std::vector<std::uint64_t>& values) {
    const auto stream = m_->trainer_stream(static_cast<int>(random_() % 3));
    current_.ready_on(stream);
    m_->launch(stream, [data = current_.data(), values, wrong = wrong_] {
      if (!values.empty() && std::memcmp(data, values.data(), values.size() * 8) != 0) ++*wrong;
    });
  }

  std::shared_ptr<machine> m_;
  std::mt19937 random_;
  typename Stager::slot current_;
  std::vector<typename Stager::slot> held_;
  std::shared_ptr<int> wrong_ = std::make_shared<int>(0);
  int errors_ = 0;
};

template <class Stager>
void explore(const std::function<Stager(const std::shared_ptr<machine>&)>& make) {
  for (unsigned round = 0; round < 300; ++round) {
    const unsigned seed = support::test_seed(round);
    INFO("seed " << seed);
    const auto m = std::make_shared<machine>(seed);
    {
      trainer<Stager> t(m, seed);
      CHECK(t.run([&] { return make(m); }, 25) == 0);
      CHECK(m->finish());
      CHECK(t.wrong() == 0);
    }
    CHECK(m->faults == std::vector<std::string>{});
    CHECK(m->live.empty());
    CHECK(m->entered == 0);
  }
}

template <class Stager>
void fail_everywhere(const std::function<Stager(const std::shared_ptr<machine>&)>& make) {
  for (unsigned round = 0; round < 8; ++round) {
    const unsigned seed = support::test_seed(round);
    for (int fail_at = 1;; ++fail_at) {
      INFO("seed " << seed << ", call " << fail_at);
      const auto m = std::make_shared<machine>(seed);
      m->fail_at = fail_at;
      int errors = 0;
      {
        trainer<Stager> t(m, seed);
        errors = t.run([&] { return make(m); }, 12);
        CHECK(m->finish());
        CHECK(t.wrong() == 0);
      }
      if (m->failed_call.empty()) break;  // the run has fewer calls
      INFO(m->failed_call);
      CHECK(m->faults == std::vector<std::string>{});
      CHECK(m->entered == 0);
      // What the last calls report, nobody is left to hear.
      CHECK(errors <= 1);
      CHECK(m->finish());
      // Where the device can not be used, or nothing tells when readers are done, memory is left.
      if (m->failed_call != "enter" && m->failed_call != "record") CHECK(m->live.empty());
    }
  }
}

}  // namespace device_stager_test

using namespace device_stager_test;

TEST_CASE("batches are whole and are not written while streams read them", "[stage]") {
  SECTION("device") {
    explore<device>([](const auto& m) { return make_device(m); });
  }
  SECTION("pinned") {
    explore<pinned>([](const auto& m) { return pinned(scripted::api(m)); });
  }
}

TEST_CASE("whatever call fails, it is one error, and all else is as it should be", "[stage]") {
  SECTION("device") {
    fail_everywhere<device>([](const auto& m) { return make_device(m); });
  }
  SECTION("pinned") {
    fail_everywhere<pinned>([](const auto& m) { return pinned(scripted::api(m)); });
  }
}

TEST_CASE("several threads fill a batch", "[stage]") {
  const auto m = std::make_shared<machine>(1);
  device several{scripted::api(m), scripted::memory(m), 3};
  for (std::uint64_t round = 0; round < 20; ++round) {
    std::vector<std::uint64_t> values(60'000);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = round << 32 | i;
    const plans::one_column batch(values);
    auto slot = several.stage(batch.plan());
    const auto stream = m->trainer_stream(0);
    slot.ready_on(stream);
    bool same = false;
    m->launch(stream, [&] {
      same = std::memcmp(slot.data(), values.data(), values.size() * sizeof values[0]) == 0;
    });
    CHECK(m->finish());
    CHECK(same);
  }
}

TEST_CASE("a failure while a batch is given up is thrown by the next one, once", "[stage]") {
  const auto m = std::make_shared<machine>(1);
  device stager = make_device(m);
  const plans::one_column batch({1, 2, 3});
  {
    auto slot = stager.stage(batch.plan());
    slot.ready_on(m->trainer_stream(1));
    m->fail_at = m->calls + 2;  // enter, record
  }
  CHECK(m->failed_call == "record");
  support::expect_error([&] { (void)stager.stage(batch.plan()); }, mds::errc::device_error,
                        {"end of the work", "CUDA device 7", "scriptedError: record"});
  CHECK(m->finish());
  auto next = stager.stage(batch.plan());
  CHECK(m->finish());
  CHECK(std::memcmp(next.data(), batch.values.data(), 24) == 0);
}

TEST_CASE("a loop sees the same addresses in turn, and waits and allocates no more", "[stage]") {
  const auto m = std::make_shared<machine>(1);
  device stager = make_device(m);
  const plans::one_column batch({1, 2, 3});
  std::vector<const std::byte*> addresses;
  device::slot slot;
  std::set<const void*> warm;
  for (int i = 0; i < 12; ++i) {
    slot = {};
    slot = stager.stage(batch.plan());
    slot.ready_on(m->trainer_stream(1));
    addresses.push_back(slot.data());
    CHECK(m->finish());
    if (i == 5) warm = m->live;
  }
  for (std::size_t i = 3; i < addresses.size(); ++i) CHECK(addresses[i] == addresses[i - 3]);
  CHECK(addresses[0] != addresses[1]);
  CHECK(m->live == warm);
  CHECK(m->host_waits == 0);
  CHECK(mds::stage::place_of(slot) == mds::stage::memory_place{mds::stage::memory_kind::device, 7});
}

TEST_CASE("streams of another device are refused, and the batch is as it was", "[stage]") {
  const auto m = std::make_shared<machine>(1);
  pinned stager{scripted::api(m)};
  const plans::one_column batch({1, 2, 3});
  {
    auto slot = stager.stage(batch.plan());
    const auto expect_refusal = [&](mds::stage::stream_handle stream) {
      support::expect_error([&] { slot.ready_on(stream); }, mds::errc::invalid_argument,
                            {"stream of another device", "CUDA device 7"});
    };
    expect_refusal(m->foreign_stream());
    m->current_device = 0;
    expect_refusal(nullptr);
    m->current_device = 7;
    slot.ready_on(nullptr);
    slot.ready_on(m->trainer_stream(1));
    CHECK(std::memcmp(slot.data(), batch.values.data(), 24) == 0);
  }
  (void)stager.stage(batch.plan());
  CHECK(m->finish());
  CHECK(m->faults == std::vector<std::string>{});
}

TEST_CASE("batches are dropped on other threads while the next are staged", "[stage]") {
  const auto m = std::make_shared<machine>(5);
  device stager = make_device(m);
  const plans::one_column batch({4, 5, 6});
  std::vector<std::thread> droppers;
  for (int i = 0; i < 40; ++i)
    droppers.emplace_back([slot = stager.stage(batch.plan()), m, i]() mutable {
      slot.ready_on(m->trainer_stream(i % 3));
      slot = {};
    });
  for (auto& thread : droppers) thread.join();
  CHECK(m->finish());
  CHECK(m->faults == std::vector<std::string>{});
}
