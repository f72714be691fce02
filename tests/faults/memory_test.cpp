// Memory that runs out while a loader opens, a batch is taken or a checkpoint saved, on the calling
// thread or on those of the library.

#include <mdstream/async/runtime.hpp>
#include <mdstream/checkpoint/saver.hpp>
#include <mdstream/core/detail/unique_function.hpp>
#include <mdstream/mdstream.hpp>
#include <mdstream/store/local.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/training.hpp"
#include "store/scratch.hpp"
#include "support/allocation_faults.hpp"
#include "support/catch.hpp"
#include "support/plain_dataset.hpp"

namespace memory_test {

namespace mds = mdstream;
using scratch_directory::scratch;
using loader = mds::loader<mds::policies<mds::schema<mds::column<"id", mds::int_>>>>;

/// What an action threw; empty if it threw nothing.
std::string failure_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const std::bad_alloc&) {
    return "no memory";
  } catch (const mds::error& e) {
    return e.what();
  }
  return "";
}

enum class fault { once, lasting, once_on_any_thread };

/// Fails one allocation of `run` after the other, or each and all that follow, until none is left
/// to fail. `then` has to work after each.
void fail_each_allocation(fault which, const std::function<void()>& before,
                          const std::function<void()>& run, const std::function<void()>& then) {
  std::size_t failures = 0;
  bool some_fail = true;
  for (std::size_t number = 1; some_fail; ++number) {
    INFO("allocation " << number << ", fault " << static_cast<int>(which));
    before();
    bool failed = false;
    if (which == fault::once_on_any_thread) {
      support::failing_allocation_of_all one(number);
      failed = !failure_of(run).empty();
      some_fail = one.end();
    } else {
      support::failing_allocation one(number, which == fault::lasting);
      failed = !failure_of(run).empty();
      some_fail = one.end();
    }
    if (failed) ++failures;
    CHECK(failed <= some_fail);
    const std::string afterwards = failure_of(then);
    CHECK(afterwards == "");
  }
  CHECK(failures > 10);
}

struct dataset {
  scratch dir;
  dataset() { support::write_plain_dataset(dir / "remote", {10, 10, 10}); }
  [[nodiscard]] loader::options options() const {
    return {.remote = dir / "remote",
            .local = dir / "cache",
            .batch_size = 6,
            .world = mds::world{},
            .threads = 1};
  }
};

/// The ids of all samples of an epoch, added.
std::int64_t sum_of_epoch(loader& from) {
  std::int64_t sum = 0;
  for (const auto& batch : from.epoch())
    for (const std::int64_t id : batch.get<"id">()) sum += id;
  return sum;
}

/// Drops `failed` and reads all by another.
void check_another(std::optional<loader>& failed, const dataset& of) {
  failed.reset();
  loader one(of.options());
  CHECK(sum_of_epoch(one) == 29 * 30 / 2);
}

}  // namespace memory_test

TEST_CASE("without memory there are 64 handlers, and as many again once these are gone",
          "[faults]") {
  std::vector<mdstream::detail::unique_function<int()>> handlers;
  handlers.reserve(100);
  for (int round = 0; round < 2; ++round) {
    bool refused = false;
    int sum = 0;
    {
      const support::failing_allocation fault(1, true);
      try {
        while (handlers.size() < 100) handlers.emplace_back([] { return 1; });
      } catch (const std::bad_alloc&) {
        refused = true;
      }
    }
    for (auto& each : handlers) sum += each();
    CHECK(refused);
    CHECK(sum == 64);
    handlers.clear();
  }
}

TEST_CASE("a runtime ends without memory, after what was posted", "[faults]") {
  auto threads = std::make_unique<mdstream::runtime>(1);
  int ended = 0;
  {
    const support::failing_allocation fault(1, true);
    threads->post([&io = threads->io(), &ended] {
      ++ended;
      asio::post(io, mdstream::detail::io_task([&ended] { ++ended; }));
    });
    threads.reset();
  }
  CHECK(ended == 2);
}

TEST_CASE("a loader whose memory runs out while it opens throws, and the next one opens",
          "[faults]") {
  using namespace memory_test;
  const dataset of;
  std::optional<loader> one;
  fail_each_allocation(
      GENERATE(fault::once, fault::lasting, fault::once_on_any_thread),
      [&] { std::filesystem::remove_all(of.dir / "cache"); }, [&] { one.emplace(of.options()); },
      [&] { check_another(one, of); });
}

TEST_CASE("a loader whose memory runs out during a batch throws, and another reads all",
          "[faults]") {
  using namespace memory_test;
  const dataset of;
  std::optional<loader> one;
  fail_each_allocation(
      GENERATE(fault::once, fault::lasting, fault::once_on_any_thread),
      [&] {
        std::filesystem::remove_all(of.dir / "cache");
        one.emplace(of.options());
      },
      [&] {
        auto epoch = one->epoch();
        loader::batch_type batch;
        (void)epoch.next(batch);
      },
      [&] { check_another(one, of); });
}

TEST_CASE("a saver whose memory runs out during a save throws, and saves the next step",
          "[faults]") {
  using namespace memory_test;
  const scratch dir;
  const training::model mine(0, 1, training::cut::rows);
  std::uint64_t step = 0;
  std::optional<mds::checkpoint_saver> saver;
  saver.emplace(
      mds::saver_options{.run = mds::store::local(dir / "run"), .warn = [](const std::string&) {}});
  fail_each_allocation(
      GENERATE(fault::once, fault::lasting, fault::once_on_any_thread), [] {},
      [&] {
        saver->save(++step, mine.list());
        saver->wait_snapshot();
      },
      [&] {
        (void)failure_of([&] { saver->finish(); });
        saver->save(++step, mine.list());
        saver->finish();
      });
}
