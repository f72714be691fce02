#pragma once

/// Raw MDS samples as kernels see them: headers are parsed where the samples lie, and nothing that
/// they say is believed before it was checked.

#include <mdstream/collate/detail/staged_plan.hpp>
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

/// Parses the header of one sample for all columns at a time.
class index_samples {
 public:
  explicit index_samples(const collate::detail::staged_plan& plan) noexcept : plan_(plan) {}

  /// For `sample_count + 1` numbers, the last of which is no sample: counts of ragged columns go
  /// one place behind the sample's, so that their sums are offsets.
  MDSTREAM_HOST_DEVICE void operator()(std::int64_t number) const noexcept {
    const auto sample = static_cast<std::uint64_t>(number);
    if (sample == plan_.sample_count) return begin_offsets();
    if (index(sample)) return;
    keep_smallest(plan_.bad_sample, sample);
    for (std::uint32_t k = 0; k < plan_.source_count; ++k) put(plan_.sources[k], sample, {});
  }

 private:
  [[nodiscard]] MDSTREAM_HOST_DEVICE bool index(std::uint64_t sample) const noexcept {
    const std::uint64_t begin = plan_.offsets[sample], end = plan_.offsets[sample + 1];
    const std::uint64_t header = std::uint64_t{plan_.variable_count} * sizeof(std::uint32_t);
    if (end < begin || end > plan_.raw_bytes || end - begin < header) return false;
    value_range value{begin + header, 0};
    for (std::uint32_t k = 0; k < plan_.source_count; ++k) {
      const collate::detail::staged_source& source = plan_.sources[k];
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
      put(source, sample, elements);
      value.begin += value.bytes;
    }
    return value.begin == end;
  }

  MDSTREAM_HOST_DEVICE void begin_offsets() const noexcept {
    for (std::uint32_t k = 0; k < plan_.source_count; ++k)
      if (plan_.sources[k].goes_to == collate::detail::index_kind::ragged)
        *offset(plan_.sources[k], 0) = 0;
  }

  /// Nothing, a value of zeros, for a sample that contradicts itself.
  MDSTREAM_HOST_DEVICE void put(const collate::detail::staged_source& source, std::uint64_t sample,
                                const value_range& value) const noexcept {
    if (source.goes_to == collate::detail::index_kind::rows) return put_row(source, sample, value);
    const std::uint64_t at = source.index_row * plan_.sample_count + sample;
    const std::uint64_t elements = value.bytes >> source.element_log2;
    plan_.begins[at] = value.begin;
    if (source.goes_to == collate::detail::index_kind::ragged)
      *offset(source, sample + 1) = static_cast<std::int64_t>(elements);
    else
      plan_.elements[at] = elements;
  }
  MDSTREAM_HOST_DEVICE void put_row(const collate::detail::staged_source& source,
                                    std::uint64_t sample, const value_range& value) const noexcept {
    const auto bytes = static_cast<unsigned>(source.value_bytes);
    store_number(plan_.slab + source.to + sample * bytes,
                 value.bytes == 0 ? word{} : load_some(plan_.raw + value.begin, bytes), bytes);
  }
  [[nodiscard]] MDSTREAM_HOST_DEVICE std::int64_t* offset(
      const collate::detail::staged_source& source, std::uint64_t i) const noexcept {
    return reinterpret_cast<std::int64_t*>(plan_.slab + source.to) + i;
  }

  collate::detail::staged_plan plan_;
};

/// The elements of a region's column in a sample, where all columns have a fixed size; none for a
/// sample of another size.
[[nodiscard]] MDSTREAM_HOST_DEVICE inline value_range fixed_value(
    const collate::detail::staged_plan& plan, const collate::detail::staged_region& region,
    std::uint64_t sample) noexcept {
  const std::uint64_t begin = plan.offsets[sample], end = plan.offsets[sample + 1];
  if (end < begin || end > plan.raw_bytes || end - begin != plan.fixed_bytes) {
    keep_smallest(plan.bad_sample, sample);
    return {};
  }
  return {begin + region.fixed_before, region.value_bytes};
}

/// The elements of a region's column in a sample, which is not ragged.
[[nodiscard]] MDSTREAM_HOST_DEVICE inline value_range value_of(
    const collate::detail::staged_plan& plan, const collate::detail::staged_region& region,
    std::uint64_t sample) noexcept {
  if (plan.begins == nullptr) return fixed_value(plan, region, sample);
  const std::uint64_t at = region.index_row * plan.sample_count + sample;
  return {plan.begins[at], plan.elements[at] << region.element_log2};
}

/// The same of a ragged one, whose offsets tell how many there are.
[[nodiscard]] MDSTREAM_HOST_DEVICE inline value_range ragged_value_of(
    const collate::detail::staged_plan& plan, const collate::detail::staged_region& region,
    std::uint64_t sample, std::uint64_t bytes) noexcept {
  return {plan.begins[region.index_row * plan.sample_count + sample], bytes};
}

}  // namespace mdstream::inline v0::kernels
