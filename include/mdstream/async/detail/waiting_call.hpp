#pragma once

/// A call without blocking that waits for its answer.

#include <mdstream/core/detail/unique_function.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

namespace mdstream::inline v0::detail {

/// The stop of a call. Forget it before the call is answered: what `cancel` touches may be gone
/// after that.
class waiting_call {
 public:
  /// `cancel` is called on the thread that requests the stop, or here where it was requested
  /// before.
  void wait_for_stop(std::stop_token stop, unique_function<void()> cancel);
  /// The same for one of the calls that wait in a queue: `queue->cancel(call)` is called where
  /// neither is gone.
  template <class Queue, class Call>
  static void wait_for_stop(std::stop_token stop, std::weak_ptr<Queue> queue,
                            const std::shared_ptr<Call>& call) {
    if (!stop.stop_possible()) return;
    call->wait_for_stop(std::move(stop),
                        [queue = std::move(queue), weak_call = std::weak_ptr(call)] {
                          const auto all = queue.lock();
                          const auto one = weak_call.lock();  // goes first, and this with it
                          if (all && one) all->cancel(one);
                        });
  }
  [[nodiscard]] bool stop_requested() const noexcept { return stop_.stop_requested(); }
  void forget_stop() noexcept { on_stop_.reset(); }

  [[nodiscard]] static std::exception_ptr canceled();

 private:
  std::stop_token stop_;
  std::optional<std::stop_callback<unique_function<void()>>> on_stop_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/async/detail/impl/waiting_call.ipp>
#endif
