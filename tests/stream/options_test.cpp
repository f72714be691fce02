#include <mdstream/stream/options.hpp>

#include <mdstream/core/detail/processors.hpp>
#include <mdstream/mdstream.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/plain_dataset.hpp"

// Numbers that cannot be meant, in words.

namespace mds = mdstream;

namespace options_test {

using mds::errc;
using options = mds::loader_options;
using support::expect_error;

TEST_CASE("a count of -1 is called that, and is no limit", "[stream]") {
  const scratch_directory::scratch dir;
  support::write_plain_dataset(dir / "data", {10, 10});
  static constexpr auto minus_one = static_cast<std::uint64_t>(-1);
  const std::vector<std::pair<std::string, std::function<void(options&)>>> wrong{
      {"batch_size", [](options& o) { o.batch_size = minus_one; }},
      {"global_batch_size",
       [](options& o) {
         o.batch_size = 0;
         o.global_batch_size = minus_one;
       }},
      {"num_workers", [](options& o) { o.num_workers = minus_one; }},
      {"replication", [](options& o) { o.replication = minus_one; }},
      {"shuffle_block_size", [](options& o) { o.shuffle_block_size = minus_one; }},
      {"num_canonical_nodes", [](options& o) { o.num_canonical_nodes = minus_one; }},
      {"sampling_granularity", [](options& o) { o.sampling_granularity = minus_one; }},
      {"predownload", [](options& o) { o.predownload = minus_one; }},
      {"threads", [](options& o) { o.threads = static_cast<unsigned>(-1); }},
      {"download_retry", [](options& o) { o.download_retry = static_cast<unsigned>(-1); }},
      {"rank", [](options& o) { o.world = mds::world{.rank = minus_one}; }},
      {"nodes", [](options& o) { o.world = mds::world{.nodes = minus_one}; }},
      {"a size", [](options& o) { o.cache_limit = minus_one; }},
      {"a size", [](options& o) { o.epoch_size = minus_one; }},
  };
  for (const auto& [name, set] : wrong) {
    INFO(name);
    const auto open = [&, &put = set] {
      options given{.local = dir / "data", .batch_size = 2};
      put(given);
      const mds::loader<> loader(given);
    };
    expect_error(open, errc::invalid_argument, {name, "-1"});
    CHECK(std::string(support::error_of(open)->what()).find("1844674") == std::string::npos);
  }
}

TEST_CASE("a loader takes its rank's part of the cores, or the threads that it is given",
          "[stream]") {
  const scratch_directory::scratch dir;
  support::write_plain_dataset(dir / "data", {10, 10});
  const unsigned own = mds::detail::cores_by_affinity(), group = mds::detail::cores_of_group();
  for (const std::uint64_t ranks : {1U, 2U, 8U, 64U}) {
    INFO(ranks << " ranks on a node");
    options given{.local = dir / "data",
                  .batch_size = 1,
                  .world = mds::world{.nodes = 2, .ranks_per_node = ranks, .rank = ranks}};
    CHECK(mds::loader<>(given).threads() == mds::detail::cores_of_rank(own, group, ranks));
    given.replication = ranks;  // of the same samples; the processes are as many
    CHECK(mds::loader<>(given).threads() == mds::detail::cores_of_rank(own, group, ranks));
    given.threads = 5;
    CHECK(mds::loader<>(given).threads() == 5);
    mds::runtime shared(3);
    given.shared_runtime = &shared;
    CHECK(mds::loader<>(given).threads() == 3);
  }
}

TEST_CASE("a batch that no memory holds is refused in words", "[stream]") {
  const scratch_directory::scratch dir;
  support::write_plain_dataset(dir / "data", {10, 10});
  for (const std::uint64_t samples :
       {std::uint64_t{1} << 40, std::uint64_t{1} << 57, std::uint64_t{1} << 62}) {
    INFO(samples);
    expect_error(
        [&] {
          mds::loader<> loader({.local = dir / "data", .batch_size = samples});
          for (const auto& batch : loader.epoch()) (void)batch;
        },
        errc::invalid_argument, {std::to_string(samples), "batch"});
  }
}

}  // namespace options_test
