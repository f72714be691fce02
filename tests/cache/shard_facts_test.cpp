#include <mdstream/cache/detail/shard_facts.hpp>
#include <mdstream/cache/detail/stream_origin.hpp>

#include <sys/stat.h>

#include <string>
#include <thread>
#include <vector>

#include "cache/fault_store.hpp"
#include "cache/fixture.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace shard_facts_test {

using namespace cache_test;
using mds::errc;
using mds::detail::judge;
using mds::detail::standing;
using support::expect_error;
using faulty = fault_store::store;

TEST_CASE("what is believed of a shard", "[cache]") {
  using enum standing;
  // With a hash: what was checked in this boot.
  for (const bool flushed : {false, true})
    for (const bool adopted : {false, true}) {
      CHECK(judge({true, true, flushed, true, adopted}) == trusted);
      CHECK(judge({true, true, flushed, false, adopted}) == to_check);
      CHECK(judge({true, false, flushed, true, adopted}) == to_check);
      CHECK(judge({true, false, flushed, false, adopted}) == to_check);
    }
  // Without one: what no power loss can have hit, and what others put there.
  CHECK(judge({false, true, false, true, false}) == trusted);
  CHECK(judge({false, true, true, false, false}) == trusted);
  CHECK(judge({false, true, false, false, false}) == to_fetch);
  CHECK(judge({false, true, false, false, true}) == to_fetch);
  CHECK(judge({false, false, false, true, false}) == trusted);
  CHECK(judge({false, false, false, false, true}) == trusted);
  CHECK(judge({false, false, false, false, false}) == to_fetch);
}

TEST_CASE("a record is of one version, one shard and one state of a file", "[cache]") {
  const scratch root;
  const mds::detail::boot_identity boot{.tag = 1}, other_boot{.tag = 2};
  const bool can_check = GENERATE(true, false);
  const mds::detail::shard_stamp file{{.bytes = 10, .number = 3, .written = 5, .changed = 6}};
  const mds::detail::shard_facts facts(root.path(), 0, boot);
  CHECK_FALSE(facts.find(1, file, can_check));
  facts.record(1, file, can_check, mds::detail::flushed);
  REQUIRE(facts.find(1, file, can_check));
  CHECK(facts.find(1, file, can_check)->boot == 1);
  CHECK(facts.find(1, file, can_check)->flags == mds::detail::flushed);
  CHECK(mds::detail::shard_facts(root.path(), 0, other_boot).find(1, file, can_check));
  CHECK_FALSE(facts.find(0, file, can_check));
  CHECK_FALSE(facts.find(1, file, !can_check));
  CHECK_FALSE(mds::detail::shard_facts(root.path(), 9, boot).find(1, file, can_check));
  mds::detail::shard_stamp changed = file;
  changed.data.bytes = 11;
  CHECK_FALSE(facts.find(1, changed, can_check));
  changed = file;
  changed.data.written = 7;
  CHECK(facts.find(1, changed, can_check).has_value() == can_check);
  changed = file;
  changed.data.changed = 7;  // a copy of the directory, or another owner
  CHECK(facts.find(1, changed, can_check).has_value() != can_check);
  changed = file;
  changed.meta = file.data;
  CHECK_FALSE(facts.find(1, changed, can_check));
  const std::string path = mds::detail::facts_path(root.path(), 0);
  fs::resize_file(path, fs::file_size(path) - 1);
  CHECK_FALSE(facts.find(1, file, can_check));
}

TEST_CASE("a version that was replaced is noticed", "[cache]") {
  const scratch root;
  const mds::detail::boot_identity boot{.tag = 1};
  fs::create_directories(root / ".mdstream");
  mds::detail::make_facts(root.path(), 7);
  mds::detail::write_origin(root.path(), {.remote = "mem:", .version = 7});
  const mds::detail::shard_facts facts(root.path(), 7, boot);
  CHECK(facts.is_present());
  mds::detail::drop_facts(root.path(), 7);
  CHECK_FALSE(facts.is_present());
  expect_error([&] { (void)mds::detail::shard_facts(root.path(), 7, boot); }, errc::state_mismatch,
               {"rewritten", root.path()});
  fs::remove_all(root.path());  // that is another thing
  CHECK(mds::detail::shard_facts(root.path(), 7, boot).is_present());
}

TEST_CASE("the text of an origin comes back, and half of it is none", "[cache]") {
  const mds::detail::stream_origin origin{.remote = "s3://bucket/a b",
                                          .version = 0xfedcba9876543210,
                                          .tag = "\"x y\"",
                                          .tagged_bytes = 17,
                                          .adopted = 1'700'000'000'000'000'000};
  const std::string text = mds::detail::text_of_origin(origin);
  CHECK(mds::detail::parse_origin(text) == origin);
  for (std::size_t size = 0; size < text.size(); ++size)
    CHECK_FALSE(mds::detail::parse_origin(text.substr(0, size)));
  CHECK_FALSE(mds::detail::parse_origin(text + "x"));
  CHECK(mds::detail::parse_origin(mds::detail::text_of_origin({.remote = "a\nb"}))->remote ==
        "a b");
}

