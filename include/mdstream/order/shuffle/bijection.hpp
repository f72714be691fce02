#pragma once

/// The shuffle "bijection": this library's own, for runs that need no other's order. Every place is
/// computed by itself in constant time, with memory in proportion to the shards.

#include <mdstream/order/detail/sequence.hpp>
#include <mdstream/order/shuffle_task.hpp>
#include <mdstream/order/shuffler.hpp>

#include <string_view>

namespace mdstream::inline v0::shuffle {

/// As py1e, shards are dealt to canonical nodes once for the run and put into a new order in every
/// epoch, and samples move inside a window of one block size. Nothing is drawn one after the other:
/// each step is a keyed permutation, so any place is known without those before it.
///
///     using policies = mds::policies<mds::shuffle::bijection>;
struct bijection {
  [[nodiscard]] static constexpr std::string_view name() noexcept { return "bijection"; }
  /// O(shards / 2,048 + canonical nodes).
  [[nodiscard]] mdstream::detail::any_sequence open(const shuffle_task& task) const;
};

static_assert(shuffler<bijection>);

}  // namespace mdstream::inline v0::shuffle

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/order/detail/impl/bijection.ipp>
#endif
