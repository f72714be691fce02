#pragma once

/// The collator for language models: sequences of varying length are packed into rows of a fixed
/// one.

#include <mdstream/collate/detail/packing.hpp>
#include <mdstream/collate/ragged.hpp>

#include <limits>

namespace mdstream::inline v0::collate {

/// How sequences are packed into rows: the argument of `collate::packed`.
///
///     constexpr mds::collate::packing rows_of_4096{.row = 4096,
///                                                  .longer = mds::collate::truncation::split};
///     using policies = mds::policies<rows, mds::collate::packed<rows_of_4096>>;
struct packing {
  /// Elements of a row.
  std::uint64_t row = 0;
  /// This many consecutive samples are packed together, and nothing is carried over to the next
  /// group. If it divides the batch size of a rank, packs are the same on any number of ranks. 0:
  /// the whole batch of a rank is one group, and packs depend on the number of ranks.
  std::uint64_t group = 0;
  /// What happens to a sequence longer than its row: `error`, `truncate` or `split`.
  truncation longer = truncation::error;
  /// The value of padding, as an element of the column.
  double pad_value = 0;
};

/// Packs sequences, which are columns of `ndarray` without a fixed shape, into blocks [rows][row].
/// The sequences of one sample have to be equally long. `batch::packing` has `cu_seqlens`,
/// `position_ids` and `segment_ids`. All other columns are as with `ragged`: segment `s` is their
/// sample `s`. The number of rows varies from batch to batch. All results that a transform makes of
/// a sample are in its group.
///
///     using policies = mds::policies<rows, mds::collate::packed<{.row = 2048, .group = 32}>>;
template <packing Options>
struct packed {
  static_assert(Options.row != 0 && Options.row <= std::numeric_limits<std::int32_t>::max(),
                "mdstream: give packing::row, the elements of a row, below 2^31");

  static constexpr std::string_view name = "packed";
  static constexpr std::uint64_t longest_sequence =
      Options.longer == truncation::error ? Options.row : 0;

  [[nodiscard]] static constexpr bool accepts(const source_column& column) noexcept {
    return ragged::accepts(column);
  }
  [[nodiscard]] static constexpr output_kind output_of(const source_column& column) noexcept {
    if (column.value_bytes != 0) return output_kind::dense;
    return column.shaped ? output_kind::packed : output_kind::ragged;
  }

  detail::pack_result pack(std::span<const source_column> sources,
                           std::span<const detail::column_measure> measures,
                           std::span<const std::uint64_t> lengths,
                           std::vector<output_column>& outputs, std::vector<pack_segment>& segments,
                           std::span<const std::uint64_t> samples = {}) const {
    detail::pack_result out{
        .rows = detail::pack_rows(
            lengths, {.row = Options.row, .group = Options.group, .longer = Options.longer},
            segments, samples)};
    if (out.rows > std::uint64_t{std::numeric_limits<std::int32_t>::max()} / Options.row)
      throw error(errc::out_of_range, "a packed batch of " + std::to_string(out.rows) +
                                          " rows has more elements than cu_seqlens can count");
    outputs.clear();
    for (std::uint32_t k = 0; k < sources.size(); ++k) {
      if (output_of(sources[k]) != output_kind::packed) {
        detail::append_plain(k, sources[k], measures[k], lengths.size(), outputs, out.slab_bytes);
        continue;
      }
      append(out,
             {.kind = output_kind::packed,
              .source = k,
              .values_bytes = detail::block_bytes(out.rows, Options.row, size_of(sources[k].type)),
              .pad_value = detail::pad_bits(pad_value, sources[k].type)},
             outputs);
    }
    const std::uint64_t block = detail::block_bytes(out.rows, Options.row, sizeof(std::int32_t));
    append(out,
           {.kind = output_kind::cu_seqlens,
            .values_bytes = (runs(segments, out.rows) + 1) * sizeof(std::int32_t)},
           outputs);
    append(out, {.kind = output_kind::position_ids, .values_bytes = block}, outputs);
    append(out, {.kind = output_kind::segment_ids, .values_bytes = block}, outputs);
    return out;
  }

 private:
  /// clang 19 reads floating-point members of template arguments as zeros, but for constants.
  static constexpr double pad_value = Options.pad_value;

  static void append(detail::pack_result& result, output_column out,
                     std::vector<output_column>& outputs) {
    out.row_elements = Options.row;
    out.values_at = result.slab_bytes;
    result.slab_bytes = align_up(out.values_at + out.values_bytes);
    outputs.push_back(out);
  }

  /// Segments, and the padding of every row that is not full.
  [[nodiscard]] static std::uint64_t runs(std::span<const pack_segment> segments,
                                          std::uint64_t rows) {
    std::uint64_t full = 0;
    for (const pack_segment& segment : segments)
      if ((segment.at + segment.length) % Options.row == 0) ++full;
    return segments.size() + rows - full;
  }
};

static_assert(collator<packed<packing{.row = 1}>>);

}  // namespace mdstream::inline v0::collate
