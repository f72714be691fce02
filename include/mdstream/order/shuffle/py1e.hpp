#pragma once

/// The shuffle "py1e", the default: every sample moves by a random distance of up to 0.625 block
/// sizes, so that a reader needs only the shards of that neighbourhood. Source: MosaicML Streaming.

#include <mdstream/order/detail/sequence.hpp>
#include <mdstream/order/shuffle_task.hpp>
#include <mdstream/order/shuffler.hpp>

#include <string_view>

namespace mdstream::inline v0::shuffle {

/// Spans of shards are dealt to canonical nodes by the run's seed and shuffled by the epoch's;
/// samples are shuffled inside their span, and then spread.
struct py1e {
  [[nodiscard]] static constexpr std::string_view name() noexcept { return "py1e"; }
  /// One pass over the generator: about 2 ns a sample.
  [[nodiscard]] mdstream::detail::any_sequence open(const shuffle_task& task) const;
};

static_assert(shuffler<py1e>);

}  // namespace mdstream::inline v0::shuffle

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/order/detail/impl/py1e.ipp>
#endif
