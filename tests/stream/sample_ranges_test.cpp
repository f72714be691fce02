// Samples read by ranges from a real web server.

#include <mdstream/stream/detail/sample_ranges.hpp>

#include <mdstream/mdstream.hpp>
#include <mdstream/store/http.hpp>

#include <asio/use_future.hpp>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/nginx.hpp"
#include "support/plain_dataset.hpp"

namespace sample_ranges_test {

namespace mds = mdstream;
using scratch_directory::scratch;

using policies = mds::policies<mds::schema<mds::column<"id", mds::int_>>,
                               mds::any_store<mds::store::local, mds::store::http>>;

struct setting {
  setting() { support::write_plain_dataset(dir / "data", {1000, 1000, 3}); }

  [[nodiscard]] mds::dataset<policies> open(std::uint64_t cost) const {
    return mds::dataset<policies>({.remote = server.url() + "/data",
                                   .local = dir / "cache",
                                   .download_retry = 1,
                                   .range_request_cost = cost});
  }
  [[nodiscard]] bool is_cached(int shard) const {
    return std::filesystem::exists(dir / ("cache/shard.0000" + std::to_string(shard) + ".mds"));
  }

  scratch dir{};
  scratch state{};
  support::nginx server{dir.path(), state.path(), {}};
};

TEST_CASE("a sample of a large shard is read by itself, until the shard is cheaper") {
  const setting fixture;
  const auto data = fixture.open(1000);
  // A shard of 12,008 bytes: six times 2 x 1000 + 20 bytes, no more.
  for (std::uint64_t i = 0; i < 6; ++i)
    CHECK(data[i * 199].get<"id">() == static_cast<std::int64_t>(i * 199));
  CHECK_FALSE(fixture.is_cached(0));
  CHECK(data.counters().shards_fetched == 0);
  CHECK(data[999].get<"id">() == 999);
  CHECK(fixture.is_cached(0));
  for (std::uint64_t i = 0; i < 1000; i += 97)
    CHECK(data[i].get<"id">() == static_cast<std::int64_t>(i));
  CHECK(data.counters().shards_fetched == 1);
  // Another shard has its own account, and a tiny one is dearer in parts.
  CHECK(data.async_get(1999, asio::use_future).get()->get<"id">() == 1999);
  CHECK_FALSE(fixture.is_cached(1));
  CHECK(data[2001].get<"id">() == 2001);
  CHECK(fixture.is_cached(2));
  const auto sample = data[1500];
  CHECK(sample.bytes().size() == 8);
  const auto copy = sample;
  CHECK(copy.get<"id">() == 1500);
  CHECK_THROWS_AS(data[2003], mds::error);
}

TEST_CASE("many threads read samples by ranges") {
  const setting fixture;
  const auto data = fixture.open(300);
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = t; i < 2000; i += 89)
        right += data[i].get<"id">() == static_cast<std::int64_t>(i) ? 1 : 0;
    });
  }
  for (std::thread& each : threads) each.join();
  CHECK(right == 4 * 23);
  CHECK(data.counters().shards_fetched == 2);
}

TEST_CASE("offsets that do not fit, and shards that are not there, are errors with their place") {
  const setting fixture;
  const std::string path = fixture.dir / "data/shard.00001.mds";
  {
    std::fstream shard(path, std::ios::in | std::ios::out | std::ios::binary);
    shard.seekp(4 + 4 * 500);
    shard.write("\xff\xff\xff\x7f\x01\x00\x00\x00", 8);
  }
  const auto data = fixture.open(100);
  support::expect_error([&] { (void)data[1500]; }, mds::errc::corrupt,
                        {"shard 1", "sample 500", "offsets"});
  CHECK(data[1498].get<"id">() == 1498);
  std::filesystem::resize_file(path, 4 + 4 * 1001 + 8 * 600);
  CHECK(data[1599].get<"id">() == 1599);
  support::expect_error([&] { (void)data[1600]; }, mds::errc::corrupt, {"shard 1"});
  std::filesystem::remove(path);
  support::expect_error([&] { (void)data[1700]; }, mds::errc::not_found, {"shard.00001.mds"});
  std::future<std::optional<mds::dataset<policies>::sample_type>> later =
      data.async_get(1700, asio::use_future);
  CHECK_THROWS_AS(later.get(), mds::error);
}

}  // namespace sample_ranges_test
