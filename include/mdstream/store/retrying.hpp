#pragma once

/// Repeats what a store failed at.

#include <mdstream/async/runtime.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/schedule/retry_budget.hpp>
#include <mdstream/store/adapter.hpp>

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stop_token>
#include <system_error>
#include <utility>

namespace mdstream::inline v0 {

/// A store whose calls are repeated as `retry_policy` says and not before the store wants it
/// (Retry-After), within a budget that all calls of the
/// store share: when little succeeds, little is repeated. The diagnostics are those of the last
/// attempt. The runtime has to outlive the calls.
template <async_store S>
class retrying : public store_adapter<retrying<S>, S> {
 public:
  retrying(runtime& threads, S inner, retry_policy policy, retry_budget budget = retry_budget())
      : store_adapter<retrying, S>(std::move(inner)),
        shared_(std::make_shared<shared>(threads, policy, budget)) {}

 private:
  friend class store_adapter<retrying, S>;

  struct shared {
    shared(runtime& t, retry_policy p, retry_budget b) : threads(t), policy(p), budget(b) {}

    std::optional<std::chrono::nanoseconds> after(unsigned failed, const std::error_code& code,
                                                  const diagnostics& where,
                                                  std::chrono::nanoseconds before) {
      const std::lock_guard lock(mutex);
      const auto pause =
          pause_before_retry(policy, failed, code, std::uniform_real_distribution<>()(random),
                             where.retry_after, before);
      return pause && budget.try_take() ? pause : std::nullopt;
    }
    void succeeded() {
      const std::lock_guard lock(mutex);
      budget.succeeded();
    }

    runtime& threads;
    const retry_policy policy;
    std::mutex mutex;
    retry_budget budget;
    std::minstd_rand random{std::random_device{}()};
  };

  template <class Start, class... Result>
  struct attempts : std::enable_shared_from_this<attempts<Start, Result...>> {
    attempts(std::shared_ptr<shared> s, std::stop_token t, diagnostics& w, Start call,
             store_handler<Result...> d)
        : common(std::move(s)),
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
      if (!code) common->succeeded();
      ++failed;
      const auto pause = code && !stop.stop_requested() ? common->after(failed, code, where, before)
                                                        : std::optional<std::chrono::nanoseconds>();
      if (!pause) return done(code, std::move(values)...);
      before = *pause;
      common->threads.after(*pause, stop, [self = this->shared_from_this()](std::error_code) {
        self->go();  // a stop that came meanwhile ends this attempt at once
      });
    }

    std::shared_ptr<shared> common;
    std::stop_token stop;
    diagnostics& where;
    Start start;
    store_handler<Result...> done;
    unsigned failed = 0;
    std::chrono::nanoseconds before{0};
  };

  template <class... Result, class Start>
  void run(store_call, std::stop_token stop, diagnostics& where, Start start,
           store_handler<Result...> done) const {
    std::make_shared<attempts<Start, Result...>>(shared_, std::move(stop), where, std::move(start),
                                                 std::move(done))
        ->go();
  }

  std::shared_ptr<shared> shared_;
};

}  // namespace mdstream::inline v0
