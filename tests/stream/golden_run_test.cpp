#include <mdstream/launch/environment.hpp>
#include <mdstream/mdstream.hpp>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "order/golden.hpp"
#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/golden_file.hpp"
#include "support/plain_dataset.hpp"
#include "support/reference_errors.hpp"
#include "support/sanitizer.hpp"

// Runs of the real StreamingDataset and StreamingDataLoader, and epochs that it generated, repeated
// by the real loader over real shards: the same batches, the same states.

namespace mds = mdstream;

namespace golden_run_test {

using json = nlohmann::json;
using ids_list = std::vector<std::int64_t>;
using loader = mds::loader<>;

json load(const std::string& name) {
  return json::parse(std::ifstream(support::golden_file(name)));
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
      load(step.at("state"));
    } else if (what == "state_dict") {
      CHECK(json::parse(loader_->python_state()) == step.at("out"));
    } else if (what == "note_state_after_2_batches") {
      after_two_ = step.at("out");
    } else {
      epoch(step);
    }
  }

  /// Python ignores a state of an epoch that has begun; here it is refused, and changes as little.
  void load(const json& state) {
    const std::int64_t current = mds::parse_state(loader_->state()).at.epoch;
    if (state.at("epoch").get<std::int64_t>() > current)
      loader_->load_state(state.dump());
    else
      support::expect_error([&] { loader_->load_state(state.dump()); }, mds::errc::state_mismatch,
                            {"begun already"});
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

/// One case of epochs.json, which has to come out for every rank of its world.
class golden_epoch {
 public:
  golden_epoch(const json& one, mds::runtime& threads)
      : case_(one), options_(options_of(one["streams"], dir_.path())) {
    options_.shared_runtime = &threads;
    options_.batch_size = one["batch_size"];
    options_.shuffle = one["shuffle"];
    options_.shuffle_algo = one["shuffle_algo"];
    options_.seed = one["seed"];
    options_.num_canonical_nodes = optional_of<std::uint64_t>(one, "ncn");
    options_.shuffle_block_size = optional_of<std::uint64_t>(one, "block_size");
    if (const auto size = optional_of<std::uint64_t>(one, "epoch_size"))
      options_.epoch_size = *size;
    options_.batching = *mds::parse_batching_method(one["batching"].get<std::string>());
    options_.sampling = *mds::parse_sampling_method(one["sampling_method"].get<std::string>());
    options_.partition = *mds::parse_partition_algo(one["partition_algo"].get<std::string>());
    options_.sampling_granularity = one["granularity"];
    options_.replication = optional_of<std::uint64_t>(one, "replication").value_or(1);
  }

  /// Reads the epoch on every rank, and throws what the loader throws.
  void check() {
    mds::world world{.nodes = case_["world"][0],
                     .ranks_per_node = case_["world"][1],
                     .workers_per_rank = case_["world"][2]};
    ids_list ids;
    for (world.rank = 0; world.rank < world.num_ranks(); ++world.rank) {
      options_.world = world;
      const ids_list got = of_this_rank();
      // Ranks that are copies of one another read the same.
      if (world.rank % options_.replication == 0)
        ids.insert(ids.end(), got.begin(), got.end());
      else
        CHECK(std::equal(got.rbegin(), got.rend(), ids.rbegin()));
    }
    if (case_.contains("out")) CHECK(golden::same_ids(case_["out"], ids));
  }

 private:
  /// [worker][batch][sample]; where a batch is short, -1.
  ids_list of_this_rank() {
    loader at_rank(options_);
    const std::uint64_t first = begin(at_rank);
    std::vector<ids_list> batches;
    auto epoch = at_rank.epoch();
    loader::batch_type batch;
    while (epoch.next(batch)) {
      batches.resize(batch.number() - first + 1);
      batches.back().assign(batch.ids().begin(), batch.ids().end());
    }
    const std::uint64_t workers = case_["world"][2];
    const std::uint64_t of_a_worker = case_.contains("out")
                                          ? case_["out"]["shape"][3].get<std::uint64_t>()
                                          : batches.size() / workers;
    ids_list out;
    batches.resize(of_a_worker * workers);
    for (std::uint64_t w = 0; w < workers; ++w)
      for (std::uint64_t k = 0; k < of_a_worker; ++k) {
        ids_list& one = batches[k * workers + w];
        one.resize(options_.batch_size, -1);
        out.insert(out.end(), one.begin(), one.end());
      }
    return out;
  }

  /// Brings the loader to the case's epoch; returns the number of its first batch.
  std::uint64_t begin(loader& at_rank) {
    const json& saved = case_["resume"];
    if (!saved.is_null()) {
      const json state{{"epoch", case_["epoch"]},
                       {"sample_in_epoch", saved["sample_in_epoch"]},
                       {"num_canonical_nodes", saved["ncn"]},
                       {"shuffle_seed", saved["seed"]},
                       {"initial_physical_nodes", saved["ipn"]}};
      at_rank.load_state(state.dump());  // what it throws is the case's error
      return saved["sample_in_epoch"].get<std::uint64_t>() /
             (options_.batch_size * at_rank.ranks().num_ranks());
    }
    loader::batch_type batch;
    for (std::uint64_t skipped = case_["epoch"]; skipped > 0; --skipped) {
      auto before = at_rank.epoch();
      before.next(batch);
    }
    return 0;
  }

  json case_;
  scratch_directory::scratch dir_;
  loader::options options_;
};

// Under the sanitizers every sixteenth case has to do.
constexpr std::size_t stride = support::sanitized ? 16 : 1;

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
  const auto file = load("epochs.json");
  mds::runtime threads(1);
  std::size_t compared = 0;
  for (std::size_t i = 0; i < file.at("cases").size(); i += stride) {
    json one = file.at("defaults");
    one.update(file["cases"][i]);
    INFO("case " << i << ": " << one.dump().substr(0, 600));
    if (one.contains("error"))
      support::expect_same_refusal([&] { golden_epoch(one, threads).check(); }, one["error"]);
    else
      golden_epoch(one, threads).check();
    ++compared;
  }
  CHECK(compared == (file["cases"].size() + stride - 1) / stride);
}
