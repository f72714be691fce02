#include <mdstream/cache/detail/load_index.hpp>

#include <mdstream/async/detail/event.hpp>
#include <mdstream/store/local.hpp>
#include <mdstream/store/memory.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cache/fault_store.hpp"
#include "cache/fixture.hpp"
#include "store/forwarding.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace load_index_test {

using namespace cache_test;
using mds::errc;
using support::expect_error;
using faulty = fault_store::store;

/// Waits for an index.
template <class Store>
mds::detail::loaded_index load(const Store& remote, mds::detail::index_source source) {
  mds::runtime threads{2};
  mds::detail::one_time_event ended;
  std::exception_ptr failure;
  mds::detail::loaded_index found;
  mds::detail::index_loading::start(threads, mds::any_async_store(mds::make_async(threads, remote)),
                                    std::move(source), {},
                                    [&](std::exception_ptr why, mds::detail::loaded_index loaded) {
                                      failure = std::move(why);
                                      found = std::move(loaded);
                                      ended.set();
                                    });
  ended.wait();
  if (failure) std::rethrow_exception(failure);
  return found;
}

struct setting {
  dataset data{{.shards = 3}};
  faulty remote{};
  scratch root{};
  std::string path = root / "train/index.json";

  setting() { data.put(remote, "train"); }
  [[nodiscard]] mds::detail::index_source source() const {
    return {.name = "text",
            .directory = root / "train",
            .prefix = "train",
            .retry = {.attempts = 3, .pause = 1us}};
  }
  [[nodiscard]] mds::detail::loaded_index load() const {
    return load_index_test::load(remote, source());
  }
  [[nodiscard]] std::string shard(std::uint32_t i) const {
    return root / ("train/" + dataset::name(i, false));
  }
  /// As a run leaves it: opened, with one shard.
  void fill() const {
    (void)load();
    write_file(shard(1), data.raw(1));
  }
};

/// A store with tags, of the last part of the name of the key.
struct tagged : store_test::forwarding<mds::blocking<faulty>> {
  std::shared_ptr<std::string> tag;
  void async_version(std::string key, std::stop_token stop, mds::diagnostics& where,
                     mds::store_handler<mds::object_version> done) const {
    inner.async_size(
        std::move(key), std::move(stop), where,
        [tag = *tag, done = std::move(done)](std::error_code code, std::uint64_t bytes) mutable {
          done(code, {.bytes = bytes, .tag = tag});
        });
  }
  void async_read(std::string key, std::uint64_t offset, mds::mutable_bytes into,
                  std::stop_token stop, mds::diagnostics& where,
                  mds::store_handler<std::size_t> done) const {
    inner.async_read(std::move(key), offset, into, std::move(stop), where, std::move(done));
  }
  void async_read_version(std::string key, const mds::object_version&, std::uint64_t offset,
                          mds::mutable_bytes into, std::stop_token stop, mds::diagnostics& where,
                          mds::store_handler<std::size_t> done) const {
    inner.async_read(std::move(key), offset, into, std::move(stop), where, std::move(done));
  }
};

TEST_CASE("an index is fetched once, and the remote asked by its tag whether it changed",
          "[cache]") {
  const setting fixture;
  mds::runtime threads{1};
  const tagged remote{{{threads, fixture.remote}}, std::make_shared<std::string>("\"1\"")};
  CHECK(load(remote, fixture.source()).index.shards() == 3);
  CHECK(read_file(fixture.path).size() == fixture.data.text().size());
  CHECK(load(remote, fixture.source()).index.shards() == 3);
  CHECK(fixture.remote.reads() == 1);
  CHECK(mds::detail::load_index(fixture.source()).shards() == 3);
  *remote.tag = "\"2\"";  // the same bytes once more
  CHECK(load(remote, fixture.source()).notice.empty());
  CHECK(fixture.remote.reads() == 2);
  CHECK(load(remote, fixture.source()).notice.empty());
  CHECK(fixture.remote.reads() == 2);
}

TEST_CASE("a dataset that was rewritten is taken anew, and nothing of the old one stays",
          "[cache]") {
  const bool hashed = GENERATE(true, false);
  const setting fixture;
  const dataset before({.shards = 3, .hashed = hashed}),
      after({.shards = 4, .hashed = hashed, .seed = 2});
  before.put(fixture.remote, "train");
  const mds::detail::loaded_index first = fixture.load();
  CHECK(first.notice.empty());
  for (std::uint32_t i = 0; i < 3; ++i) write_file(fixture.shard(i), before.raw(i));
  write_file(fixture.root / "train/mine.txt", mds::as_bytes("not of any index"));
  after.put(fixture.remote, "train");
  const mds::detail::loaded_index second = fixture.load();
  CHECK(second.index.shards() == 4);
  CHECK(second.version != first.version);
  CHECK(second.notice.find("rewritten") != std::string::npos);
  CHECK(second.notice.find("3 were of another version") != std::string::npos);
  CHECK(files_in(fixture.root / "train") == std::vector<std::string>{"mine.txt"});
  CHECK(read_file(fixture.path).size() == after.text().size());
  CHECK(fixture.load().notice.empty());
}

