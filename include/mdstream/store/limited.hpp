#pragma once

/// Bounds how many calls of a store are under way: by a number, or by what the store bears.

#include <mdstream/schedule/detail/adaptive_limit.hpp>
#include <mdstream/store/detail/adapter.hpp>
#include <mdstream/store/detail/call_gate.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <system_error>
#include <utility>

namespace mdstream::inline v0 {

namespace detail {

/// What adapters that hold calls back have in common. `Limit` says how many may be under way.
template <class Adapter, async_store S, class Limit>
class limited_by : public store_adapter<Adapter, S> {
 public:
  /// Calls under way now.
  [[nodiscard]] std::size_t in_flight() const { return gate_->in_flight(); }

  /// Calls that may be under way now.
  [[nodiscard]] std::size_t limit() const { return gate_->most(); }

  /// For `store_adapter`.
  template <class... Result, class Start>
  void run(store_call, std::stop_token stop, diagnostics& where, Start start,
           store_handler<Result...> done) const {
    const std::shared_ptr<call_gate<Limit>> gate = gate_;  // the call may drop this adapter
    const std::stop_token waits_with = stop;
    gate->begin(
        waits_with, [gate, stop = std::move(stop), &where, start = std::move(start),
                     done = std::move(done)](std::optional<typename Limit::ticket> ticket) mutable {
          if (!ticket) return canceled(where, std::move(done));
          start(stop, where,
                store_handler<Result...>([gate, ticket = *ticket, done = std::move(done)](
                                             std::error_code code, Result... values) mutable {
                  done(code, std::move(values)...);
                  gate->end(ticket, code);
                }));
        });
  }

 protected:
  limited_by(S inner, Limit limit)
      : store_adapter<Adapter, S>(std::move(inner)),
        gate_(std::make_shared<call_gate<Limit>>(std::move(limit))) {}
  limited_by(S inner, const limited_by& beside)
      : store_adapter<Adapter, S>(std::move(inner)), gate_(beside.gate_) {}

 private:
  template <class... Result>
  static void canceled(diagnostics& where, store_handler<Result...> done) {
    where = {.what = "the call was cancelled while it waited for others"};
    done(errc::canceled, Result()...);
  }

  std::shared_ptr<call_gate<Limit>> gate_;
};

}  // namespace detail

/// A store with at most `most` calls under way; the others wait in the order in which they came.
/// A stop ends a waiting call, on the thread that requests it.
template <async_store S>
class limited : public detail::limited_by<limited<S>, S, detail::fixed_limit> {
 public:
  limited(S inner, std::size_t most)
      : detail::limited_by<limited, S, detail::fixed_limit>(std::move(inner),
                                                            detail::fixed_limit(most)) {}
};

/// A store with as many calls under way as it bears: fewer while it answers that it is
/// overloaded, more again when it does not, see `adaptive_limit`. Stands between `retrying` and the
/// store, so that it sees every failure: `retrying(threads, adaptive(store), policy)`.
template <async_store S>
class adaptive : public detail::limited_by<adaptive<S>, S, detail::adaptive_limit> {
 public:
  explicit adaptive(S inner, detail::adaptive_limits limits = {})
      : detail::limited_by<adaptive, S, detail::adaptive_limit>(std::move(inner),
                                                                detail::adaptive_limit(limits)) {}
  /// Another store of the same server: its calls and those of `beside` are bounded together.
  adaptive(S inner, const adaptive& beside)
      : detail::limited_by<adaptive, S, detail::adaptive_limit>(std::move(inner), beside) {}
};

}  // namespace mdstream::inline v0
