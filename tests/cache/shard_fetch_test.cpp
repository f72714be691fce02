#include <mdstream/cache/shard_fetch.hpp>

#include <mdstream/cache/shard_cache.hpp>

#include <algorithm>
#include <string>

#include "cache/fault_store.hpp"
#include "cache/fixture.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace shard_fetch_test {

using namespace cache_test;
using fault_store::fault;
using mds::errc;
using support::expect_error;
using faulty = fault_store::store;

/// A cache over a remote that fails, with `attempts` for each shard.
struct setting {
  explicit setting(const dataset& data, unsigned attempts = 3, const std::string& hash = "xxh64",
                   bool keep_zip = false)
      : stream(stream_of<faulty>(data, root.path(), remote)) {
    data.put(remote);
    stream.download_retry = attempts;
    stream.validate_hash = hash;
    stream.keep_zip = keep_zip;
  }
  void open() { shards.emplace(threads, options_of(root.path()), std::vector{stream}); }

  faulty remote;
  scratch root;
  mds::runtime threads{2};
  mds::cache_stream<faulty> stream;
  std::optional<cache<faulty>> shards;
};

TEST_CASE("a fault of any kind at any attempt is tried again and never served", "[cache]") {
  const bool zipped = GENERATE(false, true);
  const fault what = GENERATE(fault::error, fault::throw_other, fault::short_read,
                              fault::wrong_byte, fault::longer);
  const dataset data({.shards = 3, .zipped = zipped});
  for (std::uint64_t first = 0; first < 3; ++first) {
    setting here(data);
    here.remote.script(first, what);
    here.open();
    for (std::uint32_t i = 0; i < 3; ++i) CHECK(data.is_right(i, here.shards->acquire(i).bytes()));
    CHECK(here.remote.reads() == 4);
    CHECK(here.shards->counters().attempts_failed == 1);
  }
}

TEST_CASE("attempts are bounded, and nothing of a failed shard is left", "[cache]") {
  const bool zipped = GENERATE(false, true);
  const dataset data({.shards = 2, .zipped = zipped});
  setting here(data, 3);
  for (std::uint64_t i = 0; i < 3; ++i) here.remote.script(i, fault::wrong_byte);
  here.open();
  expect_error([&] { (void)here.shards->acquire(1); }, errc::corrupt,
               {"xxh64", "the index says", "\"test\"", "shard 1", "shard.00001.mds"});
  CHECK(here.remote.reads() == 3);
  CHECK(files_in(here.root.path()).empty());
  CHECK(fs::is_empty(here.root / ".mdstream/tmp"));
  CHECK(*here.shards->usage() == bytes_in(here.root.path()));
  CHECK(data.is_right(1, here.shards->acquire(1).bytes()));  // the store is well again
}

TEST_CASE("without a hash to check, compressed shards are still checked by their codec",
          "[cache]") {
  const dataset data({.shards = 1, .zipped = true, .hashed = false});
  setting here(data, 1, "");
  here.remote.script(0, fault::short_read);
  here.open();
  expect_error([&] { (void)here.shards->acquire(0); }, errc::corrupt, {"the index says"});
  CHECK(data.is_right(0, here.shards->acquire(0).bytes()));
}

TEST_CASE("what another attempt would meet again is not tried again", "[cache]") {
  const dataset data({.shards = 2});
  setting here(data, 5);
  here.remote.script(0, fault::refuse);
  here.remote.remove(dataset::name(1, false));
  here.open();
  expect_error([&] { (void)here.shards->acquire(0); }, errc::permission_denied, {"403"});
  expect_error([&] { (void)here.shards->acquire(1); }, errc::not_found, {"shard.00001.mds"});
  CHECK(here.remote.reads() == 2);
}

TEST_CASE("a hash that the index does not record is an error", "[cache]") {
  const dataset data({.shards = 1, .hashed = false});
  setting here(data);
  here.open();
  expect_error([&] { (void)here.shards->acquire(0); }, errc::invalid_argument,
               {"records no xxh64", "shard 0"});
  CHECK(here.remote.reads() == 0);
  here.stream.validate_hash = "sha1";
  expect_error([&] { here.open(); }, errc::unsupported, {"sha1"});
}

TEST_CASE("a shard that was replaced on the remote is said to differ", "[cache]") {
  const dataset data({.shards = 1});
  setting here(data, 2, "");
  here.open();
  here.remote.write(dataset::name(0, false), mds::as_bytes(std::string(5000, 'x')));
  expect_error([&] { (void)here.shards->acquire(0); }, errc::corrupt, {"more bytes than the 4096"});
  here.remote.write(dataset::name(0, false), mds::as_bytes(std::string(17, 'x')));
  expect_error([&] { (void)here.shards->acquire(0); }, errc::corrupt,
               {"17 bytes, the index says 4096"});
}

