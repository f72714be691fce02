#pragma once

/// What a run's options make worse than it has to be, in words. Pure.

#include <mdstream/order/progress.hpp>
#include <mdstream/order/world.hpp>
#include <mdstream/stream/detail/run_order.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mdstream::inline v0::detail {

/// What MosaicML Streaming warns of, too, with its numbers and what to do: a predownload below a
/// batch, shuffle blocks smaller than shards, fewer samples than canonical nodes or ranks, and
/// samples that fill no batch of their stream. `start`: of the first epoch. `predownload`: as the
/// user set it. Precondition: the epoch can begin.
[[nodiscard]] std::vector<std::string> order_warnings(const run_order::engine_type& engine,
                                                      const world& parallel,
                                                      std::uint64_t batch_size,
                                                      const epoch_start& start,
                                                      std::optional<std::uint64_t> predownload);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/order_warnings.ipp>
#endif
