#pragma once

/// The part of the host's executor for packed rows.

#include <mdstream/collate/detail/measure.hpp>
#include <mdstream/collate/plan.hpp>

#include <cstring>
#include <span>

namespace mdstream::inline v0::collate::detail {

/// Goes from a value to its elements.
inline void skip_shape(const source_column& source, const std::byte*& value,
                       std::uint64_t& bytes) noexcept {
  if (!source.shaped) return;
  const std::uint64_t header = shape_header_bytes(load<std::uint8_t>(value));
  value += header;
  bytes -= header;
}

/// `count` times the lowest `width` bytes of `bits`.
inline void fill_elements(std::byte* to, std::uint64_t count, std::uint64_t bits,
                          std::uint64_t width) noexcept {
  if (bits == 0 || width == 1) {
    std::memset(to, static_cast<int>(bits & 0xff), count * width);
    return;
  }
  for (std::uint64_t i = 0; i < count; ++i) std::memcpy(to + i * width, &bits, width);
}

/// Calls `visit(at, length, segment)` for the runs of a packed block in their order; `segment` is
/// null for padding, which ends with its row.
template <class Visit>
void for_each_run(const collate_plan& plan, std::uint64_t row_elements, Visit&& visit) {
  const std::uint64_t end = plan.pack_rows * row_elements;
  std::uint64_t at = 0;
  const auto fill_until = [&](std::uint64_t next) {
    while (at < next) {
      const std::uint64_t row_end = (at / row_elements + 1) * row_elements;
      const std::uint64_t stop = row_end < next ? row_end : next;
      visit(at, stop - at, nullptr);
      at = stop;
    }
  };
  for (const pack_segment& segment : std::span(plan.segments, plan.segment_count)) {
    fill_until(segment.at);
    visit(at, segment.length, &segment);
    at += segment.length;
  }
  fill_until(end);
}

/// The elements of one column of one checked sample.
[[nodiscard]] inline const std::byte* elements_of(const collate_plan& plan, std::uint64_t sample,
                                                  std::uint32_t source) noexcept {
  const std::byte* found = nullptr;
  for_each_value(std::span(plan.sources, plan.source_count), plan.variable_count,
                 plan.samples[sample],
                 [&](std::size_t column, const std::byte* value, std::uint64_t bytes) {
                   if (column != source) return;
                   skip_shape(plan.sources[column], value, bytes);
                   found = value;
                 });
  return found;
}

inline void pack_values(const collate_plan& plan, const output_column& out,
                        std::byte* values) noexcept {
  const std::uint64_t width = size_of(plan.sources[out.source].type);
  for_each_run(plan, out.row_elements,
               [&](std::uint64_t at, std::uint64_t length, const pack_segment* segment) {
                 std::byte* to = values + at * width;
                 if (segment == nullptr) return fill_elements(to, length, out.pad_value, width);
                 std::memcpy(
                     to, elements_of(plan, segment->sample, out.source) + segment->first * width,
                     length * width);
               });
}

/// Fills packed columns, and what describes their rows.
inline void execute_packed(const collate_plan& plan, std::byte* slab) noexcept {
  for (const output_column& out : std::span(plan.outputs, plan.output_count)) {
    std::byte* const values = slab + out.values_at;
    const auto write = [values](std::uint64_t i, std::uint64_t value) {
      store_to(values + i * sizeof(std::int32_t), static_cast<std::int32_t>(value));
    };
    if (out.kind == output_kind::packed) {
      pack_values(plan, out, values);
    } else if (out.kind == output_kind::cu_seqlens) {
      std::uint64_t run = 0;
      write(0, 0);
      for_each_run(plan, out.row_elements,
                   [&](std::uint64_t at, std::uint64_t length, const pack_segment*) {
                     write(++run, at + length);
                   });
    } else if (out.kind == output_kind::position_ids) {
      for_each_run(plan, out.row_elements,
                   [&](std::uint64_t at, std::uint64_t length, const pack_segment*) {
                     for (std::uint64_t i = 0; i < length; ++i) write(at + i, i);
                   });
    } else if (out.kind == output_kind::segment_ids) {
      for_each_run(plan, out.row_elements,
                   [&](std::uint64_t at, std::uint64_t length, const pack_segment* segment) {
                     const std::uint64_t segment_id =
                         segment == nullptr ? ~std::uint64_t{0} : segment->sample;
                     for (std::uint64_t i = 0; i < length; ++i) write(at + i, segment_id);
                   });
    }
  }
}

}  // namespace mdstream::inline v0::collate::detail
