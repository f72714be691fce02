#pragma once

/// Counts of results, and when an epoch without a single one is an error. Pure.

#include <mdstream/stream/stream_info.hpp>

#include <cstdint>

namespace mdstream::inline v0::detail {

constexpr void add(result_counts& to, const result_counts& more) noexcept {
  to.samples += more.samples;
  to.results += more.results;
  to.vetoed += more.vetoed;
}

/// With so many samples, a rank takes its own for all. With fewer, those of the other ranks may
/// have results: a filter that keeps one of a thousand vetoes so many in a row once in 22,000
/// times.
inline constexpr std::uint64_t enough_vetoed = 10'000;

/// Whether a transform vetoes everything: by what it made on one of `ranks` ranks in a whole epoch.
[[nodiscard]] constexpr bool vetoes_all(const result_counts& made, std::uint64_t ranks) noexcept {
  return made.results == 0 && made.vetoed >= (ranks == 1 ? 1 : enough_vetoed);
}

}  // namespace mdstream::inline v0::detail
