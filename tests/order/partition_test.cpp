#include <mdstream/order/detail/partition.hpp>

#include "order/golden.hpp"
#include "order/weight_of.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

#include <vector>

namespace partition_test {

using mdstream::errc;
using mdstream::detail::partition;
using mdstream::detail::partition_request;

partition_request request_of(const golden::json& c) {
  return {.algo = *mdstream::parse_partition_algo(c["algo"].get<std::string>()),
          .samples = c["n"],
          .num_canonical_nodes = c["ncn"],
          .nodes = c["pn"],
          .ranks_per_node = c["rpn"],
          .workers_per_rank = c["wpr"],
          .batch_size = c["bs"],
          .drop_first = c["drop"],
          .initial_physical_nodes = golden::count_of(c["ipn"])};
}

/// The array [node][rank][worker][batch][sample] in C order, from the global order.
std::vector<std::int64_t> c_order(const partition_request& r, const partition& deal) {
  const std::uint64_t rounds = deal.global_batches() / r.workers_per_rank;
  std::vector<std::int64_t> out;
  for (std::uint64_t rank = 0; rank < r.nodes * r.ranks_per_node; ++rank)
    for (std::uint64_t w = 0; w < r.workers_per_rank; ++w)
      for (std::uint64_t k = 0; k < rounds; ++k)
        for (std::uint64_t b = 0; b < r.batch_size; ++b)
          out.push_back(deal[(k * r.workers_per_rank + w) * deal.global_batch_size() +
                             rank * r.batch_size + b]);
  return out;
}

TEST_CASE("partitions deal as the reference's tables", "[order][golden]") {
  const auto file = golden::load("partition");
  for (const auto& c : file["cases"]) {
    INFO(c);
    const partition_request request = request_of(c);
    if (c.contains("error")) {
      support::expect_error([&] { static_cast<void>(partition(request)); }, errc::invalid_argument);
      continue;
    }
    const partition deal(request);
    CHECK(c["shape"][3] == deal.global_batches() / request.workers_per_rank);
    CHECK(golden::same_ids(c, c_order(request, deal), "size"));
  }
}

TEST_CASE("a partition of 2^62 samples is as cheap as one of two", "[order]") {
  const partition deal({.samples = 1ULL << 62,
                        .num_canonical_nodes = 64,
                        .nodes = 32,
                        .ranks_per_node = 8,
                        .batch_size = 1000});
  // Rank 1 begins with the second place of the first node, which is the third of all columns' 64.
  CHECK(deal[0] == 0);
  CHECK(deal[1000] == std::int64_t{32} << 56);
}

TEST_CASE("partitions refuse what does not divide or fit", "[order]") {
  const auto refuse = [](partition_request r, std::initializer_list<std::string_view> pieces) {
    support::expect_error([&] { static_cast<void>(partition(r)); }, errc::invalid_argument, pieces);
  };
  refuse({.samples = 0}, {"0 samples"});
  refuse({.samples = 10, .batch_size = 0}, {"batch size"});
  refuse({.samples = 10, .num_canonical_nodes = 3, .nodes = 2}, {"3", "2"});
  refuse({.samples = 10, .drop_first = 12}, {"12", "10"});
  refuse({.samples = ~0ULL >> 1, .nodes = 1ULL << 40, .ranks_per_node = 1ULL << 30}, {"2^63"});
  refuse({.samples = ~0ULL >> 1}, {"2^63"});
  refuse({.samples = 100, .num_canonical_nodes = 4, .nodes = 3, .initial_physical_nodes = 0},
         {"0"});
}

}  // namespace partition_test
