#include <mdstream/store/detail/file.hpp>
#include <mdstream/store/operations.hpp>
#include <mdstream/stream/detail/plan_keeper.hpp>

#include <mdstream/order/order_engine.hpp>
#include <mdstream/order/shuffle.hpp>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "store/scratch.hpp"
#include "support/catch.hpp"

namespace plan_keeper_test {

namespace fs = std::filesystem;
namespace mds = mdstream;
using engine = mds::detail::plan_keeper::engine_type;

struct folder {
  const scratch_directory::scratch made{};
  const fs::path path = made.path();

  [[nodiscard]] std::vector<fs::path> files() const {
    std::vector<fs::path> out;
    if (fs::is_directory(path / "plans"))
      for (const auto& each : fs::directory_iterator(path / "plans")) out.push_back(each.path());
    return out;
  }
  [[nodiscard]] mds::detail::plan_keeper keeper() const {
    return mds::detail::plan_keeper((path / "plans").string(), 0);
  }
};

engine make_engine(bool shuffle = true) {
  const std::vector<mds::stream_shards> streams{{.samples = {40, 7, 90, 23}}};
  return engine(
      streams,
      {.num_canonical_nodes = 2, .shuffle = shuffle, .shuffle_block_size = std::uint64_t{60}},
      mds::shuffle::py1e());
}

mds::epoch_start start_of(std::uint64_t epoch) {
  return {.epoch = epoch, .num_canonical_nodes = 2, .shuffle_block_size = 60};
}

std::vector<std::int64_t> ids_of(const mds::epoch_order& order) {
  std::vector<std::int64_t> out(order.positions());
  order.ids(0, out);
  return out;
}

}  // namespace plan_keeper_test

using namespace plan_keeper_test;

TEST_CASE("an epoch that was opened once is opened from its plan", "[stream]") {
  const folder files;
  const engine order = make_engine();
  const auto expected = ids_of(order.epoch({}, 4, start_of(1)));
  CHECK(ids_of(files.keeper().open(order, {}, 4, start_of(1))) == expected);
  REQUIRE(files.files().size() == 1);
  const auto written = fs::last_write_time(files.files()[0]);
  CHECK(ids_of(files.keeper().open(order, {}, 4, start_of(1))) == expected);
  CHECK(fs::last_write_time(files.files()[0]) == written);

  fs::resize_file(files.files()[0], 100);
  CHECK(ids_of(files.keeper().open(order, {}, 4, start_of(1))) == expected);
  CHECK(fs::file_size(files.files()[0]) > 100);
}

TEST_CASE("the next epoch's plan is there when the pool had time for it", "[stream]") {
  const folder files;
  const engine order = make_engine();
  mds::progress run = order.begin_run();
  (void)run.begin_epoch({});
  {
    mds::runtime threads(1);
    files.keeper().prepare(threads, order, {}, 4, run);
  }
  REQUIRE(files.files().size() == 1);
  const auto prepared = fs::last_write_time(files.files()[0]);
  CHECK(ids_of(files.keeper().open(order, {}, 4, run.begin_epoch({}))) ==
        ids_of(order.epoch({}, 4, start_of(1))));
  CHECK(files.files().size() == 1);
  CHECK(fs::last_write_time(files.files()[0]) == prepared);
}

TEST_CASE("old plans go, and what is not worth a file has none", "[stream]") {
  const folder files;
  const engine order = make_engine();
  std::ofstream(files.path / "other") << "of somebody else";
  for (std::uint64_t epoch = 0; epoch < 9; ++epoch) {
    (void)files.keeper().open(order, {}, 4, start_of(epoch));
    CHECK(files.files().size() == std::min<std::size_t>(epoch + 1, 3));
  }
  CHECK(fs::exists(files.path / "other"));

  const folder none;
  const auto plain = make_engine(false);
  CHECK(ids_of(none.keeper().open(plain, {}, 4, start_of(0))) ==
        ids_of(plain.epoch({}, 4, start_of(0))));
  const mds::detail::plan_keeper usual((none.path / "plans").string());
  (void)usual.open(order, {}, 4, start_of(0));
  (void)mds::detail::plan_keeper("", 0).open(order, {}, 4, start_of(0));
  CHECK(none.files().empty());
}

TEST_CASE("a directory that cannot be written is no hindrance", "[stream]") {
  const folder files;
  const engine order = make_engine();
  std::ofstream(files.path / "plans") << "a file where the directory should be";
  CHECK(ids_of(files.keeper().open(order, {}, 4, start_of(0))) ==
        ids_of(order.epoch({}, 4, start_of(0))));
}
