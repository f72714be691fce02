#pragma once

/// The shuffle "naive": one permutation of the whole epoch. Source: MosaicML Streaming.

#include <mdstream/order/detail/sequence.hpp>
#include <mdstream/order/shuffle_task.hpp>
#include <mdstream/order/shuffler.hpp>

#include <string_view>

namespace mdstream::inline v0::shuffle {

/// The order `naive`: all samples of the epoch are permuted at once, so each node reads all shards.
struct naive {
  [[nodiscard]] static constexpr std::string_view name() noexcept { return "naive"; }
  [[nodiscard]] mdstream::detail::any_sequence open(const shuffle_task& task) const;
};

static_assert(shuffler<naive>);

}  // namespace mdstream::inline v0::shuffle

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/order/detail/impl/naive.ipp>
#endif
