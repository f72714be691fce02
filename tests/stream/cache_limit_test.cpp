// The smallest cache limit that a loader names is enough, for every epoch and all ranks of a node.

#include <mdstream/launch/environment.hpp>
#include <mdstream/mdstream.hpp>

#include <algorithm>
#include <asio/use_future.hpp>
#include <atomic>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/plain_dataset.hpp"

namespace mds = mdstream;
using namespace mds::literals;

namespace cache_limit_test {

using scratch_directory::scratch;

/// Keeps what a loader warns of.
struct listener {
  std::shared_ptr<std::vector<std::string>> warnings = std::make_shared<std::vector<std::string>>();
  void operator()(const mds::observe::step&) const {}
  void operator()(const mds::observe::warning& what) const { warnings->push_back(what.text); }
};

using numbers_batch = mds::policies<mds::schema<mds::column<"id", mds::int_>>, listener>;

/// A transform that reads what it is given, on the pool.
struct negate {
  using output = numbers_batch::schema;
  void operator()(const mds::sample_view<numbers_batch::schema>& in,
                  mds::sample_writer<output>& out, mds::sample_generator&) const {
    out.write(-in.get<"id">());
  }
};
using negating = numbers_batch::with<negate>;

/// The samples of 40 shards of 10 to 30 samples each, in an order that mixes all of them.
struct dataset {
  scratch dir;
  std::int64_t samples = 0;
  dataset() {
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t i = 0; i < 40; ++i) sizes.push_back(10 + i % 21);
    samples = support::write_plain_dataset(dir / "data", sizes);
  }
  template <class Policies = numbers_batch>
  [[nodiscard]] typename mds::loader<Policies>::options options(std::uint64_t limit) const {
    return {.remote = dir / "data",
            .local = dir / "cache",
            .cache_limit = mds::byte_size(limit),
            .batch_size = 24,
            .shuffle_block_size = 1000,
            .world = mds::world{},
            .threads = 2};
  }
};

std::uint64_t number_after(std::string_view text, std::string_view words) {
  std::uint64_t value = 0;
  const std::size_t at = text.find(words);
  if (at != std::string_view::npos)
    std::from_chars(text.data() + at + words.size(), text.data() + text.size(), value);
  return value;
}

/// What the error for a limit of one byte advises.
std::uint64_t smallest_limit(const dataset& data) {
  try {
    mds::loader<numbers_batch> refused(data.options(1));
  } catch (const mds::error& e) {
    CHECK(e.code() == mds::errc::cache_too_small);
    return number_after(e.what(), "the smallest that works is ");
  }
  return 0;
}

template <class Batch>
void collect(const Batch& batch, std::vector<std::int64_t>& into) {
  const auto column = batch.template get<"id">();
  CHECK(std::ranges::equal(column, batch.ids()));
  into.insert(into.end(), column.begin(), column.end());
}

template <class Loader>
std::vector<std::int64_t> epoch_of(Loader& loader) {
  std::vector<std::int64_t> ids;
  for (const auto& batch : loader.epoch()) collect(batch, ids);
  return ids;
}

/// What lies there at one moment: shards may come and go while they are listed, and then all are
/// listed again.
std::uint64_t bytes_in(const std::string& directory) {
  const auto listed = [&] {
    std::map<std::filesystem::path, std::uintmax_t> out;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
      std::error_code gone;
      if (entry.path().extension() == ".mds" || entry.path().filename() == "index.json")
        if (const std::uintmax_t bytes = entry.file_size(gone); !gone) out[entry.path()] = bytes;
    }
    return out;
  };
  auto before = listed();
  for (auto now = listed(); now != before; now = listed()) before = std::move(now);
  std::uint64_t sum = 0;
  for (const auto& [path, bytes] : before) sum += bytes;
  return sum;
}

}  // namespace cache_limit_test

