#pragma once

/// The sizing pass: walks the size headers of a batch's samples, checks that they add up, and tells
/// each column's lengths. What passed here is safe to copy without further checks.

#include <mdstream/collate/plan.hpp>
#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <utility>

namespace mdstream::inline v0::collate::detail {

/// Lengths of one column over the samples of a batch, in bytes, shape headers left out.
struct column_measure {
  std::uint64_t total = 0;
  std::uint64_t longest = 0;
};

/// What a collator of rows decided.
struct pack_result {
  std::uint64_t rows = 0;
  std::uint64_t slab_bytes = 0;
};

/// A sample that cannot be collated: it contradicts its own header or its schema. The loader,
/// which knows where the sample came from, turns it into an `mdstream::error`.
class bad_sample : public std::exception {
 public:
  bad_sample(std::size_t index, std::uint64_t byte, std::string what, errc code = errc::corrupt)
      : index_(index), byte_(byte), what_(std::move(what)), code_(code) {}

  [[nodiscard]] const char* what() const noexcept override { return what_.c_str(); }
  [[nodiscard]] std::size_t index() const noexcept { return index_; }  ///< within the batch
  [[nodiscard]] std::uint64_t byte() const noexcept { return byte_; }  ///< within the sample
  /// `errc::corrupt`, but for a good sample that the collator's options do not allow.
  [[nodiscard]] errc code() const noexcept { return code_; }

