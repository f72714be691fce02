#pragma once

/// `quickstart train`: the options of a run.

#include "places.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace quickstart {

struct train_options {
  std::string run = "calm";
  std::uint64_t steps = 1600;
  std::uint64_t save_every = 50;
  std::uint64_t evaluate_every = 50;
  std::size_t threads = 0;  // of this process; 0: its share of the cores
};

/// Trains this process's part of a run, from its last checkpoint on; all ranks call it.
void train(const places& where, const train_options& options);

}  // namespace quickstart
