#pragma once

/// The collator for sequences that are to be blocks: columns of variable `ndarray` become rows of
/// one length, with a mask.

#include <mdstream/collate/ragged.hpp>
#include <mdstream/collate/rows.hpp>

namespace mdstream::inline v0::collate {

/// How rows are padded: the argument of `collate::padded`.
///
///     constexpr mds::collate::padding to_512{.length = 512,
///                                            .longer = mds::collate::truncation::truncate};
///     using policies = mds::policies<rows, mds::collate::padded<to_512>>;
struct padding {
  /// Elements of a row; 0: those of the longest value of the rank's batch.
  std::uint64_t length = 0;
  /// With `length` 0, rows are rounded up to a multiple of this.
  std::uint64_t multiple = 1;
  /// What happens to a sequence longer than its row: `error`, `truncate`.
  truncation longer = truncation::error;
  /// The value of padding, as an element of the column.
  double pad_value = 0;
  /// Pads texts and bytes, too; otherwise they stay ragged.
  bool texts = false;
};

/// Pads sequences, which are columns of `ndarray` without a fixed shape, to blocks [samples][row],
/// with `uint8` masks of the same shape and the samples' lengths. Values of several dimensions
/// count as their elements in C order. All other columns are as with `ragged`.
///
///     using policies = mds::policies<rows, mds::collate::padded<{.multiple = 64}>>;
template <padding Options = padding{}>
struct padded {
  static_assert(Options.multiple != 0, "mdstream: rows are rounded up to a multiple of at least 1");
  static_assert(Options.longer != truncation::split, "mdstream: only packed rows split sequences");

  static constexpr std::string_view name = "padded";
  static constexpr std::uint64_t longest_sequence =
      Options.longer == truncation::error ? Options.length : 0;

  [[nodiscard]] static constexpr bool accepts(const source_column& column) noexcept {
    return ragged::accepts(column);
  }
  [[nodiscard]] static constexpr output_kind output_of(const source_column& column) noexcept {
    if (column.value_bytes != 0) return output_kind::dense;
    return column.shaped || Options.texts ? output_kind::padded : output_kind::ragged;
  }

  std::uint64_t lay_out(std::span<const source_column> sources,
                        std::span<const detail::column_measure> measures, std::uint64_t samples,
                        std::vector<output_column>& outputs) const {
    outputs.clear();
    std::uint64_t end = 0;
    for (std::uint32_t k = 0; k < sources.size(); ++k) {
      if (output_of(sources[k]) == output_kind::padded)
        append(k, sources[k], measures[k], samples, outputs, end);
      else
        detail::append_plain(k, sources[k], measures[k], samples, outputs, end);
    }
    return end;
  }

 private:
  /// clang 19 reads floating-point members of template arguments as zeros, but for constants.
  static constexpr double pad_value = Options.pad_value;

  [[nodiscard]] static constexpr std::uint64_t row_of(std::uint64_t longest) noexcept {
    if (Options.length != 0) return Options.length;
    return (longest + Options.multiple - 1) / Options.multiple * Options.multiple;
  }

  static void append(std::uint32_t source, const source_column& about,
                     const detail::column_measure& measure, std::uint64_t samples,
                     std::vector<output_column>& outputs, std::uint64_t& end) {
    const std::uint64_t element = size_of(about.type);
    output_column out{.kind = output_kind::padded,
                      .source = source,
                      .row_elements = row_of(measure.longest / element),
                      .pad_value = detail::pad_bits(pad_value, about.type)};
    out.values_bytes = detail::block_bytes(samples, out.row_elements, element);
    out.offsets_at = end;
    out.mask_at = align_up(out.offsets_at + samples * sizeof(std::int64_t));
    out.values_at = align_up(out.mask_at + samples * out.row_elements);
    end = align_up(out.values_at + out.values_bytes);
    outputs.push_back(out);
  }
};

static_assert(collator<padded<>>);

}  // namespace mdstream::inline v0::collate
