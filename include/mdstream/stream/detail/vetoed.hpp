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

/// With so many samples vetoed, a rank of several supposes that the others have no results either.
/// It cannot know, and an error on one rank alone leaves the others waiting in a collective: of a
/// filter that keeps one of 100,000, a rank has so many without a result once in 22,000 epochs.
inline constexpr std::uint64_t enough_vetoed = 1'000'000;

/// Whether a transform vetoes everything: by what it made on one of `ranks` ranks in a whole epoch.
[[nodiscard]] constexpr bool vetoes_all(const result_counts& made, std::uint64_t ranks) noexcept {
  return made.results == 0 && made.vetoed >= (ranks == 1 ? 1 : enough_vetoed);
}

}  // namespace mdstream::inline v0::detail