TEST_CASE("this boot is the same each time it is asked for", "[cache]") {
  const mds::detail::boot_identity& boot = mds::detail::boot_identity::present();
  CHECK(boot.tag == mds::detail::boot_identity::present().tag);
  CHECK(boot.began > 1'500'000'000'000'000'000);
  CHECK(boot.began < mds::detail::file_clock_now());
}

/// A cache that is opened again and again, in boots of its own.
struct setting {
  explicit setting(bool hashed) : data({.shards = 2, .hashed = hashed}) { data.put(remote); }

  /// What shard 0 is when it is read in that boot. `flushes`: waits until it is on the disk.
  std::vector<std::byte> read(std::uint32_t boot, bool flushes = false) {
    mds::cache_options options = options_of(root.path());
    options.boot = mds::detail::boot_identity{.tag = boot, .began = began};
    options.flush_after = flushes ? 0ns : 1h;
    mds::runtime threads{2};
    cache shards(threads, options, {stream_of(data, root.path(), remote)});
    const mds::detail::shard_ref ref = shards.acquire(0);
    for (int i = 0; flushes && i < 3000 && !is_flushed(options); ++i)
      std::this_thread::sleep_for(10ms);
    if (flushes) REQUIRE(is_flushed(options));
    return {ref.bytes().begin(), ref.bytes().end()};
  }
  [[nodiscard]] bool is_flushed(const mds::cache_options& options) const {
    const mds::detail::shard_facts facts(root.path(), 0, *options.boot);
    struct stat info{};
    REQUIRE(::stat(path().c_str(), &info) == 0);
    const auto known = facts.find(0, {mds::detail::file_stamp::of(info)}, false);
    return known && known->flags == mds::detail::flushed;
  }
  [[nodiscard]] std::string path() const { return root / dataset::name(0, false); }

  /// As a power loss leaves what was never written to the disk: the size and the dates are right.
  void lose_contents() const {
    struct stat info{};
    REQUIRE(::stat(path().c_str(), &info) == 0);
    write_file(path(), std::vector<std::byte>(data.size_of(0)));
    const timespec times[] = {info.st_atim, info.st_mtim};
    REQUIRE(::utimensat(AT_FDCWD, path().c_str(), times, 0) == 0);
  }

  scratch root;
  faulty remote;
  dataset data;
  std::int64_t began = mds::detail::file_clock_now() + 3'600'000'000'000;  // files look older
};

TEST_CASE("what a power loss took is fetched again, and what was flushed is not", "[cache]") {
  const bool hashed = GENERATE(true, false);
  setting fixture(hashed);
  const std::vector<std::byte> right = fixture.data.raw(0);
  CHECK(fixture.read(1) == right);
  CHECK(fixture.read(1) == right);  // in this boot the size says enough
  CHECK(fixture.remote.reads() == 1);
  fixture.lose_contents();
  CHECK(fixture.read(2) == right);
  CHECK(fixture.remote.reads() == 2);
  if (hashed) {
    CHECK(fixture.read(3) == right);  // checked, not fetched
    CHECK(fixture.remote.reads() == 2);
  } else {
    CHECK(fixture.read(2, true) == right);
    CHECK(fixture.read(3) == right);
    CHECK(fixture.remote.reads() == 2);
  }
}

TEST_CASE("a bit that flips in a shard that lies there is seen when it is opened next", "[cache]") {
  setting fixture(true);
  std::vector<std::byte> bytes = fixture.data.raw(0);
  CHECK(fixture.read(1) == bytes);
  bytes[1000] ^= std::byte{4};
  write_file(fixture.path(), bytes);
  CHECK(fixture.read(1) == fixture.data.raw(0));
  CHECK(fixture.remote.reads() == 2);
  CHECK(fixture.read(1) == fixture.data.raw(0));
  CHECK(fixture.remote.reads() == 2);
}

TEST_CASE("shards that others put there are read as they are where nothing checks them",
          "[cache]") {
  const bool hashed = GENERATE(true, false);
  const bool good = GENERATE(true, false);
  setting fixture(hashed);
  fixture.began = 0;
  std::vector<std::byte> bytes = fixture.data.raw(0);
  if (!good) bytes[1000] ^= std::byte{4};
  write_file(fixture.path(), bytes);
  CHECK((fixture.read(1) == fixture.data.raw(0)) == (good || hashed));
  CHECK(fixture.remote.reads() == (hashed && !good ? 1 : 0));
}

}  // namespace shard_facts_test
