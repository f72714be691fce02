#include <mdstream/order/detail/partition.hpp>

#include <mdstream/order/epoch_order.hpp>

#include "order/golden.hpp"
#include "order/weight_of.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/reference_errors.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
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

std::vector<std::int64_t> all_of(const partition& deal) {
  std::vector<std::int64_t> out;
  for (std::uint64_t position = 0; position < deal.positions(); ++position)
    out.push_back(deal[position]);
  return out;
}

/// Whether the reference refuses to go on behind the samples, where the same deal from the start
/// goes on and repeats some.
bool is_among_repeated(const golden::json& c) {
  if (c["error"]["msg"].get<std::string>().find("Resuming further") == std::string::npos)
    return false;
  partition_request whole = request_of(c);
  whole.drop_first = 0;
  try {
    const auto dealt = all_of(partition(whole));
    return whole.samples < c["drop"] &&
           c["drop"] <= std::count_if(dealt.begin(), dealt.end(), [](auto id) { return id >= 0; });
  } catch (const mdstream::error&) {
    return false;  // of nodes that do not suit
  }
}

/// What is left of the places that one rank gets from the start, dealt to the ranks of `request`.
void check_rest(const partition_request& request) {
  const auto whole = all_of(
      partition({.samples = request.samples, .num_canonical_nodes = request.num_canonical_nodes}));
  const partition deal(request);
  const std::uint64_t global = deal.global_batch_size();
  std::vector<std::int64_t> got(whole.size() - request.drop_first, partition::padding);
  const mdstream::batch_deal places{
      .nodes = deal.nodes(), .ranks_per_node = deal.ranks(), .batch_size = deal.batch_size()};
  for (std::uint64_t p = 0; p < deal.positions(); ++p) {
    const std::uint64_t at = p / global * global + places.place(p % global);
    if (at < got.size()) got[at] = deal[p];
  }
  CHECK(got ==
        std::vector(whole.begin() + static_cast<std::ptrdiff_t>(request.drop_first), whole.end()));
}

TEST_CASE("partitions deal as the reference's tables", "[order][golden]") {
  const auto file = golden::load("partition");
  int among_repeated = 0;
  for (const auto& c : file["cases"]) {
    INFO(c);
    const partition_request request = request_of(c);
    if (c.contains("error") && is_among_repeated(c)) {
      ++among_repeated;
      check_rest(request);
      continue;
    }
    if (c.contains("error")) {
      support::expect_same_refusal([&] { static_cast<void>(partition(request)); }, c["error"]);
      continue;
    }
    const partition deal(request);
    CHECK(c["shape"][3] == deal.global_batches() / request.workers_per_rank);
    CHECK(golden::same_ids(c, c_order(request, deal), "size"));
  }
  CHECK(among_repeated == 3);
}

TEST_CASE("every state of an epoch goes on, also behind its samples", "[order]") {
  // Rows of canonical nodes, and then ranks, repeat samples: 177 of them are dealt as 192.
  for (const std::uint64_t nodes : {1, 2, 4}) {
    for (std::uint64_t had = 0; had <= 192; had += 12) {
      INFO(nodes << " nodes, " << had << " samples");
      const partition_request request{.samples = 177,
                                      .num_canonical_nodes = 64,
                                      .nodes = nodes,
                                      .ranks_per_node = 3,
                                      .batch_size = 4 / nodes,
                                      .drop_first = had};
      check_rest(request);
      CHECK(partition(request).global_batches() == (192 - had) / 12);
    }
    support::expect_error(
        [nodes] {
          static_cast<void>(partition({.samples = 177,
                                       .num_canonical_nodes = 64,
                                       .nodes = nodes,
                                       .ranks_per_node = 3,
                                       .drop_first = 193}));
        },
        errc::invalid_argument, {"193", "177"});
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
