#pragma once

// Batches of one column of numbers, as the assembler would plan them.

#include <mdstream/collate/plan.hpp>

#include <cstdint>
#include <vector>

namespace plans {

struct one_column {
  std::vector<std::uint64_t> values;
  mdstream::collate::source_column source{.type = mdstream::dtype::uint64, .value_bytes = 8};
  mdstream::collate::output_column output;
  std::vector<mdstream::collate::sample_bytes> samples;

  explicit one_column(std::vector<std::uint64_t> content) : values(std::move(content)) {
    output.values_bytes = values.size() * 8;
    for (const auto& value : values)
      samples.push_back({reinterpret_cast<const std::byte*>(&value), sizeof value});
  }
  one_column(const one_column&) = delete;  // the samples point into it
  one_column& operator=(const one_column&) = delete;

  [[nodiscard]] mdstream::collate::collate_plan plan() const {
    return {.samples = samples.data(),
            .sample_count = samples.size(),
            .sources = &source,
            .source_count = 1,
            .outputs = &output,
            .output_count = 1,
            .slab_bytes = mdstream::collate::align_up(output.values_bytes)};
  }
};

}  // namespace plans
