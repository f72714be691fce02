#include <mdstream/mdstream.hpp>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/plain_dataset.hpp"

// Runs of the real StreamingDataset and StreamingDataLoader, and epochs that it generated, repeated
// by the real loader over real shards: the same batches, the same states.

namespace mds = mdstream;

namespace golden_run_test {

using json = nlohmann::json;
using ids_list = std::vector<std::int64_t>;
using loader = mds::loader<>;

json load(const std::string& name) {
  return json::parse(std::ifstream(std::string(MDSTREAM_TEST_DATA "/golden/") + name));
}

loader::options options_of(const json& streams, const std::string& directory) {
  loader::options out;
  std::int64_t next = 0;
  for (std::size_t k = 0; k < streams.size(); ++k) {
    const std::string local = directory + "/" + std::to_string(k);
    next = support::write_plain_dataset(
        local, streams[k].at("shards").get<std::vector<std::uint64_t>>(), next);
    out.streams.push_back({.local = local});
    const json weight = streams[k].value("weight", json::object());
    if (weight.contains("proportion")) out.streams.back().proportion = weight["proportion"];
    if (weight.contains("repeat")) out.streams.back().repeat = weight["repeat"];
    if (weight.contains("choose")) out.streams.back().choose = weight["choose"];
  }
  out.threads = 1;
  return out;
}

template <class T>
std::optional<T> optional_of(const json& from, const char* key) {
  if (!from.contains(key) || from[key].is_null()) return std::nullopt;
  return from[key].get<T>();
}

/// One case of resume.json.
class replay {
 public:
  explicit replay(const json& one) : options_(options_of(one.at("streams"), dir_.path())) {
    const json& kwargs = one.at("kwargs");
    options_.batch_size = kwargs.at("batch_size");
    options_.shuffle = kwargs.value("shuffle", false);
    options_.shuffle_algo = kwargs.value("shuffle_algo", "py1e");
    options_.seed = kwargs.value("shuffle_seed", 9176U);
    options_.num_canonical_nodes = optional_of<std::uint64_t>(kwargs, "num_canonical_nodes");
    options_.shuffle_block_size = optional_of<std::uint64_t>(kwargs, "shuffle_block_size");
    options_.batching =
        *mds::parse_batching_method(kwargs.value("batching_method", std::string("random")));
    options_.sampling =
        *mds::parse_sampling_method(kwargs.value("sampling_method", std::string("balanced")));
    if (const auto size = optional_of<std::uint64_t>(kwargs, "epoch_size"))
      options_.epoch_size = *size;
    const std::uint64_t workers = one.at("dataloader_workers");
    options_.world = mds::world{.workers_per_rank = std::max<std::uint64_t>(workers, 1)};
    for (const json& step : one.at("steps")) carry_out(step);
  }

 private:
  void carry_out(const json& step) {
    const std::string what = step.at("do");
    INFO(what);
    if (what == "construct") {
      loader_.emplace(options_);
      CHECK(loader_->epoch_size() == step.at("epoch_size"));
    } else if (what == "construct_and_load") {
      loader_.emplace(options_);
      loader_->load_state(step.at("state").dump());
    } else if (what == "load") {
      loader_->load_state(step.at("state").dump());
    } else if (what == "state_dict") {
      CHECK(json::parse(loader_->python_state()) == step.at("out"));
    } else if (what == "note_state_after_2_batches") {
      after_two_ = step.at("out");
    } else {
      epoch(step);
    }
  }

  void epoch(const json& step) {
    std::optional<std::size_t> most;
    if (step.at("do") == "partial_epoch") most = step.at("take").get<std::size_t>();
    std::vector<ids_list> got;
    if (most != 0U) {
      for (auto& batch : loader_->epoch()) {
        got.emplace_back(batch.ids().begin(), batch.ids().end());
        if (got.size() == 2 && !after_two_.is_null())
          CHECK(json::parse(loader_->python_state()) == std::exchange(after_two_, nullptr));
        if (got.size() == most) break;
      }
    }
    CHECK(got == step.value("batches", std::vector<ids_list>{}));
  }

