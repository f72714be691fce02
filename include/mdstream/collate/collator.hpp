#pragma once

/// The collator policy: which columns a batch has and where they lie.

#include <mdstream/collate/measure.hpp>
#include <mdstream/collate/plan.hpp>

#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::collate {

/// A collator decides, `execute` or a kernel carries out.
///
/// - `Collator::name`: for messages.
/// - `Collator::accepts(column)`: whether it can collate samples with such a column. Asked once, at
///   open; `constexpr`, so that a compile-time schema is refused by the compiler.
/// - `lay_out(sources, measures, samples, outputs)`: fills `outputs` (whose capacity is kept from
///   batch to batch) for this many samples and returns the slab's bytes. Every output begins at a
///   multiple of `alignment`. Called by one thread at a time.
template <class Collator>
concept collator =
    std::default_initializable<Collator> && std::copyable<Collator> &&
    requires(const Collator& c, const source_column& column, std::span<const source_column> sources,
             std::span<const column_measure> measures, std::uint64_t samples,
             std::vector<output_column>& outputs) {
      { Collator::name } -> std::convertible_to<std::string_view>;
      { Collator::accepts(column) } -> std::same_as<bool>;
      { c.lay_out(sources, measures, samples, outputs) } -> std::same_as<std::uint64_t>;
    };

}  // namespace mdstream::inline v0::collate