TEST_CASE("the smallest limit that the error names is enough for every epoch") {
  using namespace cache_limit_test;
  const dataset data;
  const std::uint64_t smallest = smallest_limit(data);
  REQUIRE(smallest > 0);
  CHECK_THROWS_AS(mds::loader<numbers_batch>(data.options(smallest - 1)), mds::error);
  const listener heard;
  const std::vector<std::string>& warnings = *heard.warnings;
  auto options = data.options(smallest);
  mds::loader<numbers_batch> tight(options, {}, heard);
  options.local = data.dir / "roomy";
  options.cache_limit = {};
  mds::loader<numbers_batch> roomy(options);
  std::vector<std::vector<std::int64_t>> expected;
  for (int epoch = 0; epoch < 3; ++epoch) {
    expected.push_back(epoch_of(roomy));
    CHECK((epoch_of(tight) == expected.back()));
    CHECK(bytes_in(data.dir / "cache") <= smallest);
  }
  REQUIRE(warnings.size() == 1);
  // With what it advises no batch of any epoch is copied out.
  const std::uint64_t advised = number_after(warnings[0], "raise it to ");
  CAPTURE(warnings[0]);
  REQUIRE(advised > smallest);
  options.local = data.dir / "advised";
  options.cache_limit = mds::byte_size(advised);
  mds::loader<numbers_batch> well(options, {}, heard);
  for (const auto& each : expected) CHECK((epoch_of(well) == each));
  CHECK(warnings.size() == 1);
}

TEST_CASE("a transform, batches that are built ahead and calls without blocking work with it") {
  using namespace cache_limit_test;
  const dataset data;
  auto options = data.options<negating>(smallest_limit(data));
  mds::loader<negating> tight(options);
  auto plain = data.options(options.cache_limit.value);
  plain.prefetch_limit = 4_KiB;
  plain.local = data.dir / "ahead";
  mds::loader<numbers_batch> ahead(plain);
  plain.prefetch_limit.reset();
  plain.local = data.dir / "async";
  mds::loader<numbers_batch> async(plain);
  plain.cache_limit = {};
  plain.local = data.dir / "roomy";
  mds::loader<numbers_batch> roomy(plain);
  const auto expected = epoch_of(roomy);
  CHECK((epoch_of(ahead) == expected));
  std::vector<std::int64_t> ids;
  for (const auto& batch : tight.epoch()) {
    for (const std::int64_t negative : batch.get<"id">()) ids.push_back(-negative);
    CHECK(std::ranges::equal(batch.ids(), std::span(ids).last(batch.size())));
  }
  CHECK((ids == expected));
  ids.clear();
  auto epoch = async.epoch();
  for (std::size_t i = 0; i < 10; ++i) collect(epoch.async_next(asio::use_future).get(), ids);
  CHECK((ids == std::vector(expected.begin(), expected.begin() + 240)));
}

TEST_CASE("all ranks of a node read on under the smallest limit, whoever holds what") {
  using namespace cache_limit_test;
  const dataset data;
  const std::uint64_t smallest = smallest_limit(data);
  REQUIRE(smallest > 0);
  const std::uint64_t limit = smallest + GENERATE(0U, 1000U, 4000U);
  constexpr std::uint64_t ranks = 4;
  std::mutex mutex;
  std::multiset<std::int64_t> all;
  std::atomic<int> wrong{0};  // counted, because assertions are for one thread
  std::vector<std::thread> each;
  for (std::uint64_t rank = 0; rank < ranks; ++rank)
    each.emplace_back([&, rank] {
      auto options = data.options(limit);
      options.world = mds::world{.ranks_per_node = ranks, .rank = rank};
      options.threads = 1;
      mds::loader<numbers_batch> loader(options);
      std::vector<std::int64_t> ids;
      for (int epoch = 0; epoch < 2; ++epoch) {
        for (const auto& batch : loader.epoch()) {
          const auto column = batch.template get<"id">();
          if (!std::ranges::equal(column, batch.ids())) ++wrong;
          ids.insert(ids.end(), column.begin(), column.end());
        }
      }
      const std::lock_guard lock(mutex);
      all.insert(ids.begin(), ids.end());
    });
  for (std::thread& thread : each) thread.join();
  CHECK(wrong == 0);
  for (std::int64_t id = 0; id < data.samples; ++id) CHECK(all.count(id) >= 2);
  CHECK(bytes_in(data.dir / "cache") <= limit);
}
