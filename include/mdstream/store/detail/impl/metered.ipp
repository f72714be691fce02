#pragma once

#include <mdstream/store/detail/adapter.hpp>
#include <mdstream/store/metered.hpp>
#include <mdstream/version.hpp>

#include <atomic>
#include <memory>
#include <stop_token>
#include <system_error>
#include <utility>

namespace mdstream::inline v0 {

namespace detail {

class metered_calls final : public store_adapter {
 public:
  using store_adapter::store_adapter;

  [[nodiscard]] store_metrics metrics() const {
    const counters& seen = *counters_;
    return {.calls = seen.calls.load(),
            .failures = seen.failures.load(),
            .bytes_read = seen.bytes_read.load(),
            .bytes_written = seen.bytes_written.load(),
            .in_flight = seen.in_flight.load(),
            .busy = std::chrono::nanoseconds(seen.busy.load())};
  }

  void start(store_call call, std::stop_token stop, diagnostics& where,
             answer_handler done) const override {
    ++counters_->in_flight;
    if (call.take) {
      call.take = [all = counters_, take = std::move(call.take)](const object_version& found,
                                                                 bytes_view bytes) {
        all->bytes_read += bytes.size();
        take(found, bytes);
      };
    }
    const std::uint64_t sent = call.bytes.size();
    inner().async_call(std::move(call), std::move(stop), where,
                       [all = counters_, sent, began = std::chrono::steady_clock::now(),
                        done = std::move(done)](std::error_code code, store_answer answer) mutable {
                         const auto took = std::chrono::steady_clock::now() - began;
                         all->busy += std::chrono::nanoseconds(took).count();
                         --all->in_flight;
                         ++all->calls;
                         if (code) {
                           ++all->failures;
                         } else {
                           all->bytes_read += answer.bytes;
                           if (answer.written) all->bytes_written += sent;
                         }
                         done(code, std::move(answer));
                       });
  }

 private:
  struct counters {
    std::atomic<std::uint64_t> calls{0}, failures{0}, bytes_read{0}, bytes_written{0}, in_flight{0};
    std::atomic<std::int64_t> busy{0};
  };

  std::shared_ptr<counters> counters_ = std::make_shared<counters>();
};

}  // namespace detail

MDSTREAM_INLINE metered::metered(any_async_store inner)
    : any_async_store(std::make_shared<const detail::metered_calls>(std::move(inner))) {}

MDSTREAM_INLINE store_metrics metered::metrics() const {
  return static_cast<const detail::metered_calls&>(*behind()).metrics();
}

}  // namespace mdstream::inline v0