  scratch_directory::scratch dir_;
  loader::options options_;
  std::optional<loader> loader_;
  json after_two_;
};

/// What rank `rank` of the case's world gets, batch by batch.
std::vector<ids_list> expected_of(const json& shape, const ids_list& ids, std::uint64_t rank) {
  const std::uint64_t ranks = shape[1], workers = shape[2], batches = shape[3], batch = shape[4];
  std::vector<ids_list> out;
  for (std::uint64_t k = 0; k < batches; ++k) {
    for (std::uint64_t w = 0; w < workers; ++w) {
      const std::uint64_t first =
          ((((rank / ranks) * ranks + rank % ranks) * workers + w) * batches + k) * batch;
      ids_list one;
      for (std::uint64_t i = 0; i < batch; ++i)
        if (ids[first + i] >= 0) one.push_back(ids[first + i]);
      if (!one.empty()) out.push_back(one);
    }
  }
  return out;
}

}  // namespace golden_run_test

TEST_CASE("runs of Python's dataset and loader come out the same: batches, states, resumes") {
  const auto golden = golden_run_test::load("resume.json");
  REQUIRE(golden.at("cases").size() == 14);
  for (const auto& one : golden.at("cases")) {
    INFO(one.at("kwargs"));
    golden_run_test::replay{one};
  }
}

TEST_CASE("epochs that Python generated come out the same on every rank") {
  using namespace golden_run_test;
  const auto golden = load("epochs.json");
  std::size_t compared = 0;
  for (std::size_t i = 0; i < golden.at("cases").size(); i += 4) {
    json one = golden.at("defaults");
    one.update(golden["cases"][i]);
    // Long orders are kept as hashes; what a resume replaces is not an option of a loader.
    if (!one.contains("out") || !one["out"].contains("ids") || !one["resume"].is_null()) continue;
    if (one.value("argsort_ties", false)) continue;
    INFO("case " << i << ": " << one);
    const scratch_directory::scratch dir;
    loader::options options = options_of(one["streams"], dir.path());
    options.batch_size = one["batch_size"];
    options.shuffle = one["shuffle"];
    options.shuffle_algo = one["shuffle_algo"];
    options.seed = one["seed"];
    options.num_canonical_nodes = optional_of<std::uint64_t>(one, "ncn");
    options.shuffle_block_size = optional_of<std::uint64_t>(one, "block_size");
    if (const auto size = optional_of<std::uint64_t>(one, "epoch_size")) options.epoch_size = *size;
    options.batching = *mds::parse_batching_method(one["batching"].get<std::string>());
    options.sampling = *mds::parse_sampling_method(one["sampling_method"].get<std::string>());
    options.partition = *mds::parse_partition_algo(one["partition_algo"].get<std::string>());
    options.sampling_granularity = one["granularity"];
    options.replication = optional_of<std::uint64_t>(one, "replication").value_or(1);
    const json shape = one["out"]["shape"];
    const ids_list ids = one["out"]["ids"];
    mds::world world{.nodes = one["world"][0],
                     .ranks_per_node = one["world"][1],
                     .workers_per_rank = one["world"][2]};
    for (world.rank = 0; world.rank < world.num_ranks(); ++world.rank) {
      options.world = world;
      loader at_rank(options);
      std::vector<ids_list> got;
      auto epoch = at_rank.epoch();
      loader::batch_type batch;
      for (std::uint64_t skipped = one["epoch"]; skipped > 0; --skipped) {
        auto before = at_rank.epoch();
        before.next(batch);
      }
      while (epoch.next(batch)) got.emplace_back(batch.ids().begin(), batch.ids().end());
      CHECK(got == expected_of(shape, ids, world.rank / options.replication));
    }
    ++compared;
  }
  CHECK(compared > 50);
}
