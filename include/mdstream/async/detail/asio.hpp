#pragma once

/// The place that includes Asio; the parts that few need are in socket_watch.hpp and timer.hpp. It
/// hides what changed between Asio's versions (1.18 and later) and holds the two helpers with which
/// a public call takes any completion token.

#include <mdstream/core/detail/handler_memory.hpp>
#include <mdstream/core/detail/unique_function.hpp>
#include <mdstream/version.hpp>

#ifndef ASIO_STANDALONE
#define ASIO_STANDALONE
#endif

#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/dispatch.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/version.hpp>
#if ASIO_VERSION >= 101900
#include <asio/associated_cancellation_slot.hpp>
#include <asio/cancellation_type.hpp>
#endif
#include <optional>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>

static_assert(ASIO_VERSION >= 101800, "mdstream needs Asio 1.18 or later");

namespace mdstream::inline v0::detail {

/// A handler for Asio that calls `F`, in the memory of handlers.
template <class F>
class io_task {
 public:
  using allocator_type = handler_allocator<void>;

  explicit io_task(F f) : function_(std::move(f)) {}
  [[nodiscard]] allocator_type get_allocator() const noexcept { return {}; }
  template <class... Args>
  void operator()(Args&&... args) {
    function_(std::forward<Args>(args)...);
  }

 private:
  F function_;
};

/// Starts an operation for any completion token (a callback, `asio::use_future`,
/// `asio::use_awaitable`, …) and returns what the token asks for. `initiation` is called with the
/// completion handler, whose signature is `Signature`; turn it into a plain function with
/// `deliver_on`.
template <class Signature, class Token, class Initiation>
auto initiate(Token&& token, Initiation&& initiation) {
  return asio::async_initiate<Token, Signature>(std::forward<Initiation>(initiation), token);
}

template <class Executor, class Handler, class Signature>
class completion;

template <class Executor, class Handler, class... Args>
class completion<Executor, Handler, void(Args...)> {
 public:
  using target_executor = asio::associated_executor_t<Handler, Executor>;

  completion(const Executor& fallback, Handler handler)
      : target_(asio::get_associated_executor(handler, fallback)), handler_(std::move(handler)) {
    if constexpr (std::is_same_v<target_executor, Executor>)
      if (target_ == fallback) return;
    work_.emplace(target_);
  }

  void operator()(Args... args) {
    asio::dispatch(target_, io_task([handler = std::move(handler_),
                                     values = std::tuple<Args...>(std::move(args)...)]() mutable {
                     std::apply(std::move(handler), std::move(values));
                   }));
    work_.reset();  // not before: a context that has no more to do ends, and this thread is in it
  }

 private:
  target_executor target_;
  /// None where the handler has no executor of its own. A runtime does not wait for work, and the
  /// handler may end it before this thread has said that the work is done.
  std::optional<asio::executor_work_guard<target_executor>> work_;
  Handler handler_;
};

/// A function of `Signature` to be called once, from any thread: it runs `handler` on the
/// handler's associated executor, which it keeps at work until then, or on `fallback`, a runtime's,
/// where it has none.
template <class Signature, class Executor, class Handler>
[[nodiscard]] unique_function<Signature> deliver_on(const Executor& fallback, Handler handler) {
  return detail::completion<Executor, Handler, Signature>(fallback, std::move(handler));
}

/// Lets the cancellation slot of `handler`, if it has one, request a stop of `source`. Asio has
/// slots since 1.19: with an older one a call cannot be cancelled.
template <class Handler>
void stop_on_cancel([[maybe_unused]] const Handler& handler,
                    [[maybe_unused]] const std::stop_source& source) {
#if ASIO_VERSION >= 101900
  auto slot = asio::get_associated_cancellation_slot(handler);
  if (slot.is_connected()) {
    slot.assign([source](asio::cancellation_type) mutable { source.request_stop(); });
  }
#endif
}

}  // namespace mdstream::inline v0::detail
