#pragma once

#include <mdstream/store/detail/adapter.hpp>
#include <mdstream/store/retrying.hpp>
#include <mdstream/version.hpp>

#include <chrono>
#include <memory>
#include <new>
#include <optional>
#include <stop_token>
#include <system_error>
#include <utility>

namespace mdstream::inline v0 {

namespace detail {

/// One call of a store, made until it succeeds or is given up.
class retried_call : public std::enable_shared_from_this<retried_call> {
 public:
  retried_call(runtime& threads, any_async_store store, call_attempts made, store_call call,
               std::stop_token stop, diagnostics& where, answer_handler done)
      : threads_(threads),
        store_(std::move(store)),
        made_(std::move(made)),
        call_(std::move(call)),
        stop_(std::move(stop)),
        where_(where),
        done_(std::move(done)) {}

  void go() {
    where_ = {};
    store_call again;
    try {
      again = call_;
    } catch (const std::bad_alloc&) {
      return done_(errc::out_of_memory, {});
    }
    store_.async_call(std::move(again), stop_, where_,
                      [self = shared_from_this()](std::error_code code, store_answer answer) {
                        self->ended(code, std::move(answer));
                      });
  }

 private:
  void ended(std::error_code code, store_answer answer) {
    if (!code) {
      made_.succeeded();
      if (call_.create_only && failed_ && !answer.written) return tell_of_doubt();
      return done_(code, std::move(answer));
    }
    failed_ = true;
    if (stop_.stop_requested()) return done_(errc::canceled, {});  // whatever failed meanwhile
    const auto pause = made_.pause_after(code, where_);
    if (!pause) return done_(code, std::move(answer));
    threads_.after(*pause, stop_, [self = shared_from_this()](std::error_code) {
      self->go();  // a stop that came meanwhile ends this attempt at once
    });
  }

  void tell_of_doubt() {
    where_ = {.what =
                  "there is an object, and whether an attempt that failed has written it is not "
                  "known",
              .url = store_.url(call_.key),
              .is_final = true};
    done_(errc::io_error, {});
  }

  runtime& threads_;
  const any_async_store store_;
  call_attempts made_;
  const store_call call_;
  const std::stop_token stop_;
  diagnostics& where_;
  answer_handler done_;
  bool failed_ = false;  // an attempt before
};

class retrying_calls final : public store_adapter {
 public:
  retrying_calls(runtime& threads, any_async_store inner, retry_policy policy,
                 shared_retry_budget budget)
      : store_adapter(std::move(inner)),
        threads_(threads),
        policy_(policy),
        budget_(std::move(budget)) {}

  void start(store_call call, std::stop_token stop, diagnostics& where,
             answer_handler done) const override {
    if (call.take)
      return inner().async_call(std::move(call), std::move(stop), where, std::move(done));
    std::make_shared<retried_call>(threads_, inner(), call_attempts(policy_, budget_),
                                   std::move(call), std::move(stop), where, std::move(done))
        ->go();
  }

 private:
  runtime& threads_;
  const retry_policy policy_;
  const shared_retry_budget budget_;
};

}  // namespace detail

MDSTREAM_INLINE retrying::retrying(runtime& threads, any_async_store inner, retry_policy policy,
                                   detail::shared_retry_budget budget)
    : any_async_store(std::make_shared<const detail::retrying_calls>(threads, std::move(inner),
                                                                     policy, std::move(budget))) {}

}  // namespace mdstream::inline v0
