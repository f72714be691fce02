#pragma once

// Launches of a training run, whose ranks are threads.

#include <mdstream/checkpoint/saver.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "checkpoint/training.hpp"

namespace launches {

namespace mds = mdstream;
using training::cut;
using training::model;

inline constexpr auto no_warnings = [](const std::string&) {};

inline mds::saver_options options_on(mds::opened_store run) {
  return {.run = std::move(run),
          .patience = std::chrono::seconds(10),
          .rank_patience = std::chrono::seconds(60),
          .warn = no_warnings};
}

/// Runs `one(rank)` for all ranks at once; the failures of all, joined.
inline std::string on_ranks(std::uint64_t ranks, const std::function<void(std::uint64_t)>& one) {
  std::vector<std::thread> threads;
  std::vector<std::string> failures(ranks);
  for (std::uint64_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      try {
        one(rank);
      } catch (const std::exception& e) {
        failures[rank] = "rank " + std::to_string(rank) + ": " + e.what() + "; ";
      }
    });
  std::string all;
  for (std::uint64_t rank = 0; rank < ranks; ++rank) {
    threads[rank].join();
    all += failures[rank];
  }
  return all;
}

/// One launch: goes on from what is there, which has to be what was saved, and saves `steps`.
inline std::string launch(const mds::opened_store& run, const std::string& token,
                          std::uint64_t ranks, cut how, std::optional<std::uint64_t> from,
                          std::vector<std::uint64_t> steps) {
  return on_ranks(ranks, [&](std::uint64_t rank) {
    mds::saver_options options = options_on(run);
    options.world = {.ranks_per_node = ranks, .rank = rank};
    options.token = token;
    options.memory.value = 600'000;  // less than what is saved
    mds::checkpoint_saver saver(options);
    model mine(rank, ranks, how);
    mine.clear();
    const auto last = saver.resume_point();
    if (last.has_value() != from.has_value()) throw std::runtime_error("another resume point");
    if (last) {
      if (last->step() != *from || last->loader_state() != "at " + std::to_string(*from))
        throw std::runtime_error("went on from step " + std::to_string(last->step()));
      last->load(mine.list(), {.check_all = rank % 2 == 0});
      if (const auto other = mine.difference(*from); !other.empty())
        throw std::runtime_error(other + " is not what was saved");
    }
    for (const std::uint64_t step : steps) {
      mine.set(step);
      saver.save(step, mine.list(),
                 {.loader_state = "at " + std::to_string(step),
                  .metadata = {{"loss", std::to_string(step)}},
                  .own = "rank " + std::to_string(rank)});
      saver.wait_snapshot();
      mine.clear();  // the optimizer writes
    }
    saver.finish();
  });
}

}  // namespace launches
