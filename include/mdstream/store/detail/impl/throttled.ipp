#pragma once

#include <mdstream/schedule/detail/token_bucket.hpp>
#include <mdstream/store/detail/adapter.hpp>
#include <mdstream/store/throttled.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <utility>

namespace mdstream::inline v0 {

namespace detail {

class throttled_calls final : public store_adapter {
 public:
  throttled_calls(runtime& threads, any_async_store inner, const throttle_rates& rates)
      : store_adapter(std::move(inner)),
        threads_(threads),
        rates_(rates),
        bytes_(rates.bytes_per_second, rates.bytes_per_second * rates.burst_seconds),
        calls_(rates.calls_per_second, rates.calls_per_second * rates.burst_seconds) {}

  void start(store_call call, std::stop_token stop, diagnostics& where,
             answer_handler done) const override {
    const std::chrono::nanoseconds wait = wait_for(call);
    if (wait.count() == 0)
      return inner().async_call(std::move(call), std::move(stop), where, std::move(done));
    threads_.after(wait, stop,
                   [inner = inner(), call = std::move(call), stop, &where,
                    done = std::move(done)](std::error_code) mutable {
                     inner.async_call(std::move(call), std::move(stop), where, std::move(done));
                   });
  }

 private:
  [[nodiscard]] std::chrono::nanoseconds wait_for(const store_call& call) const {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    const std::lock_guard lock(mutex_);
    std::chrono::nanoseconds longest{0};
    if (rates_.bytes_per_second > 0)
      longest = std::max(longest, bytes_.take(static_cast<double>(call.amount()), now));
    if (rates_.calls_per_second > 0) longest = std::max(longest, calls_.take(1, now));
    return longest;
  }

  runtime& threads_;
  const throttle_rates rates_;
  mutable std::mutex mutex_;
  mutable token_bucket bytes_, calls_;
};

}  // namespace detail

MDSTREAM_INLINE throttled::throttled(runtime& threads, any_async_store inner, throttle_rates rates)
    : any_async_store(
          std::make_shared<const detail::throttled_calls>(threads, std::move(inner), rates)) {}

}  // namespace mdstream::inline v0
