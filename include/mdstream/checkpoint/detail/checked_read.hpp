#pragma once

/// The ranges that a plan wants, cut so that their checksums can be checked.

#include <mdstream/checkpoint/detail/layout.hpp>
#include <mdstream/checkpoint/detail/read_plan.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mdstream::inline v0::detail {

/// What one request fetches: at most one block of a file.
struct planned_fetch {
  std::uint32_t file = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::optional<std::uint32_t> crc{};  ///< of these bytes, if they are a whole block
  /// Bytes behind the end that come with them: of an element that begins before it.
  std::uint32_t tail = 0;
  std::vector<std::uint32_t> copies{};

  friend bool operator==(const planned_fetch&, const planned_fetch&) = default;
};

/// A block of which nearly all is wanted is fetched as a whole and checked, with `all` any block of
/// which something is wanted.
[[nodiscard]] std::vector<planned_fetch> plan_fetches(const data_layout& layout,
                                                      const read_plan& plan, bool all);

/// The most bytes that an element of a cast has behind the end of a block.
inline constexpr std::uint32_t most_tail = 7;

/// Files that were written elsewhere may have elements across the ends of blocks: a cast needs them
/// whole. Throws `errc::corrupt` for one in a file with checksums, which nobody writes so.
void add_tail(planned_fetch& to, const data_file& file, const strided_copy& copy,
              const element_cast& cast);

/// All blocks of all files that have checksums.
[[nodiscard]] std::vector<planned_fetch> plan_verification(const data_layout& layout);

/// `tensors "a", "b" and 5 more`: those of which bytes lie in a range of a file.
[[nodiscard]] std::string tensors_within(const data_layout& layout, std::uint32_t file,
                                         std::uint64_t begin, std::uint64_t end);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/checkpoint/detail/impl/checked_read.ipp>
#endif