TEST_CASE("shards that were appended to stay where hashes tell that they are the same", "[cache]") {
  const bool hashed = GENERATE(true, false);
  const setting fixture;
  const dataset before({.shards = 3, .hashed = hashed}), after({.shards = 5, .hashed = hashed});
  before.put(fixture.remote, "train");
  (void)fixture.load();
  write_file(fixture.shard(1), before.raw(1));
  after.put(fixture.remote, "train");
  const mds::detail::loaded_index found = fixture.load();
  CHECK(found.index.shards() == 5);
  CHECK(found.notice.find(hashed ? "1 are in both" : "1 were of another") != std::string::npos);
  CHECK(fs::exists(fixture.shard(1)) == hashed);
}

TEST_CASE("a directory that holds shards of another remote is refused with both names", "[cache]") {
  const setting fixture;
  fixture.fill();
  const scratch other;
  const mds::store::local elsewhere(other.path());
  const dataset data({.shards = 3, .seed = 2});
  data.put(elsewhere, "train");
  expect_error([&] { (void)load(elsewhere, fixture.source()); }, errc::invalid_argument,
               {fixture.remote.url("train"), other / "train", fixture.root / "train", "local"});
  CHECK(fs::exists(fixture.shard(1)));
  CHECK(fixture.load().index.shards() == 3);
  fs::remove(fixture.shard(1));  // with nothing to lose it is another's
  CHECK(load(elsewhere, fixture.source()).index.shards() == 3);
}

TEST_CASE("a dataset that moved is known by its hashes", "[cache]") {
  const bool hashed = GENERATE(true, false);
  const setting fixture;
  const dataset data({.shards = 3, .hashed = hashed});
  data.put(fixture.remote, "train");
  fixture.fill();
  const scratch other;
  const mds::store::local elsewhere(other.path());
  data.put(elsewhere, "train");
  if (hashed) {
    CHECK(load(elsewhere, fixture.source()).notice.empty());
    CHECK(load(elsewhere, fixture.source()).notice.empty());
    CHECK(fs::exists(fixture.shard(1)));
  } else {
    expect_error([&] { (void)load(elsewhere, fixture.source()); }, errc::invalid_argument,
                 {other / "train"});
  }
}

TEST_CASE("what others put there is taken where it is of this dataset", "[cache]") {
  const bool hashed = GENERATE(true, false);
  const bool same = GENERATE(true, false);
  const setting fixture;
  const dataset ours({.shards = 3, .hashed = hashed, .seed = 7}),
      theirs({.shards = 3, .hashed = hashed, .seed = same ? 7U : 8U});
  ours.put(fixture.remote, "train");
  fs::create_directories(fixture.root / "train");
  write_file(fixture.path, mds::as_bytes(theirs.text()));
  write_file(fixture.shard(2), theirs.raw(2));
  REQUIRE((ours.text() == theirs.text()) == (same || !hashed));
  if (same) {
    const mds::detail::loaded_index found = fixture.load();
    CHECK(found.adopted != 0);
    CHECK(fixture.load().adopted == found.adopted);
  } else {
    expect_error([&] { (void)fixture.load(); }, errc::invalid_argument,
                 {fixture.remote.url("train"), "another dataset"});
  }
  CHECK(fs::exists(fixture.shard(2)));
}

TEST_CASE("a remote that does not answer ends nothing where its dataset is local", "[cache]") {
  const setting fixture;
  fixture.fill();
  fixture.remote.remove("train/index.json");
  const mds::detail::loaded_index found = fixture.load();
  CHECK(found.index.shards() == 3);
  CHECK(found.notice.find("no such object") != std::string::npos);
  fixture.remote.write("train/index.json", mds::as_bytes("half an ind"));
  CHECK(fixture.load().notice.find(fixture.remote.url("train")) != std::string::npos);
  CHECK(fs::exists(fixture.shard(1)));
}

TEST_CASE("an index that can not be had says which and why", "[cache]") {
  const setting fixture;
  expect_error([&] { (void)mds::detail::load_index(fixture.source()); }, errc::not_found,
               {"\"text\"", fixture.path, "no remote"});
  fixture.remote.remove("train/index.json");
  expect_error([&] { (void)fixture.load(); }, errc::not_found,
               {"\"text\"", "train/index.json", "no such object"});
  CHECK_FALSE(fs::exists(fixture.path));
}

