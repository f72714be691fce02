#pragma once

/// Orders described by JSON objects: the form of a golden case, with its defaults.

#include <mdstream/order/order_engine.hpp>
#include <mdstream/order/shuffle.hpp>

#include "command.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cli {

/// One order, ready to be asked: built from a case whose defaults are filled in.
class described_order {
 public:
  explicit described_order(const json& given)
      : engine_(engine_of(given)),
        world_(world_of(given)),
        batch_size_(given.at("batch_size").get<std::uint64_t>()),
        start_(start_of(given)),
        order_(engine_.epoch(world_, batch_size_, start_)) {}

  [[nodiscard]] const mds::epoch_order& order() const { return order_; }
  [[nodiscard]] const mds::epoch_start& start() const { return start_; }
  [[nodiscard]] std::uint64_t epoch_size() const { return engine_.epoch_size(); }

  /// [nodes, ranks per node, workers per rank, batches of a worker, batch size]
  [[nodiscard]] json shape() const {
    return {world_.nodes, world_.ranks_per_node, world_.workers_per_rank,
            order_.global_batches() / world_.workers_per_rank, batch_size_};
  }

  /// All ids in C order of that shape.
  [[nodiscard]] std::vector<std::int64_t> ids_in_c_order() const {
    std::vector<std::int64_t> global(order_.positions()), out;
    order_.ids(0, global);
    out.reserve(global.size());
    const std::uint64_t workers = world_.workers_per_rank;
    for (std::uint64_t rank = 0; rank < world_.num_ranks(); ++rank) {
      for (std::uint64_t worker = 0; worker < workers; ++worker) {
        for (std::uint64_t t = worker; t < order_.global_batches(); t += workers) {
          const auto first =
              global.begin() +
              static_cast<std::ptrdiff_t>(t * order_.global_batch_size() + rank * batch_size_);
          out.insert(out.end(), first, first + static_cast<std::ptrdiff_t>(batch_size_));
        }
      }
    }
    return out;
  }

 private:
  using engine = mds::order_engine<mds::shuffle::any>;

  // Null is unset; a negative number is refused where it is taken as a count.
  static std::optional<std::uint64_t> count(const json& value) {
    if (value.is_null()) return std::nullopt;
    if (value.is_string()) return std::stoull(value.get<std::string>());
    return value.get<std::uint64_t>();
  }

  template <class T>
  static T named(std::optional<T> found, const json& name) {
    if (!found) throw usage_error("there is no " + name.dump());
    return *found;
  }

  static mds::stream_weight weight_of(const json& value) {
    mds::stream_weight out;
    if (value.contains("proportion")) out.proportion = value["proportion"].get<double>();
    if (value.contains("repeat")) out.repeat = value["repeat"].get<double>();
    if (value.contains("choose")) out.choose = count(value["choose"]);
    return out;
  }

  static engine engine_of(const json& given) {
    std::vector<mds::stream_shards> streams;
    for (const json& stream : given.at("streams")) {
      streams.push_back({.samples = stream.at("shards").get<std::vector<std::uint64_t>>(),
                         .weight = weight_of(stream.value("weight", json::object()))});
    }
    const auto text = [&](const char* key) { return given.at(key).get<std::string>(); };
    return engine(
        streams,
        {.epoch_size = count(given.at("epoch_size")),
         .sampling = named(mds::parse_sampling_method(text("sampling_method")),
                           given.at("sampling_method")),
         .sampling_granularity = given.at("granularity").get<std::uint64_t>(),
         .partition =
             named(mds::parse_partition_algo(text("partition_algo")), given.at("partition_algo")),
         .num_canonical_nodes = count(given.at("ncn")),
         .shuffle = given.at("shuffle").get<bool>(),
         .shuffle_seed = given.at("seed").get<std::uint64_t>(),
         .shuffle_block_size = count(given.at("block_size")),
         .batching = named(mds::parse_batching_method(text("batching")), given.at("batching"))},
        mds::shuffle::any(text("shuffle_algo")));
  }

  static mds::world world_of(const json& given) {
    const json& w = given.at("world");
    const mds::world unique{
        .nodes = w.at(0), .ranks_per_node = w.at(1), .workers_per_rank = w.at(2)};
    const auto copies = count(given.at("replication"));
    return copies ? unique.replicate(*copies) : unique;
  }

  mds::epoch_start start_of(const json& given) const {
    mds::progress run = engine_.begin_run();
    mds::resume_point at{.epoch = given.at("epoch").get<std::int64_t>(),
                         .num_canonical_nodes = count(given.at("ncn")).value_or(0),
                         .shuffle_seed = given.at("seed").get<std::uint64_t>()};
    if (const json& saved = given.at("resume"); !saved.is_null()) {
      at.sample_in_epoch = saved.at("sample_in_epoch").get<std::uint64_t>();
      at.num_canonical_nodes = saved.at("ncn").get<std::uint64_t>();
      at.shuffle_seed = saved.at("seed").get<std::uint64_t>();
      at.initial_physical_nodes = count(saved.at("ipn"));
    }
    run.load(at);
    return run.begin_epoch(world_);
  }

  engine engine_;
  mds::world world_;
  std::uint64_t batch_size_;
  mds::epoch_start start_;
  mds::epoch_order order_;
};

}  // namespace cli
