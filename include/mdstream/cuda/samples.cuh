#pragma once

/// Raw MDS samples as kernels see them: headers are parsed where the samples lie, and nothing that
/// they say is believed before it was checked.

#include <mdstream/collate/staged_plan.hpp>
#include <mdstream/cuda/execution.cuh>
#include <mdstream/cuda/word.cuh>

namespace mdstream::inline v0::kernels {

/// The elements of a value, as bytes of `staged_plan::raw`.
struct value_range {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
};

template <class Number>
[[nodiscard]] MDSTREAM_HOST_DEVICE Number load_number(const std::byte* from) noexcept {
#if defined(__CUDA_ARCH__)
  return static_cast<Number>(load_word(from, sizeof(Number)).low);
#else
  Number out;
  __builtin_memcpy(&out, from, sizeof out);  // little-endian
  return out;
#endif
}

namespace detail {

/// Takes the shape header off a value. False where the value contradicts it.
[[nodiscard]] MDSTREAM_HOST_DEVICE inline bool skip_shape(const std::byte* raw,
                                                          std::uint32_t element_log2,
                                                          value_range& value) noexcept {
  if (value.bytes == 0) return false;
  const auto head = load_number<std::uint8_t>(raw + value.begin);
  const unsigned width = 1U << (head & 3);
  const std::uint64_t header = 1 + (std::uint64_t{head} >> 2) * width;
  if (header > value.bytes) return false;
  const std::uint64_t most = value.bytes - header;
  std::uint64_t elements = 1;
  for (std::uint64_t at = 1; at < header; at += width) {
    const std::uint64_t extent = load_word(raw + value.begin + at, width).low;
    if (extent != 0 && elements > value.bytes / extent) return false;
    elements *= extent;
  }
  value.begin += header;
  value.bytes = most;
  return most % (std::uint64_t{1} << element_log2) == 0 && elements == most >> element_log2;
}

}  // namespace detail

/// Where a column's elements are in a sample, where all columns have a fixed size; empty for a
/// sample of another size.
[[nodiscard]] MDSTREAM_HOST_DEVICE inline value_range fixed_value(
    const collate::staged_plan& plan, const collate::staged_source& source,
    std::uint64_t sample) noexcept {
  const std::uint64_t begin = plan.offsets[sample], end = plan.offsets[sample + 1];
  if (end < begin || end > plan.raw_bytes || end - begin != plan.fixed_bytes) {
    keep_smallest(plan.bad_sample, sample);
    return {};
  }
  return {begin + source.fixed_before, source.value_bytes};
}

/// Parses the header of one sample for all columns at a time.
class index_samples {
 public:
  explicit index_samples(const collate::staged_plan& plan) noexcept : plan_(plan) {}

  /// For `sample_count + 1` numbers, the last of which is no sample: counts of ragged columns go
  /// one place behind the sample's, so that their sums are offsets.
  MDSTREAM_HOST_DEVICE void operator()(std::int64_t number) const noexcept {
    const auto sample = static_cast<std::uint64_t>(number);
    fetch_ahead(sample);
    if (sample < plan_.sample_count && !index(sample)) {
      keep_smallest(plan_.bad_sample, sample);
      for (std::uint32_t k = 0; k < plan_.source_count; ++k) set(k, sample, {}, 0);
    }
    for (std::uint32_t r = 0; r < plan_.region_count; ++r)
      if (plan_.regions[r].kind == collate::region_kind::ragged) count(plan_.regions[r], sample);
  }

 private:
  /// Headers are too far apart for a processor to foresee. A device has other threads meanwhile.
  MDSTREAM_HOST_DEVICE void fetch_ahead([[maybe_unused]] std::uint64_t sample) const noexcept {
#if !defined(__CUDA_ARCH__)
    constexpr std::uint64_t ahead = 16;
    if (plan_.sample_count - sample <= ahead) return;
    const std::uint64_t at = plan_.offsets[sample + ahead];
    if (at < plan_.raw_bytes) __builtin_prefetch(plan_.raw + at);
#endif
  }

  [[nodiscard]] MDSTREAM_HOST_DEVICE bool index(std::uint64_t sample) const noexcept {
    const std::uint64_t begin = plan_.offsets[sample], end = plan_.offsets[sample + 1];
    const std::uint64_t header = std::uint64_t{plan_.variable_count} * sizeof(std::uint32_t);
    if (end < begin || end > plan_.raw_bytes || end - begin < header) return false;
    value_range value{begin + header, 0};
    for (std::uint32_t k = 0; k < plan_.source_count; ++k) {
      const collate::staged_source& source = plan_.sources[k];
      value.bytes = source.value_bytes != 0
                        ? source.value_bytes
                        : load_number<std::uint32_t>(plan_.raw + begin +
                                                     std::uint64_t{source.variable_before} *
                                                         sizeof(std::uint32_t));
      if (value.bytes > end - value.begin) return false;
      value_range elements = value;
      if (source.shaped != 0 && !detail::skip_shape(plan_.raw, source.element_log2, elements))
        return false;
      if (elements.bytes % (std::uint64_t{1} << source.element_log2) != 0) return false;
      set(k, sample, elements, source.element_log2);
      value.begin += value.bytes;
    }
    return value.begin == end;
  }

  MDSTREAM_HOST_DEVICE void set(std::uint32_t source, std::uint64_t sample,
                                const value_range& value,
                                std::uint32_t element_log2) const noexcept {
    const std::uint64_t at = source * plan_.sample_count + sample;
    plan_.begins[at] = value.begin;
    plan_.elements[at] = value.bytes >> element_log2;
  }

  MDSTREAM_HOST_DEVICE void count(const collate::staged_region& region,
                                  std::uint64_t sample) const noexcept {
    auto* const offsets = reinterpret_cast<std::int64_t*>(plan_.slab + region.offsets_at);
    if (sample == plan_.sample_count)
      offsets[0] = 0;
    else
      offsets[sample + 1] =
          static_cast<std::int64_t>(plan_.elements[region.source * plan_.sample_count + sample]);
  }

  collate::staged_plan plan_;
};

/// The elements of a column in a sample, indexed or of fixed size.
[[nodiscard]] MDSTREAM_HOST_DEVICE inline value_range value_of(const collate::staged_plan& plan,
                                                               std::uint32_t source,
                                                               std::uint64_t sample) noexcept {
  const collate::staged_source& about = plan.sources[source];
  if (plan.begins == nullptr) return fixed_value(plan, about, sample);
  const std::uint64_t at = source * plan.sample_count + sample;
  return {plan.begins[at], plan.elements[at] << about.element_log2};
}

}  // namespace mdstream::inline v0::kernels
