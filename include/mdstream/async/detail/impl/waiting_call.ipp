#pragma once

#include <mdstream/async/detail/waiting_call.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void waiting_call::wait_for_stop(std::stop_token stop,
                                                 unique_function<void()> cancel) {
  stop_ = stop;
  on_stop_.emplace(std::move(stop), std::move(cancel));
}

MDSTREAM_INLINE std::exception_ptr waiting_call::canceled() {
  return exception_of(errc::canceled, "the call was canceled before it was answered");
}

}  // namespace mdstream::inline v0::detail
