#include "quickstart/run_log.hpp"

#include "store/scratch.hpp"
#include "support/catch.hpp"

#include <filesystem>
#include <fstream>
#include <string>

namespace run_log_test {

struct temporary_log {
  const scratch_directory::scratch made{};
  const std::filesystem::path folder = made.path();
  [[nodiscard]] std::filesystem::path path() const { return folder / "runs" / "a.tsv"; }
};

inline quickstart::log_entry entry(std::uint64_t step) {
  return {.step = step,
          .loss = 1.0 / 3.0 + static_cast<double>(step),
          .held_out = step % 2 == 0 ? 0.1 : 0.0,
          .digest = 0xfedcba9876543210 + step};
}

}  // namespace run_log_test

TEST_CASE("a log gives back the bits that were written", "[quickstart]") {
  const run_log_test::temporary_log where;
  {
    quickstart::run_log log(where.path(), 0);
    for (std::uint64_t step = 0; step < 5; ++step) log.add(run_log_test::entry(step));
  }
  const auto entries = quickstart::read_log(where.path());
  REQUIRE(entries.size() == 5);
  for (std::uint64_t step = 0; step < 5; ++step) CHECK(entries[step] == run_log_test::entry(step));
}

TEST_CASE("a run that goes on at a step drops what was written after it", "[quickstart]") {
  const run_log_test::temporary_log where;
  {
    quickstart::run_log log(where.path(), 0);
    for (std::uint64_t step = 0; step < 5; ++step) log.add(run_log_test::entry(step));
  }
  std::ofstream(where.path(), std::ios::app) << "5\t1.2";  // what a kill may leave
  {
    quickstart::run_log log(where.path(), 3);
    log.add(run_log_test::entry(33));
  }
  const auto entries = quickstart::read_log(where.path());
  REQUIRE(entries.size() == 4);
  CHECK(entries[2] == run_log_test::entry(2));
  CHECK(entries[3] == run_log_test::entry(33));
}

TEST_CASE("a run that goes on on another machine, and comes back, lacks the steps between",
          "[quickstart]") {
  const run_log_test::temporary_log where;
  CHECK(quickstart::read_log_if_any(where.path()).empty());
  CHECK_THROWS_AS(quickstart::read_log(where.path()), std::runtime_error);
  {
    quickstart::run_log log(where.path(), 3);
    log.add(run_log_test::entry(3));
  }
  {
    quickstart::run_log log(where.path(), 7);
    log.add(run_log_test::entry(7));
  }
  const auto entries = quickstart::read_log(where.path());
  REQUIRE(entries.size() == 2);
  CHECK(entries[0] == run_log_test::entry(3));
  CHECK(entries[1] == run_log_test::entry(7));
}
