// The order without tables against the order with them, over thousands of random configurations.

#include <mdstream/order/detail/batching.hpp>

#include <mdstream/order/shuffle.hpp>

#include "order/tables.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace property_test {

using tables::ids;

class configurations {
 public:
  explicit configurations(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }

  std::vector<std::uint64_t> shard_sizes() {
    const std::uint64_t shards = 1 + below(one_of<std::uint64_t>({2, 10, 60}));
    const std::uint64_t most = one_of<std::uint64_t>({1, 9, 50, 400});
    std::vector<std::uint64_t> out;
    for (std::uint64_t i = 0; i < shards; ++i) out.push_back(1 + below(most));
    if (below(8) == 0) out[below(shards)] = 0;
    if (std::accumulate(out.begin(), out.end(), std::uint64_t{0}) == 0) out[0] = 3;
    return out;
  }

  mdstream::stream_weight weight() {
    switch (below(3)) {
      case 0: return {.repeat = static_cast<double>(below(30)) / 10};
      case 1: return {.choose = below(500)};
      default: return {};
    }
  }

  mdstream::detail::epoch_request request() {
    using namespace mdstream;
    std::vector<stream_shards> streams(1 + below(3));
    const bool weighted = below(2) == 0;
    for (auto& s : streams)
      s = {.samples = shard_sizes(), .weight = weighted ? weight() : stream_weight{}};
    detail::epoch_request out;
    out.options = {.sampling = one_of({sampling_method::balanced, sampling_method::fixed}),
                   .sampling_granularity = 1 + below(one_of<std::uint64_t>({1, 20})),
                   .shuffle = below(8) != 0,
                   .shuffle_seed = below(100000)};
    out.shards = std::make_shared<detail::shard_table>(streams);
    std::vector<stream_weight> weights;
    std::vector<std::uint64_t> sizes;
    for (std::size_t k = 0; k < streams.size(); ++k) {
      weights.push_back(streams[k].weight);
      sizes.push_back(out.shards->stream_samples(k));
    }
    out.mix = detail::mix_streams(weights, sizes, {}, out.options.shuffle_seed);
    out.parallel = {
        .nodes = 1 + below(4), .ranks_per_node = 1 + below(4), .workers_per_rank = 1 + below(3)};
    out.batch_size = 1 + below(9);
    out.start = {
        .epoch = below(5),
        .sample_in_epoch = below(3) ? 0 : below(out.mix.epoch_size + 9),
        .num_canonical_nodes = below(4) ? out.parallel.nodes * (1 + below(3)) : 1 + below(6),
        .shuffle_seed = out.options.shuffle_seed,
        .shuffle_block_size = 2 + below(one_of<std::uint64_t>({20, 200, 3000}))};
    if (below(3) == 0) out.start.initial_physical_nodes = 1 + below(4);
    return out;
  }

 private:
  std::mt19937_64 random_;
};

ids read_in_pieces(const mdstream::epoch_order& order, configurations& random) {
  ids out(order.positions());
  std::vector<std::pair<std::size_t, std::size_t>> pieces;
  for (std::size_t at = 0; at < out.size();) {
    const auto n = std::min<std::size_t>(out.size() - at, 1 + random.below(1 + out.size() / 3));
    pieces.emplace_back(at, n);
    at += n;
  }
  // Any order will do: back and forth, and over again.
  for (std::size_t i = pieces.size(); i-- > 1;) std::swap(pieces[i], pieces[random.below(i + 1)]);
  for (const auto& [at, n] : pieces) order.ids(at, std::span(out).subspan(at, n));
  return out;
}

TEST_CASE("reading anywhere equals the table of the epoch", "[order][property]") {
  const std::uint64_t seed = support::test_seed();
  CAPTURE(seed);
  configurations random(seed);
  std::size_t compared = 0, refused = 0;
  for (std::size_t i = 0; i < 3000; ++i) {
    const auto request = random.request();
    const auto name =
        random.one_of<std::string>({"py1e", "py1e", "py1br", "py1s", "py2s", "naive"});
    CAPTURE(i, name);
    std::optional<ids> expected;
    try {
      expected = tables::random_epoch(request, name);
    } catch (const tables::failure&) {
    } catch (const mdstream::error&) {
    } catch (const std::out_of_range&) {
    }
    const mdstream::shuffle::any shuffler(name);
    const auto open = [&](const mdstream::shuffle_task& task) { return shuffler.open(task); };
    if (!expected) {
      ++refused;
      CHECK_THROWS_AS(mdstream::detail::make_epoch(request, open), mdstream::error);
      continue;
    }
    ++compared;
    const auto order = mdstream::detail::make_epoch(request, open);
    REQUIRE(order.positions() == expected->size());
    const ids got = read_in_pieces(order, random);
    REQUIRE(got == *expected);
    mdstream::epoch_order copy;
    copy = order;
    REQUIRE(read_in_pieces(copy, random) == *expected);
    REQUIRE(mdstream::detail::count_batches(request, open) == order.filled_batches());
    const std::size_t batch = order.global_batch_size();
    const auto padding = std::find(expected->begin(), expected->end(), -1);
    REQUIRE(mdstream::detail::count_full_batches(request, open) ==
            static_cast<std::size_t>(padding - expected->begin()) / batch);
  }
  CHECK(compared > 1000);
  CHECK(refused > 50);
}

TEST_CASE("windows much smaller than the epoch are read alike", "[order][property]") {
  const std::uint64_t seed = support::test_seed();
  CAPTURE(seed);
  configurations random(seed);
  for (int i = 0; i < 12; ++i) {
    mdstream::detail::epoch_request request = random.request();
    std::vector<mdstream::stream_shards> streams(1);
    for (int k = 0; k < 300; ++k) streams[0].samples.push_back(1 + random.below(2000));
    request.shards = std::make_shared<mdstream::detail::shard_table>(streams);
    request.mix = mdstream::detail::mix_streams(std::vector<mdstream::stream_weight>(1),
                                                std::vector{request.shards->samples()}, {}, 1);
    request.options.shuffle = true;
    request.parallel = {.nodes = 1 + random.below(2)};
    request.start.num_canonical_nodes = request.parallel.nodes;
    request.start.sample_in_epoch = 0;
    request.start.shuffle_block_size = random.one_of<std::uint64_t>({300, 4000, 60000});
    request.start.initial_physical_nodes.reset();
    const auto name = random.one_of<std::string>({"py1e", "py1e", "py1br", "py1s", "py2s"});
    CAPTURE(i, name);
    const mdstream::shuffle::any shuffler(name);
    const auto order = mdstream::detail::make_epoch(
        request, [&](const mdstream::shuffle_task& task) { return shuffler.open(task); });
    const ids expected = tables::random_epoch(request, name);
    REQUIRE(read_in_pieces(order, random) == expected);
    ids one(1);
    for (int jump = 0; jump < 20; ++jump) {
      const std::uint64_t at = random.below(order.positions());
      order.ids(at, one);
      REQUIRE(one[0] == expected[at]);
    }
  }
}

}  // namespace property_test
