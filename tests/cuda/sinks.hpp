#pragma once

// Sinks that make kernels do with small batches what they do with large ones.

#include <mdstream/cuda/sink.cuh>

#include <cstdint>

namespace sinks {

/// As a device's that has few threads: each makes many words.
struct few_threads : mdstream::kernels::word_sink {
  using word_sink::word_sink;
  static constexpr std::uint64_t threads = 32;
};

/// As a processor's, with a border between shares every few samples.
struct small_memory : mdstream::kernels::memory_sink {
  using memory_sink::memory_sink;
  static constexpr std::uint64_t bytes = 64;
};

}  // namespace sinks
