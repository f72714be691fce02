#pragma once

/// Adapters that limit the number of concurrent calls of a store: to a fixed number, or to what the
/// store can handle.

#include <mdstream/schedule/detail/adaptive_limit.hpp>
#include <mdstream/store/any_async_store.hpp>

#include <cstddef>
#include <memory>

namespace mdstream::inline v0 {

namespace detail {

class call_gate;

/// The common part of adapters that queue calls.
class gated : public any_async_store {
 public:
  /// Concurrent calls now.
  [[nodiscard]] std::size_t in_flight() const;
  /// The limit of concurrent calls now.
  [[nodiscard]] std::size_t limit() const;

 protected:
  gated(any_async_store inner, std::shared_ptr<call_gate> gate);

  [[nodiscard]] const std::shared_ptr<call_gate>& gate() const noexcept;
};

}  // namespace detail

/// Runs at most `most` calls of a store at a time; the others wait in their order. A stop ends a
/// waiting call, on the thread that requests it. A `most` of 0 is as 1.
///
///     const mds::limited four(store, 4);  // four.in_flight(): calls now
class limited final : public detail::gated {
 public:
  limited(any_async_store inner, std::size_t most);
};

/// Runs as many calls of a store at a time as it can handle: fewer while it answers that it is
/// overloaded, then more again, see `adaptive_limit`. Put it between `retrying` and the store, so
/// that it sees every failure: `retrying(threads, adaptive(store), policy)`.
///
///     const mds::retrying patient(threads, mds::adaptive(store), policy);
class adaptive final : public detail::gated {
 public:
  explicit adaptive(any_async_store inner, detail::adaptive_limits limits = {});
  /// For another store of the same server: its calls and those of `beside` share one limit.
  adaptive(any_async_store inner, const adaptive& beside);
};

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/limited.ipp>
#endif
