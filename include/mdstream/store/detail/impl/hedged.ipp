#pragma once

#include <mdstream/store/detail/adapter.hpp>
#include <mdstream/store/detail/stops.hpp>
#include <mdstream/store/hedged.hpp>
#include <mdstream/version.hpp>

#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

namespace detail {

/// What all calls of a hedged store share. Thread-safe.
class hedge_clock {
 public:
  hedge_clock(runtime& threads, hedge_policy policy) : threads_(threads), timer_(policy) {}

  [[nodiscard]] runtime& threads() const noexcept { return threads_; }
  [[nodiscard]] std::optional<std::chrono::nanoseconds> patience() {
    const std::lock_guard lock(mutex_);
    return timer_.patience();
  }
  void ended(std::chrono::nanoseconds took) {
    const std::lock_guard lock(mutex_);
    timer_.ended(took);
  }
  [[nodiscard]] bool try_second() {
    const std::lock_guard lock(mutex_);
    if (!timer_.try_second()) return false;
    ++seconds_;
    return true;
  }
  [[nodiscard]] std::uint64_t seconds() const {
    const std::lock_guard lock(mutex_);
    return seconds_;
  }

 private:
  runtime& threads_;
  mutable std::mutex mutex_;
  hedge_timer timer_;
  std::uint64_t seconds_ = 0;
};

/// One call, and the second one that it may get.
class hedged_call : public std::enable_shared_from_this<hedged_call> {
 public:
  hedged_call(std::shared_ptr<hedge_clock> clock, any_async_store store, store_call call,
              std::stop_token stop, diagnostics& where, answer_handler done)
      : clock_(std::move(clock)),
        store_(std::move(store)),
        call_(std::move(call)),
        where_(where),
        done_(std::move(done)),
        outer_(std::move(stop), passes_stop{first_.stop, second_.stop}) {}

  void begin() {
    first_.runs = true;
    store_.async_call(call_, first_.stop.get_token(), first_.where, handler(first_));
    const auto patience = clock_->patience();
    const std::lock_guard lock(mutex_);
    if (!patience || !first_.runs) return;
    clock_->threads().after(*patience, first_.stop.get_token(),
                            [self = shared_from_this()](std::error_code stopped) {
                              if (!stopped) self->begin_second();
                            });
  }

 private:
  struct runner {
    std::stop_source stop{};
    diagnostics where{};
    std::error_code code{};
    store_answer answer{};
    bool runs = false;

    [[nodiscard]] bool won() const { return !runs && !code; }
  };

  void begin_second() {
    {
      const std::lock_guard lock(mutex_);
      if (!first_.runs || !clock_->try_second()) return;
      second_.code = {};
      second_.runs = second_sent_ = true;
    }
    memory_.resize(call_.into.size());
    store_call again = call_;
    again.into = memory_;
    store_.async_call(std::move(again), second_.stop.get_token(), second_.where, handler(second_));
  }

  [[nodiscard]] answer_handler handler(runner& who) {
    return [self = shared_from_this(), &who](std::error_code code, store_answer answer) {
      self->ended(who, code, std::move(answer));
    };
  }

  void ended(runner& who, std::error_code code, store_answer answer) {
    bool over = false;
    {
      const std::lock_guard lock(mutex_);
      who.runs = false;
      who.code = code;
      who.answer = std::move(answer);
      // The caller's memory is the first call's until that has ended, whichever has won.
      over = !told_ && !first_.runs && (first_.won() || !second_sent_ || !second_.runs);
      if (over) told_ = true;
    }
    if (over) return tell();
    if (!code) first_.stop.request_stop();
  }

  void tell() {
    second_.stop.request_stop();
    const bool by_second = !first_.won() && second_sent_ && second_.won();
    runner& winner = by_second ? second_ : first_;
    if (by_second && !memory_.empty())
      std::memcpy(call_.into.data(), memory_.data(), memory_.size());
    if (!winner.code) clock_->ended(std::chrono::steady_clock::now() - began_);
    where_ = std::move(winner.where);
    done_(winner.code, std::move(winner.answer));
  }

  const std::shared_ptr<hedge_clock> clock_;
  const any_async_store store_;
  const store_call call_;
  diagnostics& where_;
  answer_handler done_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::vector<std::byte> memory_{};
  std::mutex mutex_;
  runner first_{}, second_{};
  bool second_sent_ = false, told_ = false;
  std::stop_callback<passes_stop> outer_;  // after what it stops
};

class hedged_calls final : public store_adapter {
 public:
  hedged_calls(runtime& threads, any_async_store inner, hedge_policy policy, std::size_t most_bytes)
      : store_adapter(std::move(inner)),
        clock_(std::make_shared<hedge_clock>(threads, policy)),
        most_bytes_(most_bytes) {}

  [[nodiscard]] std::uint64_t seconds() const { return clock_->seconds(); }

  void start(store_call call, std::stop_token stop, diagnostics& where,
             answer_handler done) const override {
    const bool asks = call.verb == store_verb::stat || call.reads_into_memory();
    if (!asks || call.amount() > most_bytes_)
      return inner().async_call(std::move(call), std::move(stop), where, std::move(done));
    std::make_shared<hedged_call>(clock_, inner(), std::move(call), std::move(stop), where,
                                  std::move(done))
        ->begin();
  }

 private:
  std::shared_ptr<hedge_clock> clock_;
  std::size_t most_bytes_;
};

}  // namespace detail

MDSTREAM_INLINE hedged::hedged(runtime& threads, any_async_store inner, hedge_policy policy,
                               std::size_t most_bytes)
    : any_async_store(std::make_shared<const detail::hedged_calls>(threads, std::move(inner),
                                                                   policy, most_bytes)) {}

MDSTREAM_INLINE std::uint64_t hedged::seconds() const {
  return static_cast<const detail::hedged_calls&>(*behind()).seconds();
}

}  // namespace mdstream::inline v0
