#pragma once

/// Bounds how many calls of a store are under way: by a number, or by what the store bears.

#include <mdstream/schedule/detail/adaptive_limit.hpp>
#include <mdstream/store/any_async_store.hpp>

#include <cstddef>
#include <memory>

namespace mdstream::inline v0 {

namespace detail {

class call_gate;

/// What adapters that hold calls back have in common.
class gated : public any_async_store {
 public:
  /// Calls under way now.
  [[nodiscard]] std::size_t in_flight() const;
  /// Calls that may be under way now.
  [[nodiscard]] std::size_t limit() const;

 protected:
  gated(any_async_store inner, std::shared_ptr<call_gate> gate);

  [[nodiscard]] const std::shared_ptr<call_gate>& gate() const noexcept;
};

}  // namespace detail

/// A store with at most `most` calls under way; the others wait in the order in which they came.
/// A stop ends a waiting call, on the thread that requests it.
class limited final : public detail::gated {
 public:
  limited(any_async_store inner, std::size_t most);
};

/// A store with as many calls under way as it bears: fewer while it answers that it is
/// overloaded, more again when it does not, see `adaptive_limit`. Stands between `retrying` and the
/// store, so that it sees every failure: `retrying(threads, adaptive(store), policy)`.
class adaptive final : public detail::gated {
 public:
  explicit adaptive(any_async_store inner, detail::adaptive_limits limits = {});
  /// Another store of the same server: its calls and those of `beside` are bounded together.
  adaptive(any_async_store inner, const adaptive& beside);
};

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/limited.ipp>
#endif
