// Whose samples are streamed when a cache directory held others before.

#include <mdstream/mdstream.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/plain_dataset.hpp"

namespace whose_data_test {

namespace mds = mdstream;
using scratch_directory::scratch;
using ids_list = std::vector<std::int64_t>;

using numbers = mds::policies<mds::schema<mds::column<"id", mds::int_>>>;

const std::vector<std::uint64_t> sizes(10, 20);

/// Shards of equal sizes, with ids from `first`. Without hashes, even the indexes are equal.
void write(const std::string& where, std::int64_t first, bool hashed) {
  std::filesystem::remove_all(where);
  if (!hashed) {
    support::write_plain_dataset(where, sizes, first);
    return;
  }
  mds::writer<numbers> out({.out = where, .size_limit = 300});
  for (std::int64_t id = first; id < first + 200; ++id) out.write(id);
  out.finish();
}

ids_list range(std::int64_t first) {
  ids_list out;
  for (std::int64_t id = first; id < first + 200; ++id) out.push_back(id);
  return out;
}

/// Up to so many batches of ten.
ids_list stream(const std::string& remote, const std::string& local, std::size_t batches = 100) {
  mds::loader<> loader({.remote = remote,
                        .local = local,
                        .batch_size = 10,
                        .predownload = 10,
                        .world = mds::world{}});
  ids_list out;
  for (const auto& batch : loader.epoch()) {
    if (batches-- == 0) break;
    const auto column = batch.template scalar<std::int64_t>("id");
    out.insert(out.end(), column.begin(), column.end());
  }
  std::ranges::sort(out);
  return out;
}

std::vector<std::string> warnings_of(const std::string& remote, const std::string& local) {
  std::vector<std::string> warnings;
  const mds::dataset<> data({.remote = remote,
                             .local = local,
                             .warn = [&](const std::string& text) { warnings.push_back(text); }});
  return warnings;
}

TEST_CASE("a cache directory of one dataset is refused to another") {
  const bool hashed = GENERATE(true, false);
  const scratch dir;
  write(dir / "a", 0, hashed);
  write(dir / "b", 1000, hashed);
  CHECK(stream(dir / "a", dir / "cache") == range(0));
  support::expect_error([&] { (void)stream(dir / "b", dir / "cache"); },
                        mds::errc::invalid_argument, {dir / "a", dir / "b", dir / "cache"});
  CHECK(stream(dir / "a", dir / "cache") == range(0));
  CHECK(stream(dir / "b", dir / "cache2") == range(1000));
}

TEST_CASE("a directory that is a dataset itself is not taken for a cache of another") {
  const bool hashed = GENERATE(true, false);
  const scratch dir;
  write(dir / "a", 0, hashed);
  write(dir / "b", 1000, hashed);
  support::expect_error([&] { (void)stream(dir / "b", dir / "a"); }, mds::errc::invalid_argument,
                        {dir / "b", dir / "a", "another dataset"});
  CHECK(stream("", dir / "a") == range(0));
  write(dir / "copy", 0, hashed);
  CHECK(stream(dir / "a", dir / "copy") == range(0));
}

TEST_CASE("of a dataset that was rewritten with equal sizes no old sample is streamed") {
  const bool hashed = GENERATE(true, false);
  const scratch dir;
  write(dir / "data", 0, hashed);
  CHECK(stream(dir / "data", dir / "cache", 8).size() == 80);
  CHECK(warnings_of(dir / "data", dir / "cache").empty());
  write(dir / "data", 1000, hashed);
  const std::vector<std::string> warnings = warnings_of(dir / "data", dir / "cache");
  REQUIRE(warnings.size() == 1);
  CHECK(warnings.front().find("rewritten") != std::string::npos);
  CHECK(stream(dir / "data", dir / "cache") == range(1000));
  CHECK(warnings_of(dir / "data", dir / "cache").empty());
}

TEST_CASE("a loader that streams a version which is gone says so and streams no other") {
  const scratch dir;
  write(dir / "data", 0, true);
  mds::dataset<> before({.remote = dir / "data", .local = dir / "cache"});
  CHECK(before[0].get<std::int64_t>("id") == 0);
  write(dir / "data", 1000, true);
  CHECK(stream(dir / "data", dir / "cache") == range(1000));
  CHECK(before[1].get<std::int64_t>("id") == 1);  // it has that shard
  support::expect_error([&] { (void)before[150]; }, mds::errc::state_mismatch, {"rewritten"});
}

TEST_CASE("a flipped bit in a cached shard is found by default") {
  const scratch dir;
  write(dir / "data", 0, true);
  CHECK(stream(dir / "data", dir / "cache") == range(0));
  std::fstream file(dir / "cache/shard.00003.mds", std::ios::in | std::ios::out | std::ios::binary);
  REQUIRE(file);
  file.seekp(-3, std::ios::end);
  file.put('\x01');
  file.close();
  CHECK(stream(dir / "data", dir / "cache") == range(0));
}

}  // namespace whose_data_test
