#include <mdstream/order/order_engine.hpp>

#include <mdstream/order/shuffle.hpp>

#include "order/golden.hpp"
#include "order/weight_of.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/reference_errors.hpp"

#include <set>
#include <vector>

namespace order_engine_test {

using golden::json;
using engine = mdstream::order_engine<mdstream::shuffle::any>;

/// A case with the defaults filled in.
json whole_case(const json& c, const json& defaults) {
  json out = defaults;
  out.update(c);
  return out;
}

std::optional<std::uint64_t> positive(const json& value) {
  return value.is_null() ? std::nullopt : golden::count_of(value);
}

engine engine_of(const json& c) {
  std::vector<mdstream::stream_shards> streams;
  for (const json& s : c["streams"])
    streams.push_back({.samples = s["shards"].get<std::vector<std::uint64_t>>(),
                       .weight = golden::weight_of(s.value("weight", json::object()))});
  return engine(
      streams,
      {.epoch_size = positive(c["epoch_size"]),
       .sampling = *mdstream::parse_sampling_method(c["sampling_method"].get<std::string>()),
       .sampling_granularity = c["granularity"],
       .partition = *mdstream::parse_partition_algo(c["partition_algo"].get<std::string>()),
       .num_canonical_nodes = positive(c["ncn"]),
       .shuffle = c["shuffle"],
       .shuffle_seed = c["seed"],
       .shuffle_block_size = positive(c["block_size"]),
       .batching = *mdstream::parse_batching_method(c["batching"].get<std::string>())},
      mdstream::shuffle::any(c["shuffle_algo"].get<std::string>()));
}

mdstream::world world_of(const json& c) {
  const mdstream::world unique{
      .nodes = c["world"][0], .ranks_per_node = c["world"][1], .workers_per_rank = c["world"][2]};
  return c["replication"].is_null() ? unique : unique.replicate(c["replication"]);
}

mdstream::epoch_start start_of(const json& c, const engine& e, const mdstream::world& w) {
  mdstream::progress run = e.begin_run();
  mdstream::resume_point at{.epoch = c["epoch"],
                            .num_canonical_nodes = positive(c["ncn"]).value_or(0),
                            .shuffle_seed = c["seed"]};
  if (const json& r = c["resume"]; !r.is_null())
    at = {.epoch = c["epoch"],
          .sample_in_epoch = r["sample_in_epoch"],
          .num_canonical_nodes = r["ncn"],
          .shuffle_seed = r["seed"],
          .initial_physical_nodes = positive(r["ipn"])};
  run.load(at);
  return run.begin_epoch(w);
}

/// The array [node][rank][worker][batch][sample] in C order.
std::vector<std::int64_t> c_order(const mdstream::epoch_order& order, const mdstream::world& w,
                                  std::uint64_t batch_size) {
  std::vector<std::int64_t> global(order.positions());
  order.ids(0, global);
  std::vector<std::int64_t> out;
  for (std::uint64_t rank = 0; rank < w.num_ranks(); ++rank)
    for (std::uint64_t worker = 0; worker < w.workers_per_rank; ++worker)
      for (std::uint64_t t = worker; t < order.global_batches(); t += w.workers_per_rank)
        for (std::uint64_t b = 0; b < batch_size; ++b)
          out.push_back(global[t * order.global_batch_size() + rank * batch_size + b]);
  return out;
}

void check_case(const json& c) {
  const engine e = engine_of(c);
  const mdstream::world w = world_of(c);
  const mdstream::epoch_start start = start_of(c, e, w);
  const std::uint64_t batch_size = c["batch_size"];
  const mdstream::epoch_order order = e.epoch(w, batch_size, start);
  const json& out = c["out"];
  CHECK(start.num_canonical_nodes == out["ncn_eff"]);
  CHECK(start.shuffle_block_size == out["block_size_eff"]);
  CHECK(e.epoch_size() == out["epoch_size_eff"]);
  CHECK(out["shape"] == json({w.nodes, w.ranks_per_node, w.workers_per_rank,
                              order.global_batches() / w.workers_per_rank, batch_size}));
  CHECK(golden::same_ids(out, c_order(order, w, batch_size)));
}

TEST_CASE("epochs hold the same samples at the same places as the reference's", "[order][golden]") {
  const json file = golden::load("epochs");
  std::size_t i = 0;
  for (const json& given : file["cases"]) {
    INFO("case " << i++ << ": " << given.dump().substr(0, 600));
    const json c = whole_case(given, file["defaults"]);
    if (!given.contains("error")) {
      check_case(c);
      continue;
    }
    support::expect_same_refusal(
        [&] {
          const engine e = engine_of(c);
          const mdstream::world w = world_of(c);
          static_cast<void>(
              c_order(e.epoch(w, c["batch_size"], start_of(c, e, w)), w, c["batch_size"]));
        },
        given["error"]);
  }
}

TEST_CASE("what is said to be left out is what no batch of the epoch has", "[order]") {
  using enum mdstream::batching_method;
  const auto batching = GENERATE(random, once, stratified, per_stream, device_per_stream);
  INFO(to_string(batching));
  // The ranks divide both streams: nothing is repeated to deal them out.
  const std::vector<mdstream::stream_shards> streams{{.samples = {130, 50}}, {.samples = {100}}};
  const engine e(streams, {.batching = batching});
  const mdstream::world w{.nodes = 2, .ranks_per_node = 2};
  const mdstream::epoch_start start{.num_canonical_nodes = 2};
  const mdstream::epoch_order order = e.epoch(w, 6, start);
  std::vector<std::int64_t> ids(order.positions());
  order.ids(0, ids);
  std::set<std::int64_t> first, second;
  for (const std::int64_t id : ids)
    if (id >= 0) (id < 180 ? first : second).insert(id);
  const std::vector<std::uint64_t> missing{180 - first.size(), 100 - second.size()};
  CHECK(e.left_out(w, 6, start) == missing);
  const bool leaves_none = batching == random || batching == once;
  CHECK((missing[0] + missing[1] == 0) == leaves_none);
}

TEST_CASE("an epoch has the least number of full batches in any world", "[order]") {
  using enum mdstream::batching_method;
  const auto batching = GENERATE(random, stratified, per_stream, device_per_stream);
  INFO(to_string(batching));
  const std::vector<mdstream::stream_shards> streams{{.samples = {130, 57}}, {.samples = {95}}};
  const engine e(streams, {.batching = batching});
  const std::uint64_t least = e.least_batches(24);
  CHECK(e.full_batches({}, 24, {.num_canonical_nodes = 1}) == least);
  for (const std::uint64_t nodes : {1, 2, 3, 4, 6})
    for (const std::uint64_t ranks : {1, 2, 4})
      for (const std::uint64_t canonical : {12, 24, 60}) {
        if (24 % (nodes * ranks) != 0) continue;
        INFO(nodes << " x " << ranks << ", " << canonical);
        const mdstream::world w{.nodes = nodes, .ranks_per_node = ranks};
        CHECK(e.full_batches(w, 24 / w.num_ranks(), {.num_canonical_nodes = canonical}) >= least);
      }
}

}  // namespace order_engine_test
