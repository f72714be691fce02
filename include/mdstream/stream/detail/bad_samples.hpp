#pragma once

/// Which sample is read in place of one that is bad. Pure.

#include <mdstream/stream/detail/shard_locator.hpp>
#include <mdstream/stream/stream_info.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <vector>

namespace mdstream::inline v0::detail {

/// Whether another sample may be read for this reason: it says something about the sample, not
/// about the machine or a store.
[[nodiscard]] bool is_about_sample(const std::exception_ptr& why) noexcept;

/// The sample that is tried after this one: the next of its shard, the first one after the last. So
/// what is read depends on which samples are bad and on nothing else, such as the world.
[[nodiscard]] inline sample_location following(sample_location at,
                                               const shard_locator& locate) noexcept {
  ++at.index;
  if (at.index == locate.shard_samples(at.shard)) at.index = 0;
  return at;
}

/// So many bad samples one after another end the search: rather the transform is wrong.
inline constexpr std::uint64_t most_bad_in_a_row = 100;

inline constexpr std::size_t most_kept_bad_samples = 64;

/// Counts samples that were bad.
void add_bad_samples(replaced_samples& to, const std::vector<std::int64_t>& ids);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/bad_samples.ipp>
#endif
