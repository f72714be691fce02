#pragma once

/// The shuffle "py1s": shards are dealt to canonical nodes once, then shuffled in every epoch, and
/// the samples inside each. Source: MosaicML Streaming.

#include <mdstream/order/detail/sequence.hpp>
#include <mdstream/order/shuffle_task.hpp>
#include <mdstream/order/shuffler.hpp>

#include <cstdint>
#include <string_view>

namespace mdstream::inline v0::shuffle {

/// The order `py1s`: shards are permuted, and the samples of each.
struct py1s {
  [[nodiscard]] static constexpr std::string_view name() noexcept { return "py1s"; }
  /// Canonical nodes for each node, in a run that sets no number of them.
  [[nodiscard]] static constexpr std::uint64_t canonical_nodes_factor() noexcept { return 64; }
  /// One pass over the generator: about 2 ns a sample.
  [[nodiscard]] mdstream::detail::any_sequence open(const shuffle_task& task) const;
};

static_assert(shuffler<py1s>);

}  // namespace mdstream::inline v0::shuffle

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/order/detail/impl/py1s.ipp>
#endif
