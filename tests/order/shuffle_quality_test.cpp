#include <mdstream/order/detail/shuffle_quality.hpp>

#include <mdstream/order/detail/dealt_sequence.hpp>
#include <mdstream/order/shuffle.hpp>

#include "order/golden.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

#include <memory>
#include <vector>

namespace shuffle_quality_test {

/// args: canonical nodes, nodes, ranks, workers, batch, block size, samples in a shard, epoch size,
/// seed.
double quality_of(const std::string& algo, const std::vector<std::uint64_t>& args) {
  const std::uint64_t samples = args[7], of_shard = args[6];
  mdstream::stream_shards stream;
  for (std::uint64_t at = 0; at < samples; at += of_shard)
    stream.samples.push_back(std::min(of_shard, samples - at));
  const auto table = std::make_shared<mdstream::detail::shard_table>(std::vector{stream});
  const mdstream::shuffle_units units(table, 0, table->shards());
  const mdstream::detail::partition deal({.algo = mdstream::partition_algo::orig,
                                          .samples = samples,
                                          .num_canonical_nodes = args[0],
                                          .nodes = args[1],
                                          .ranks_per_node = args[2],
                                          .workers_per_rank = args[3],
                                          .batch_size = args[4]});
  mdstream::detail::any_sequence order = units;
  if (algo != "none")
    order = mdstream::shuffle::any(algo).open({.units = units,
                                               .num_canonical_nodes = args[0],
                                               .seed = args[8],
                                               .epoch = 0,
                                               .block_size = args[5]});
  mdstream::detail::dealt_sequence dealt(deal, std::move(order));
  std::vector<std::int64_t> ids(dealt.size());
  dealt.read(0, ids);
  std::erase(ids, -1);
  return mdstream::detail::shuffle_quality(ids, of_shard);
}

TEST_CASE("shuffles are as good as the reference says", "[order][golden]") {
  const auto file = golden::load("simulator");
  for (const auto& c : file["shuffle_quality"]) {
    INFO(c);
    CHECK(quality_of(c["algo"], c["args"].get<std::vector<std::uint64_t>>()) ==
          Approx(c["quality"].get<double>()).epsilon(1e-9));
  }
}

TEST_CASE("bijection mixes no worse than py1e", "[order][statistics]") {
  for (unsigned round = 0; round < 5; ++round) {
    const std::uint64_t seed = support::test_seed(round);
    const std::vector<std::uint64_t> args{4, 4, 1, 1, 8, 8000, 200, 100000, seed};
    INFO("seed " << seed << ": " << quality_of("bijection", args) << " against "
                 << quality_of("py1e", args));
    CHECK(quality_of("bijection", args) > 0.97 * quality_of("py1e", args));
  }
}

}  // namespace shuffle_quality_test
