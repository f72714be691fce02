#pragma once

#include <mdstream/launch/environment.hpp>
#include <mdstream/version.hpp>

#include <charconv>

namespace mdstream::inline v0::launch::detail {

MDSTREAM_INLINE std::uint64_t parse_number(std::string_view name, std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || failure != std::errc{} || end != text.data() + text.size() ||
      value > 0xffff'ffff)
    mdstream::detail::refuse("environment: " + std::string(name) + "=" + std::string(text) +
                             " is not a number from 0 to 4294967295");
  return value;
}

MDSTREAM_INLINE bool is_half(const claim& told) noexcept {
  if (told.rank.has_value() == told.num_ranks.has_value()) return false;
  // A script that is no rank, or a lone process, has the first rank's number or none.
  return !told.from.may_start_others || told.rank.value_or(0) != 0;
}

MDSTREAM_INLINE void refuse_half(const claim& told) {
  const std::string_view there = told.rank ? told.from.rank : told.from.num_ranks;
  const std::string_view missing = told.rank ? told.from.num_ranks : told.from.rank;
  const std::string which = "say in the program which world it is";
  if (missing.empty())
    mdstream::detail::refuse("environment: " + std::string(there) +
                             " is set, but nothing says how many ranks there are: " + which);
  mdstream::detail::refuse("environment: " + std::string(there) + " is set, but not " +
                           std::string(missing) + ": set both or neither, or " + which);
}

MDSTREAM_INLINE void complete_nodes(claim& chosen, const claim& outer) {
  if (chosen.ranks_per_node || chosen.rank != outer.rank || chosen.num_ranks != outer.num_ranks)
    return;
  chosen.ranks_per_node = outer.ranks_per_node;
}

MDSTREAM_INLINE void check_agreement(std::string_view a, std::string_view b,
                                     const std::optional<std::uint64_t>& x,
                                     const std::optional<std::uint64_t>& y) {
  if (x && y && *x != *y)
    mdstream::detail::refuse("environment: " + std::string(a) + "=" + std::to_string(*x) +
                             " contradicts " + std::string(b) + "=" + std::to_string(*y));
}

MDSTREAM_INLINE void check_agreement(const claim& a, const claim& b) {
  if (a.num_ranks == b.num_ranks) {
    check_agreement(a.from.rank, b.from.rank, a.rank, b.rank);
    check_agreement(a.from.ranks_per_node, b.from.ranks_per_node, a.ranks_per_node,
                    b.ranks_per_node);
  } else if (*a.num_ranks % *b.num_ranks != 0) {
    check_agreement(a.from.num_ranks, b.from.num_ranks, a.num_ranks, b.num_ranks);
  }
}

}  // namespace mdstream::inline v0::launch::detail
