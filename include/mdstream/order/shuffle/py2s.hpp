#pragma once

/// The shuffle "py2s": as py1s, but the samples of a shard are shuffled once for the run before it
/// is dealt to canonical nodes, and once more in every epoch. Source: MosaicML Streaming.

#include <mdstream/order/detail/sequence.hpp>
#include <mdstream/order/shuffle_task.hpp>
#include <mdstream/order/shuffler.hpp>

#include <cstdint>
#include <string_view>

namespace mdstream::inline v0::shuffle {

/// The order `py2s`: as `py1s`, in two passes, the second one for each canonical node's cut.
struct py2s {
  [[nodiscard]] static constexpr std::string_view name() noexcept { return "py2s"; }
  /// Canonical nodes for each node, in a run that sets no number of them.
  [[nodiscard]] static constexpr std::uint64_t canonical_nodes_factor() noexcept { return 64; }
  /// One pass over both generators: about 4 ns a sample.
  [[nodiscard]] mdstream::detail::any_sequence open(const shuffle_task& task) const;
};

static_assert(shuffler<py2s>);

}  // namespace mdstream::inline v0::shuffle

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/order/detail/impl/py2s.ipp>
#endif
