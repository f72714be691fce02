#pragma once

/// The host's executor of a collate plan.

#include <mdstream/collate/measure.hpp>
#include <mdstream/collate/plan.hpp>

#include <cstring>
#include <span>
#include <vector>

namespace mdstream::inline v0::collate {

namespace detail {

/// A batch of one fixed-size column: each sample is its value.
inline void copy_whole_samples(const collate_plan& plan, std::byte* to) noexcept {
  const std::uint64_t bytes = plan.sources[0].value_bytes;
  for (std::uint64_t i = 0; i < plan.sample_count; ++i)
    std::memcpy(to + i * bytes, plan.samples[i].data, bytes);
}

/// Where the next value of an output goes.
struct output_cursor {
  std::byte* values = nullptr;
  std::byte* next_offset = nullptr;  // null: dense
  std::int64_t elements = 0;

  void write_offset() noexcept {
    store_to(next_offset, elements);
    next_offset += sizeof elements;
  }
};

inline void append(output_cursor& cursor, const source_column& source, const std::byte* value,
                   std::uint64_t bytes) noexcept {
  if (source.shaped) {
    const std::uint64_t header = shape_header_bytes(load<std::uint8_t>(value));
    value += header;
    bytes -= header;
  }
  if (bytes != 0) std::memcpy(cursor.values, value, bytes);
  cursor.values += bytes;
  if (cursor.next_offset != nullptr) {
    cursor.elements += static_cast<std::int64_t>(bytes / size_of(source.type));
    cursor.write_offset();
  }
}

}  // namespace detail

/// Writes the batch that `plan` describes into `slab` (`plan.slab_bytes` bytes, aligned to
/// `alignment`). Padding between columns is left as it was. Precondition: the samples passed
/// `measure`, and the outputs are those of one source each, in the order of the sources.
inline void execute(const collate_plan& plan, std::byte* slab) {
  if (plan.source_count == 1 && plan.sources[0].value_bytes != 0 && !plan.sources[0].shaped)
    return detail::copy_whole_samples(plan, slab + plan.outputs[0].values_at);

  std::vector<detail::output_cursor> cursors(plan.output_count);
  for (std::uint32_t k = 0; k < plan.output_count; ++k) {
    const output_column& out = plan.outputs[k];
    cursors[k].values = slab + out.values_at;
    if (out.kind == output_kind::ragged) {
      cursors[k].next_offset = slab + out.offsets_at;
      cursors[k].write_offset();
    }
  }
  const std::span sources(plan.sources, plan.source_count);
  for (std::uint64_t i = 0; i < plan.sample_count; ++i) {
    for_each_value(sources, plan.variable_count, plan.samples[i],
                   [&](std::size_t column, const std::byte* value, std::uint64_t bytes) {
                     detail::append(cursors[column], sources[column], value, bytes);
                   });
  }
}

}  // namespace mdstream::inline v0::collate
