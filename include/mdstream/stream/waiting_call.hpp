#pragma once

/// A call without blocking that waits for its answer.

#include <mdstream/core/error.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

namespace mdstream::inline v0 {

/// What a call was given, and the callback of its stop: that calls `owner.cancel(this)`, on the
/// thread that requests it, or in `wait_for_stop` where it was requested before. Forget the stop
/// before the call is answered: the owner may be gone after that.
template <class Owner, class Call>
class waiting_call {
 public:
  explicit waiting_call(Call given) : call(std::move(given)) {}

  void wait_for_stop(Owner& owner, std::stop_token stop) {
    stop_ = stop;
    on_stop_.emplace(std::move(stop), canceler{&owner, this});
  }
  [[nodiscard]] bool stop_requested() const noexcept { return stop_.stop_requested(); }
  void forget_stop() noexcept { on_stop_.reset(); }

  [[nodiscard]] static std::exception_ptr canceled() {
    return std::make_exception_ptr(
        error(errc::canceled, "the call was canceled before its batch was ready"));
  }

  Call call;

 private:
  struct canceler {
    Owner* owner;
    waiting_call* self;
    void operator()() const { owner->cancel(self); }
  };
  std::stop_token stop_;
  std::optional<std::stop_callback<canceler>> on_stop_;
};

}  // namespace mdstream::inline v0
