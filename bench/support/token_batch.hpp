#pragma once

// Samples of an id, a sequence of uint16 tokens and a label, as a collator lays them out.

#include <mdstream/collate/detail/measure.hpp>
#include <mdstream/collate/plan.hpp>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

namespace bench {

struct token_batch {
  std::vector<mdstream::collate::source_column> sources{
      {.type = mdstream::dtype::int64, .value_bytes = 8},
      {.type = mdstream::dtype::uint16, .shaped = true},
      {.type = mdstream::dtype::int32, .value_bytes = 4}};
  std::vector<std::byte> raw{};
  std::vector<mdstream::collate::sample_bytes> samples{};
  std::vector<mdstream::collate::output_column> outputs{};
  std::vector<mdstream::collate::pack_segment> segments{};
  mdstream::collate::collate_plan plan{};

  /// `bytes` of samples whose tokens take `average` bytes each, from half of that to one and a
  /// half, in random order.
  template <class Collator>
  token_batch(std::uint64_t bytes, std::uint64_t average, const Collator& collator) {
    std::mt19937 random(7);
    struct place {
      std::uint64_t begin = 0, size = 0, tokens = 0;
    };
    std::vector<place> places;
    raw.resize(bytes + average * 2 + 64, std::byte{5});
    for (std::uint64_t at = 0; at < bytes;) {
      const auto tokens = static_cast<std::uint32_t>((average / 2 + random() % average) / 2);
      places.push_back({at, head + std::uint64_t{tokens} * 2 + 4, tokens});
      write_head(at, tokens);
      at += places.back().size;
    }
    std::ranges::shuffle(places, random);
    std::vector<std::uint64_t> lengths;
    for (const place& one : places) {
      samples.push_back({raw.data() + one.begin, one.size});
      lengths.push_back(one.tokens);
    }
    std::vector<mdstream::collate::detail::column_measure> measures(sources.size());
    mdstream::collate::detail::measure(sources, 1, samples, measures);
    plan = {.samples = samples.data(),
            .sample_count = samples.size(),
            .sources = sources.data(),
            .source_count = static_cast<std::uint32_t>(sources.size()),
            .variable_count = 1};
    if constexpr (requires { &Collator::pack; }) {
      const auto packed = collator.pack(sources, measures, lengths, outputs, segments);
      plan.slab_bytes = packed.slab_bytes;
      plan.pack_rows = packed.rows;
      plan.segments = segments.data();
      plan.segment_count = segments.size();
    } else {
      plan.slab_bytes = collator.lay_out(sources, measures, samples.size(), outputs);
    }
    plan.outputs = outputs.data();
    plan.output_count = static_cast<std::uint32_t>(outputs.size());
  }
  token_batch(const token_batch&) = delete;
  token_batch& operator=(const token_batch&) = delete;

 private:
  static constexpr std::uint64_t head = 4 + 8 + 1 + 4;  // size, id, and a shape of one dimension

  void write_head(std::uint64_t at, std::uint32_t tokens) {
    const std::uint32_t size = 5 + tokens * 2;
    std::memcpy(raw.data() + at, &size, sizeof size);
    raw[at + 12] = std::byte{1 << 2 | 2};
    std::memcpy(raw.data() + at + 13, &tokens, sizeof tokens);
  }
};

}  // namespace bench
