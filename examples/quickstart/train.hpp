#pragma once

/// `quickstart train`: the options of a run.

#include "places.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace quickstart {

struct train_options {
  std::string run = "calm";
  std::uint64_t steps = 1600;
  std::uint64_t save_every = 50;
  std::uint64_t evaluate_every = 50;
  std::size_t threads = 0;            // of this process; 0: its share of the cores
  std::uint64_t cache_mb = 7;         // less than the data
  std::uint64_t predownload = 1'000;  // samples of a rank whose shards are fetched ahead
  std::chrono::seconds step_limit{std::chrono::minutes(20)};  // longer than the loader's patience
  std::uint64_t bad_batch = 0;  // the loss of this one, counted from 1, is taken for no number
  std::uint64_t leave_out = 1;  // batches, the one with the bad loss and those before it
};

/// Trains this process's part of a run, from its last checkpoint on; all ranks call it. Returns the
/// exit status: not 0 if a signal asked for the end, and the run goes on at its next start.
int train(const places& where, const train_options& options);

}  // namespace quickstart
