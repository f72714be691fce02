#pragma once

// Raw MDS samples made by hand, and what a collator makes of them.

#include <mdstream/collate/collator.hpp>
#include <mdstream/collate/execute.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace collate_samples {

namespace mds = mdstream;
namespace collate = mdstream::collate;

using bytes = std::vector<std::byte>;

inline void append(bytes& to, const void* from, std::size_t size) {
  const auto* at = static_cast<const std::byte*>(from);
  to.insert(to.end(), at, at + size);
}

/// A raw MDS sample: the sizes of the variable columns, then all values.
inline bytes sample_of(const std::vector<collate::source_column>& sources,
                       const std::vector<bytes>& values) {
  bytes out;
  for (std::size_t k = 0; k < sources.size(); ++k) {
    if (sources[k].value_bytes != 0) continue;
    const auto size = static_cast<std::uint32_t>(values[k].size());
    append(out, &size, sizeof size);
  }
  for (const bytes& value : values) append(out, value.data(), value.size());
  return out;
}

/// A dynamically shaped ndarray value of one dimension with u16 extents.
template <class T>
bytes shaped_value(const std::vector<T>& elements) {
  bytes out;
  const std::uint8_t head = 1 << 2 | 1;
  const auto extent = static_cast<std::uint16_t>(elements.size());
  append(out, &head, sizeof head);
  append(out, &extent, sizeof extent);
  append(out, elements.data(), elements.size() * sizeof(T));
  return out;
}

struct collated {
  std::vector<collate::output_column> outputs;
  std::vector<collate::pack_segment> segments;
  std::uint64_t rows = 0;
  bytes slab;

  template <class T>
  std::vector<T> values(std::size_t k) const {
    std::vector<T> out(outputs[k].values_bytes / sizeof(T));
    if (!out.empty())
      std::memcpy(out.data(), slab.data() + outputs[k].values_at, out.size() * sizeof(T));
    return out;
  }
  template <class T>
  std::vector<T> at(std::uint64_t offset, std::size_t count) const {
    std::vector<T> out(count);
    if (count != 0) std::memcpy(out.data(), slab.data() + offset, count * sizeof(T));
    return out;
  }
  std::vector<std::int64_t> offsets(std::size_t k, std::size_t samples) const {
    std::vector<std::int64_t> out(samples + 1);
    std::memcpy(out.data(), slab.data() + outputs[k].offsets_at, out.size() * sizeof(std::int64_t));
    return out;
  }
};

inline std::uint32_t variable_count(const std::vector<collate::source_column>& sources) {
  return static_cast<std::uint32_t>(
      std::ranges::count(sources, std::uint64_t{0}, &collate::source_column::value_bytes));
}

/// Measures, lays out and collates, into memory that holds nothing but 0xa5 before.
template <class Collator>
collated run(const std::vector<collate::source_column>& sources, const std::vector<bytes>& raw) {
  std::vector<collate::sample_bytes> samples;
  std::uint64_t total = 0;
  for (const bytes& sample : raw) {
    samples.push_back({sample.data(), sample.size()});
    total += sample.size();
  }
  std::vector<collate::detail::column_measure> measures(sources.size());
  collate::detail::measure(sources, variable_count(sources), samples, measures);
  collated out;
  collate::detail::pack_result layout;
  if constexpr (collate::row_collator<Collator>) {
    std::vector<std::uint64_t> lengths(samples.size());
    collate::detail::measure_sequences(sources, variable_count(sources), samples, lengths);
    layout = Collator{}.pack(sources, measures, lengths, out.outputs, out.segments);
  } else if constexpr (collate::sample_collator<Collator>) {
    layout.slab_bytes = Collator{}.lay_out(total, samples.size(), out.outputs);
  } else {
    layout.slab_bytes = Collator{}.lay_out(sources, measures, samples.size(), out.outputs);
  }
  out.rows = layout.rows;
  out.slab.resize(layout.slab_bytes, std::byte{0xa5});
  collate::execute({.samples = samples.data(),
                    .sample_count = samples.size(),
                    .sources = sources.data(),
                    .source_count = static_cast<std::uint32_t>(sources.size()),
                    .variable_count = variable_count(sources),
                    .outputs = out.outputs.data(),
                    .output_count = static_cast<std::uint32_t>(out.outputs.size()),
                    .slab_bytes = layout.slab_bytes,
                    .segments = out.segments.data(),
                    .segment_count = out.segments.size(),
                    .pack_rows = layout.rows},
                   out.slab.data());
  return out;
}

inline bytes text(std::string_view value) {
  bytes out;
  append(out, value.data(), value.size());
  return out;
}

}  // namespace collate_samples
