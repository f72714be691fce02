#pragma once

/// Keeps a store's calls below a rate.

#include <mdstream/async/runtime.hpp>
#include <mdstream/schedule/detail/token_bucket.hpp>
#include <mdstream/store/detail/adapter.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <utility>

namespace mdstream::inline v0 {

/// How fast `throttled` lets calls pass.
struct throttle_rates {
  double bytes_per_second = 0;  ///< of reads and writes; 0: any
  double calls_per_second = 0;  ///< 0: any
  double burst_seconds = 0.1;   ///< what may come at once after a pause
};

/// A store whose calls wait until they are due. A read counts as what it asks for. The runtime has
/// to outlive the calls.
template <async_store S>
class throttled : public detail::store_adapter<throttled<S>, S> {
 public:
  throttled(runtime& threads, S inner, throttle_rates rates)
      : detail::store_adapter<throttled, S>(std::move(inner)),
        shared_(std::make_shared<shared>(threads, rates)) {}

 private:
  friend class detail::store_adapter<throttled, S>;

  struct shared {
    shared(runtime& t, const throttle_rates& r)
        : threads(t),
          rates(r),
          bytes(r.bytes_per_second, r.bytes_per_second * r.burst_seconds),
          calls(r.calls_per_second, r.calls_per_second * r.burst_seconds) {}

    std::chrono::nanoseconds wait_for(const detail::store_call& call) {
      const auto now = std::chrono::steady_clock::now().time_since_epoch();
      const std::lock_guard lock(mutex);
      std::chrono::nanoseconds longest{0};
      if (rates.bytes_per_second > 0) {
        longest = std::max(longest, bytes.take(static_cast<double>(call.bytes), now));
      }
      if (rates.calls_per_second > 0) longest = std::max(longest, calls.take(1, now));
      return longest;
    }

    runtime& threads;
    const throttle_rates rates;
    std::mutex mutex;
    detail::token_bucket bytes;
    detail::token_bucket calls;
  };

  template <class... Result, class Start>
  void run(detail::store_call call, std::stop_token stop, diagnostics& where, Start start,
           store_handler<Result...> done) const {
    const std::chrono::nanoseconds wait = shared_->wait_for(call);
    if (wait.count() == 0) return start(std::move(stop), where, std::move(done));
    shared_->threads.after(
        wait, stop,
        [common = shared_, stop, &where, start = std::move(start), done = std::move(done)](
            std::error_code) mutable { start(std::move(stop), where, std::move(done)); });
  }

  std::shared_ptr<shared> shared_;
};

}  // namespace mdstream::inline v0
