#include <mdstream/order/world.hpp>

#include "order/golden.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/reference_errors.hpp"

#include <vector>

namespace world_test {

using mdstream::world;
using row = std::vector<std::uint64_t>;

row columns_of(const world& unique, const world& parallel, std::uint64_t w) {
  return {unique.node(),
          unique.rank,
          unique.rank_of_node(),
          unique.worker_of_node(w),
          w,
          unique.is_leader(w),
          unique.is_local_leader(w),
          parallel.nodes,
          parallel.ranks_per_node,
          parallel.node(),
          parallel.rank,
          parallel.rank_of_node(),
          parallel.worker(w),
          w,
          parallel.worker_of_node(w),
          parallel.is_local_leader(w)};
}

TEST_CASE("worlds derive their numbers as the reference", "[order][golden]") {
  const auto file = golden::load("world");
  for (const auto& c : file["cases"]) {
    INFO(c.dump().substr(0, 200));
    const world base{.nodes = c["num_nodes"],
                     .ranks_per_node = c["ranks_per_node"],
                     .workers_per_rank = c["workers_per_rank"]};
    const std::uint64_t copies = c["replication"].is_null() ? 1
                                 : c["replication"].get<std::int64_t>() < 0
                                     ? 0
                                     : c["replication"].get<std::uint64_t>();
    if (c.contains("error")) {
      support::expect_same_refusal([&] { static_cast<void>(base.replicate(copies)); }, c["error"]);
      continue;
    }
    std::vector<row> got;
    for (std::uint64_t rank = 0; rank < base.num_ranks(); ++rank)
      for (std::uint64_t w = 0; w < base.workers_per_rank; ++w) {
        world unique = base;
        unique.rank = rank;
        got.push_back(columns_of(unique, unique.replicate(copies), w));
      }
    CHECK(got == c["workers"].get<std::vector<row>>());
  }
}

TEST_CASE("worlds without anyone, or beyond all bounds, are refused", "[order]") {
  using mdstream::errc;
  support::expect_error([] { world{.nodes = 0}.check(); }, errc::invalid_argument);
  support::expect_error([] { world{.workers_per_rank = 0}.check(); }, errc::invalid_argument);
  support::expect_error([] { world{.nodes = 2, .rank = 2}.check(); }, errc::invalid_argument,
                        {"rank 2", "2 nodes"});
  support::expect_error([] { world{.nodes = 1ULL << 40, .ranks_per_node = 1ULL << 40}.check(); },
                        errc::invalid_argument, {"2^63"});
}

}  // namespace world_test
