#pragma once

/// Repeats what a store failed at.

#include <mdstream/async/runtime.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/detail/adapter.hpp>
#include <mdstream/store/detail/shared_retry_budget.hpp>

#include <chrono>
#include <concepts>
#include <memory>
#include <optional>
#include <stop_token>
#include <system_error>
#include <tuple>
#include <utility>

namespace mdstream::inline v0 {

/// A store whose calls are repeated as `retry_policy` says and not before the store wants it
/// (Retry-After), within a budget that all calls of the store share: when little succeeds, little
/// is repeated, and the error's `what` says that the budget is spent. A call that repeats what it
/// is made of, as an upload in parts does, is not repeated as a whole (`diagnostics::is_final`),
/// nor is a stream, which `streamed_read` goes on with. Who repeats calls by other means, as
/// `ranged_read` does, is given the same budget. The diagnostics are those of the last attempt. The
/// runtime has to outlive the calls.
///
/// An `async_create` that finds an object after an attempt that failed is `errc::io_error`: that
/// attempt may have written it, with its answer lost, or somebody else. Who has to know reads it.
template <async_store S>
class retrying : public detail::store_adapter<retrying<S>, S> {
 public:
  retrying(runtime& threads, S inner, retry_policy policy, detail::shared_retry_budget budget = {})
      : detail::store_adapter<retrying, S>(std::move(inner)),
        shared_(std::make_shared<shared>(shared{threads, policy, std::move(budget)})) {}

 private:
  friend class detail::store_adapter<retrying, S>;

  struct shared {
    runtime& threads;
    const retry_policy policy;
    const detail::shared_retry_budget budget;
  };

  template <class Start, class... Result>
  struct attempts : std::enable_shared_from_this<attempts<Start, Result...>> {
    attempts(std::shared_ptr<const shared> s, std::stop_token t, diagnostics& w, Start call,
             store_handler<Result...> d)
        : common(std::move(s)),
          made(common->policy, common->budget),
          stop(std::move(t)),
          where(w),
          start(std::move(call)),
          done(std::move(d)) {}

    void go() {
      where = {};
      start(stop, where,
            store_handler<Result...>(
                [self = this->shared_from_this()](std::error_code code, Result... values) {
                  self->ended(code, std::move(values)...);
                }));
    }

    void ended(std::error_code code, Result... values) {
      if constexpr (creates) {
        if (!code && failed && !(values && ...)) return tell_of_doubt();
        failed = failed || code;
      }
      if (!code) made.succeeded();
      const auto pause = code && !stop.stop_requested() ? made.pause_after(code, where)
                                                        : std::optional<std::chrono::nanoseconds>();
      if (!pause) return done(code, std::move(values)...);
      common->threads.after(*pause, stop, [self = this->shared_from_this()](std::error_code) {
        self->go();  // a stop that came meanwhile ends this attempt at once
      });
    }

    void tell_of_doubt() {
      made.succeeded();
      where = {.what =
                   "there is an object, and whether an attempt that failed has written it is "
                   "not known",
               .url = start.inner->url(start.key),
               .is_final = true};
      done(errc::io_error, false);
    }

    static constexpr bool creates = std::same_as<std::tuple<Result...>, std::tuple<bool>>;

    std::shared_ptr<const shared> common;
    detail::call_attempts made;
    std::stop_token stop;
    diagnostics& where;
    Start start;
    store_handler<Result...> done;
    bool failed = false;  // an attempt before
  };

  template <class... Result, class Start>
  void run(detail::store_call, std::stop_token stop, diagnostics& where, Start start,
           store_handler<Result...> done) const {
    if constexpr (requires { start.take; }) {
      start(std::move(stop), where, std::move(done));
    } else {
      std::make_shared<attempts<Start, Result...>>(shared_, std::move(stop), where,
                                                   std::move(start), std::move(done))
          ->go();
    }
  }

  std::shared_ptr<const shared> shared_;
};

}  // namespace mdstream::inline v0