TEST_CASE("a store that fails is asked again", "[cache]") {
  const setting fixture;
  fixture.remote.script(0, fault_store::fault::error);
  fixture.remote.script(1, fault_store::fault::short_read);
  CHECK(fixture.load().index.shards() == 3);
  CHECK(fixture.remote.reads() == 3);
}

TEST_CASE("a store that sends more of an index than it was asked for is refused", "[cache]") {
  const setting fixture;
  mds::runtime threads{1};
  const fault_store::generous remote(threads, fixture.remote);
  expect_error([&] { (void)load(remote, fixture.source()); }, errc::corrupt,
               {"\"text\"", "train/index.json", "more bytes than were asked for"});
  CHECK(fixture.remote.reads() == 3);
  CHECK_FALSE(fs::exists(fixture.path));
  CHECK(load(fault_store::streaming(threads, fixture.remote), fixture.source()).index.shards() ==
        3);
}

/// Never answers the first of its reads, and does not stream.
struct silent_once : store_test::forwarding<mds::blocking<faulty>> {
  mds::runtime* threads;
  std::shared_ptr<std::atomic<int>> reads = std::make_shared<std::atomic<int>>(0);
  void async_read(std::string key, std::uint64_t offset, mds::mutable_bytes into,
                  std::stop_token stop, mds::diagnostics& where,
                  mds::store_handler<std::size_t> done) const {
    if (reads->fetch_add(1) > 0)
      return inner.async_read(std::move(key), offset, into, std::move(stop), where,
                              std::move(done));
    threads->after(1h, stop, [done = std::move(done)](std::error_code canceled) mutable {
      done(canceled, 0);
    });
  }
};

TEST_CASE("a silent read of an index is repeated, also of a store that does not stream",
          "[cache]") {
  const setting fixture;
  mds::runtime threads{2};
  const silent_once remote{{{threads, fixture.remote}}, &threads};
  mds::detail::index_source source = fixture.source();
  source.timeout = 300ms;
  CHECK(load(remote, source).index.shards() == 3);
  CHECK(*remote.reads > 1);
}

TEST_CASE("a large index of a store that does not stream comes in ranges of one version",
          "[cache]") {
  const setting fixture;
  mds::runtime threads{2};
  const tagged remote{{{threads, fixture.remote}}, std::make_shared<std::string>("\"1\"")};
  const std::string large = fixture.data.text() + std::string(std::size_t{9} << 20, ' ');
  fixture.remote.write("train/index.json", mds::as_bytes(large));
  CHECK(load(remote, fixture.source()).index.shards() == 3);
  CHECK(fixture.remote.reads() == 2);
  CHECK(fs::file_size(fixture.path) == large.size());
}

TEST_CASE("an index that is cut short is not kept, and one that lies there is replaced",
          "[cache]") {
  const setting fixture;
  const std::string half = fixture.data.text().substr(0, fixture.data.text().size() / 2);
  fixture.remote.write("train/index.json", mds::as_bytes(half));
  expect_error([&] { (void)fixture.load(); }, errc::corrupt, {"\"text\"", "train/index.json"});
  CHECK_FALSE(fs::exists(fixture.path));

  fs::create_directories(fixture.root / "train");
  write_file(fixture.path, mds::as_bytes(half));
  expect_error([&] { (void)mds::detail::load_index(fixture.source()); }, errc::corrupt,
               {fixture.path});
  CHECK(fs::exists(fixture.path));
  fixture.data.put(fixture.remote, "train");
  CHECK(fixture.load().index.shards() == 3);
  CHECK(read_file(fixture.path).size() == fixture.data.text().size());
}

TEST_CASE("what a killed process left of an index is deleted, what a live one makes is not",
          "[cache]") {
  const setting fixture;
  const std::string dead = fixture.root / "train/.mdstream-index-1",
                    live = fixture.root / "train/.mdstream-index-2";
  fs::create_directories(fixture.root / "train");
  write_file(dead, mds::as_bytes("half an ind"));
  const mds::detail::unique_fd held =
      mds::detail::try_lock_path(live, mds::detail::lock_kind::exclusive);
  REQUIRE(held);
  CHECK(fixture.load().index.shards() == 3);
  CHECK_FALSE(fs::exists(dead));
  CHECK(fs::exists(live));
  CHECK(fs::exists(fixture.path));
}

TEST_CASE("many may load the same index at once", "[cache]") {
  const setting fixture;
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { right += fixture.load().index.shards() == 3 ? 1 : 0; });
  }
  for (std::thread& each : threads) each.join();
  CHECK(right == 8);
  CHECK(files_in(fixture.root.path()).empty());
}

}  // namespace load_index_test
