#include <mdstream/cache/load_index.hpp>

#include <mdstream/store/memory.hpp>

#include <string>
#include <thread>
#include <vector>

#include "cache/fault_store.hpp"
#include "cache/fixture.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace load_index_test {

using namespace cache_test;
using mds::errc;
using support::expect_error;
using faulty = fault_store::store;

struct place {
  dataset data{{.shards = 3}};
  faulty remote{};
  scratch root{};
  std::string path = root / "train/index.json";

  place() { data.put(remote, "train"); }
  [[nodiscard]] mds::index_source source() const {
    return {.name = "text",
            .directory = root / "train",
            .prefix = "train",
            .attempts = 3,
            .pause = 1us};
  }
};

TEST_CASE("an index is fetched once and then read where it lies", "[cache]") {
  const place here;
  CHECK(mds::load_index(&here.remote, here.source()).shards() == 3);
  CHECK(read_file(here.path).size() == here.data.text().size());
  CHECK(mds::load_index(&here.remote, here.source()).shards() == 3);
  CHECK(here.remote.reads() == 1);
  const faulty* none = nullptr;
  CHECK(mds::load_index(none, here.source()).shards() == 3);
}

TEST_CASE("an index that can not be had says which and why", "[cache]") {
  const place here;
  const faulty* none = nullptr;
  expect_error([&] { (void)mds::load_index(none, here.source()); }, errc::not_found,
               {"\"text\"", here.path, "no remote"});
  here.remote.remove("train/index.json");
  expect_error([&] { (void)mds::load_index(&here.remote, here.source()); }, errc::not_found,
               {"\"text\"", "train/index.json", "no such object"});
  CHECK_FALSE(fs::exists(here.path));
}

TEST_CASE("a store that fails is asked again", "[cache]") {
  const place here;
  here.remote.script(0, fault_store::fault::error);
  here.remote.script(1, fault_store::fault::short_read);
  CHECK(mds::load_index(&here.remote, here.source()).shards() == 3);
  CHECK(here.remote.reads() == 3);
}

TEST_CASE("an index that is cut short is not kept, and one that lies there is replaced",
          "[cache]") {
  const place here;
  const std::string half = here.data.text().substr(0, here.data.text().size() / 2);
  here.remote.write("train/index.json", mds::as_bytes(half));
  expect_error([&] { (void)mds::load_index(&here.remote, here.source()); }, errc::corrupt,
               {"\"text\"", "train/index.json"});
  CHECK_FALSE(fs::exists(here.path));

  fs::create_directories(here.root / "train");
  write_file(here.path, mds::as_bytes(half));
  const faulty* none = nullptr;
  expect_error([&] { (void)mds::load_index(none, here.source()); }, errc::corrupt, {here.path});
  CHECK(fs::exists(here.path));
  here.data.put(here.remote, "train");
  CHECK(mds::load_index(&here.remote, here.source()).shards() == 3);
  CHECK(read_file(here.path).size() == here.data.text().size());
}

TEST_CASE("what a killed process left of an index is deleted, what a live one makes is not",
          "[cache]") {
  const place here;
  const std::string dead = here.root / "train/.mdstream-index-1",
                    live = here.root / "train/.mdstream-index-2";
  fs::create_directories(here.root / "train");
  write_file(dead, mds::as_bytes("half an ind"));
  const mds::unique_fd held = mds::detail::try_lock_path(live, mds::lock_kind::exclusive);
  REQUIRE(held);
  CHECK(mds::load_index(&here.remote, here.source()).shards() == 3);
  CHECK_FALSE(fs::exists(dead));
  CHECK(fs::exists(live));
  CHECK(fs::exists(here.path));
}

TEST_CASE("many may load the same index at once", "[cache]") {
  const place here;
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back(
        [&] { right += mds::load_index(&here.remote, here.source()).shards() == 3 ? 1 : 0; });
  }
  for (std::thread& each : threads) each.join();
  CHECK(right == 8);
  CHECK(files_in(here.root.path()).empty());
}

}  // namespace load_index_test
