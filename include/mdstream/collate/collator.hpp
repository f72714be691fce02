#pragma once

/// The collator policy: which columns a batch has and where they lie.

#include <mdstream/collate/detail/measure.hpp>
#include <mdstream/collate/plan.hpp>

#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::collate {

namespace detail {

template <class Collator>
concept named_collator = std::default_initializable<Collator> && std::copyable<Collator> &&
                         requires(const source_column& column) {
                           { Collator::name } -> std::convertible_to<std::string_view>;
                           { Collator::accepts(column) } -> std::same_as<bool>;
                         };

}  // namespace detail

/// A collator of columns: `lay_out(sources, measures, samples, outputs)` fills `outputs` (whose
/// capacity is kept from batch to batch) for this many samples and returns the slab's bytes.
template <class Collator>
concept column_collator = requires(const Collator& c, std::span<const source_column> sources,
                                   std::span<const detail::column_measure> measures,
                                   std::uint64_t samples, std::vector<output_column>& outputs) {
  { c.lay_out(sources, measures, samples, outputs) } -> std::same_as<std::uint64_t>;
};

/// A collator of rows: it also gets how many elements each sample's sequence has, and says where
/// each goes: `pack(sources, measures, lengths, outputs, segments)`. With a transform that makes
/// any number of results it gets one more argument, a `std::span<const std::uint64_t>`: for each
/// result the number of the sample in the batch that it was made of. What is packed together may
/// depend on these numbers, but not on the numbers of the results, which depend on the number of
/// ranks.
template <class Collator>
concept row_collator = requires(
    const Collator& c, std::span<const source_column> sources,
    std::span<const detail::column_measure> measures, std::span<const std::uint64_t> lengths,
    std::vector<output_column>& outputs, std::vector<pack_segment>& segments) {
  { c.pack(sources, measures, lengths, outputs, segments) } -> std::same_as<detail::pack_result>;
};

namespace detail {

template <class Collator>
concept results_collator =
    !row_collator<Collator> ||
    requires(const Collator& c, std::span<const source_column> sources,
             std::span<const column_measure> measures, std::span<const std::uint64_t> numbers,
             std::vector<output_column>& outputs, std::vector<pack_segment>& segments) {
      c.pack(sources, measures, numbers, outputs, segments, numbers);
    };

}  // namespace detail

/// A collator of whole samples, whose columns it does not look at: `lay_out(bytes, samples,
/// outputs)`, with the bytes of all samples.
template <class Collator>
concept sample_collator = requires(const Collator& c, std::uint64_t bytes, std::uint64_t samples,
                                   std::vector<output_column>& outputs) {
  { c.lay_out(bytes, samples, outputs) } -> std::same_as<std::uint64_t>;
};

/// A collator decides, `execute` or a kernel carries out.
///
/// - `Collator::name`: for messages.
/// - `Collator::accepts(column)`: whether it can collate samples with such a column. Asked once, at
///   open; `constexpr`, so that a compile-time schema is refused by the compiler.
/// - `lay_out` or `pack`, see above. Every output begins at a multiple of `alignment`. Called by
///   one thread at a time.
///
/// Optional: `Collator::output_of(column)`, the kind that a column's output has (without it: dense,
/// or ragged where the size varies); `Collator::longest_sequence`, the most elements that a
/// variable `ndarray` may have, longer ones being an error that names the sample (0: any number).
///
///     struct texts_only : mds::collate::ragged {
///       static constexpr std::string_view name = "texts_only";
///       static constexpr bool accepts(const mds::collate::source_column& column) {
///         return column.type == mds::dtype::uint8 && !column.shaped;
///       }
///     };
///     static_assert(mds::collate::collator<texts_only>);
template <class Collator>
concept collator =
    detail::named_collator<Collator> &&
    (column_collator<Collator> || row_collator<Collator> || sample_collator<Collator>);

/// The kind of output that a collator makes of a column.
template <collator Collator>
[[nodiscard]] constexpr output_kind output_of(const source_column& column) noexcept {
  if constexpr (requires { Collator::output_of(column); })
    return Collator::output_of(column);
  else
    return column.value_bytes != 0 ? output_kind::dense : output_kind::ragged;
}

/// Whether batches have to be dealt to ranks in stretches of the canonical order.
template <collator Collator>
inline constexpr bool packs_groups = row_collator<Collator>;

/// The most elements of a sequence that a collator takes; 0: any number.
template <collator Collator>
inline constexpr std::uint64_t longest_sequence = [] {
  if constexpr (requires { Collator::longest_sequence; })
    return std::uint64_t{Collator::longest_sequence};
  else
    return std::uint64_t{0};
}();

}  // namespace mdstream::inline v0::collate
