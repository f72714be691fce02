#pragma once

/// A call without blocking that waits for its answer.

#include <exception>
#include <functional>
#include <optional>
#include <stop_token>

namespace mdstream::inline v0::detail {

/// The stop of a call. Forget it before the call is answered: what `cancel` touches may be gone
/// after that.
class waiting_call {
 public:
  /// `cancel` is called on the thread that requests the stop, or here where it was requested
  /// before.
  void wait_for_stop(std::stop_token stop, std::function<void()> cancel);
  [[nodiscard]] bool stop_requested() const noexcept { return stop_.stop_requested(); }
  void forget_stop() noexcept { on_stop_.reset(); }

  [[nodiscard]] static std::exception_ptr canceled();

 private:
  std::stop_token stop_;
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/waiting_call.ipp>
#endif