 private:
  std::size_t index_;
  std::uint64_t byte_;
  std::string what_;
  errc code_;
};

/// Calls `visit(column, value, bytes)` for every value of a sample that was checked before.
template <class Visit>
void for_each_value(std::span<const source_column> sources, std::uint32_t variable_count,
                    const sample_bytes& sample, Visit&& visit) {
  const std::byte* header = sample.data;
  const std::byte* value = sample.data + std::uint64_t{variable_count} * sizeof(std::uint32_t);
  for (std::size_t column = 0; column < sources.size(); ++column) {
    std::uint64_t bytes = sources[column].value_bytes;
    if (bytes == 0) {
      bytes = load<std::uint32_t>(header);
      header += sizeof(std::uint32_t);
    }
    visit(column, value, bytes);
    value += bytes;
  }
}

/// Bytes of the shape header of a value whose shape is written in front of it.
/// Throws `bad_sample` when the value is shorter than its shape says, or longer.
inline std::uint64_t checked_shape_header(const source_column& column, const std::byte* value,
                                          std::uint64_t bytes, std::size_t index,
                                          std::uint64_t at) {
  if (bytes == 0) throw bad_sample(index, at, "an ndarray without its shape header");
  const auto head = load<std::uint8_t>(value);
  const std::uint64_t header = shape_header_bytes(head);
  if (header > bytes) throw bad_sample(index, at, "the shape header of an ndarray is cut short");
  const std::uint64_t width = std::uint64_t{1} << (head & 3);
  std::uint64_t elements = 1;
  for (std::uint64_t dimension = 1; dimension < header; dimension += width) {
    std::uint64_t extent = 0;
    std::memcpy(&extent, value + dimension, width);
    if (extent != 0 && elements > bytes / extent)
      throw bad_sample(index, at, "the shape of an ndarray exceeds its bytes");
    elements *= extent;
  }
  if (elements * size_of(column.type) != bytes - header)
    throw bad_sample(index, at,
                     "an ndarray of " + std::to_string(elements) + " elements in " +
                         std::to_string(bytes - header) + " bytes");
  return header;
}

inline void check_size_header(std::span<const source_column> sources, std::uint32_t variable_count,
                              const sample_bytes& sample, std::size_t index) {
  const std::uint64_t header = std::uint64_t{variable_count} * sizeof(std::uint32_t);
  if (sample.size < header) throw bad_sample(index, 0, "the size header of a sample is cut short");
  std::uint64_t expected = header;
  const std::byte* size = sample.data;
  for (const source_column& column : sources) {
    std::uint64_t bytes = column.value_bytes;
    if (bytes == 0) {
      bytes = load<std::uint32_t>(size);
      size += sizeof(std::uint32_t);
    }
    if (bytes > sample.size - expected) {
      expected = sample.size + 1;  // beyond the end; a sum could wrap
      break;
    }
    expected += bytes;
  }
  if (expected != sample.size)
    throw bad_sample(index, 0,
                     "a sample of " + std::to_string(sample.size) +
                         " bytes whose columns add up to " + std::to_string(expected));
}

/// Where all columns have a fixed size there is nothing to walk.
inline void measure_fixed(std::span<const source_column> sources,
                          std::span<const sample_bytes> samples, std::span<column_measure> out) {
  std::uint64_t expected = 0;
  for (std::size_t k = 0; k < sources.size(); ++k) {
    const std::uint64_t bytes = sources[k].value_bytes;
    expected += bytes;
    out[k] = {.total = bytes * samples.size(), .longest = samples.empty() ? 0 : bytes};
  }
  for (std::size_t i = 0; i < samples.size(); ++i)
    if (samples[i].size != expected) check_size_header(sources, 0, samples[i], i);
}

/// Checks sample `index` against the columns and calls `visit(column, bytes)` for every value,
/// without its shape header. Throws `bad_sample`.
template <class Visit>
void measure_sample(std::span<const source_column> sources, std::uint32_t variable_count,
                    const sample_bytes& sample, std::size_t index, Visit&& visit) {
  detail::check_size_header(sources, variable_count, sample, index);
  for_each_value(sources, variable_count, sample,
                 [&](std::size_t column, const std::byte* value, std::uint64_t bytes) {
                   const source_column& source = sources[column];
                   const auto at = static_cast<std::uint64_t>(value - sample.data);
                   if (source.shaped) {
                     bytes -= detail::checked_shape_header(source, value, bytes, index, at);
                   } else if (bytes % size_of(source.type) != 0) {
                     throw bad_sample(index, at, "a value that is no multiple of its element size");
                   }
                   visit(column, bytes);
                 });
}

/// Checks every sample against the columns and sums up their lengths.
/// `out` has one element for each source. Linear in samples × columns; throws `bad_sample`.
inline void measure(std::span<const source_column> sources, std::uint32_t variable_count,
                    std::span<const sample_bytes> samples, std::span<column_measure> out) {
  if (variable_count == 0) return detail::measure_fixed(sources, samples, out);
  std::ranges::fill(out, column_measure{});
  for (std::size_t i = 0; i < samples.size(); ++i)
    measure_sample(sources, variable_count, samples[i], i,
                   [&](std::size_t column, std::uint64_t bytes) {
                     out[column].total += bytes;
                     out[column].longest = std::max(out[column].longest, bytes);
                   });
}

/// Calls `visit(elements, at)` for the values of variable `ndarray` of a checked sample: how many
/// elements each has, and where in the sample it begins.
template <class Visit>
void for_each_sequence(std::span<const source_column> sources, std::uint32_t variable_count,
                       const sample_bytes& sample, Visit&& visit) {
  for_each_value(sources, variable_count, sample,
                 [&](std::size_t column, const std::byte* value, std::uint64_t bytes) {
                   if (!sources[column].shaped) return;
                   const std::uint64_t header = shape_header_bytes(load<std::uint8_t>(value));
                   visit((bytes - header) / size_of(sources[column].type),
                         static_cast<std::uint64_t>(value - sample.data));
                 });
}

/// The most elements that a value of variable `ndarray` has in these samples, and which sample's.
/// Precondition: they passed `measure`.
struct longest_value {
  std::uint64_t elements = 0;
  std::size_t index = 0;
  std::uint64_t byte = 0;  ///< where the value begins in its sample
};
[[nodiscard]] inline longest_value find_longest(std::span<const source_column> sources,
                                                std::uint32_t variable_count,
                                                std::span<const sample_bytes> samples) {
  longest_value found;
  for (std::size_t i = 0; i < samples.size(); ++i)
    detail::for_each_sequence(sources, variable_count, samples[i],
                              [&](std::uint64_t elements, std::uint64_t at) {
                                if (elements > found.elements) found = {elements, i, at};
                              });
  return found;
}

/// Elements of each sample's sequence: of its values of variable `ndarray`, which all have to have
/// as many. `out` has one element for each sample. Precondition: the samples passed `measure`.
/// Throws `bad_sample`.
inline void measure_sequences(std::span<const source_column> sources, std::uint32_t variable_count,
                              std::span<const sample_bytes> samples, std::span<std::uint64_t> out) {
  for (std::size_t i = 0; i < samples.size(); ++i) {
    bool first = true;
    detail::for_each_sequence(
        sources, variable_count, samples[i], [&](std::uint64_t elements, std::uint64_t at) {
          if (!first && elements != out[i])
            throw bad_sample(i, at,
                             "sequences of " + std::to_string(out[i]) + " and of " +
                                 std::to_string(elements) +
                                 " elements, which can not share the rows of a pack");
          out[i] = elements;
          first = false;
        });
  }
}

}  // namespace mdstream::inline v0::collate::detail