TEST_CASE("a store that fails for a while is waited for", "[cache]") {
  const dataset data({.shards = 1});
  setting here(data, 12);
  for (std::uint64_t i = 0; i < 11; ++i) here.remote.script(i, fault::error);
  auto options = options_of(here.root.path());
  options.retry_pause = 20us;
  here.shards.emplace(here.threads, options, std::vector{here.stream});
  CHECK(data.is_right(0, here.shards->acquire(0).bytes()));
  CHECK(here.remote.reads() == 12);
}

TEST_CASE("a download that takes too long is given up", "[cache]") {
  const dataset data({.shards = 1, .bytes = std::size_t{20} << 20});
  setting here(data, 1, "");
  here.stream.download_timeout = 10ms;
  here.remote.control().delay = 30ms;
  here.open();
  expect_error([&] { (void)here.shards->acquire(0); }, errc::unavailable, {"longer than", "0.01"});
}

TEST_CASE("which files are kept", "[cache]") {
  const bool keep = GENERATE(false, true);
  const dataset data({.shards = 1, .zipped = true});
  const std::string raw = dataset::name(0, false), zip = dataset::name(0, true);
  setting here(data, 2, "xxh64", keep);
  const std::vector<std::string> kept =
      keep ? std::vector<std::string>{raw, zip} : std::vector<std::string>{raw};

  SECTION("nothing was there") {
    here.open();
    (void)here.shards->acquire(0);
    CHECK(files_in(here.root.path()) == kept);
    CHECK(here.remote.reads() == 1);
  }
  SECTION("the compressed file was there") {
    write_file(here.root / zip, data.zip(0));
    here.open();
    CHECK(data.is_right(0, here.shards->acquire(0).bytes()));
    CHECK(files_in(here.root.path()) == kept);
    CHECK(here.remote.reads() == 0);
  }
  SECTION("a damaged compressed file was there") {
    std::vector<std::byte> bytes = data.zip(0);
    bytes[bytes.size() / 2] ^= std::byte{1};
    write_file(here.root / zip, bytes);
    here.open();
    CHECK(data.is_right(0, here.shards->acquire(0).bytes()));
    CHECK(files_in(here.root.path()) == kept);
    CHECK(here.remote.reads() == 1);
  }
  SECTION("a compressed file that is too short was there") {
    write_file(here.root / zip, mds::as_bytes("short"));
    here.open();
    CHECK(data.is_right(0, here.shards->acquire(0).bytes()));
    CHECK(here.remote.reads() == 1);
  }
  SECTION("both were there") {
    write_file(here.root / zip, data.zip(0));
    write_file(here.root / raw, data.raw(0));
    here.open();
    CHECK(files_in(here.root.path()) == kept);
    CHECK(data.is_right(0, here.shards->acquire(0).bytes()));
  }
  SECTION("a raw file that is too short was there") {
    write_file(here.root / raw, mds::as_bytes("short"));
    here.open();
    CHECK(data.is_right(0, here.shards->acquire(0).bytes()));
  }
  CHECK(*here.shards->usage() == bytes_in(here.root.path()));
}

TEST_CASE("without a remote nothing is deleted, whatever is wrong with it", "[cache]") {
  const dataset data({.shards = 3, .zipped = true});
  const scratch root;
  mds::runtime threads(1);
  const auto name = [&](std::uint32_t i, bool zipped) { return root / dataset::name(i, zipped); };
  auto stream = stream_of<faulty>(data, root.path(), std::nullopt);
  stream.validate_hash = "xxh64";
  write_file(name(0, true), data.zip(0));
  std::vector<std::byte> damaged = data.zip(1);
  damaged.back() ^= std::byte{1};
  write_file(name(1, true), damaged);
  write_file(name(2, false), mds::as_bytes("short"));
  {
    cache<faulty> shards(threads, options_of(root.path(), 1), {stream});  // no limit applies
    CHECK(data.is_right(0, shards.acquire(0).bytes()));
    expect_error([&] { (void)shards.acquire(1); }, errc::corrupt, {"xxh64", "shard 1"});
    expect_error([&] { (void)shards.acquire(2); }, errc::corrupt, {"5 bytes, the index says"});
    CHECK_FALSE(shards.usage().has_value());
  }
  CHECK(read_file(name(0, true)) == data.zip(0));
  CHECK(read_file(name(1, true)) == damaged);
  CHECK(fs::file_size(name(2, false)) == 5);
  CHECK_FALSE(fs::exists(root / ".mdstream"));

  fs::remove(name(0, true));
  fs::remove(name(0, false));
  cache<faulty> shards(threads, options_of(root.path()), {stream});
  expect_error([&] { (void)shards.acquire(0); }, errc::not_found, {"no remote", "shard 0"});
}

}  // namespace shard_fetch_test
