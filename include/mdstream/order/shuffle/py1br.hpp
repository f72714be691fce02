#pragma once

/// The shuffle "py1br": shards are dealt to canonical nodes and shuffled; then blocks of random
/// size are shuffled in place. Source: MosaicML Streaming.

#include <mdstream/order/detail/sequence.hpp>
#include <mdstream/order/shuffle_task.hpp>
#include <mdstream/order/shuffler.hpp>

#include <string_view>

namespace mdstream::inline v0::shuffle {

/// The order `py1br`: shards are permuted, samples within blocks of random sizes.
struct py1br {
  [[nodiscard]] static constexpr std::string_view name() noexcept { return "py1br"; }
  /// One pass over the generator: about 2 ns a sample.
  [[nodiscard]] mdstream::detail::any_sequence open(const shuffle_task& task) const;
};

static_assert(shuffler<py1br>);

}  // namespace mdstream::inline v0::shuffle

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/order/detail/impl/py1br.ipp>
#endif
