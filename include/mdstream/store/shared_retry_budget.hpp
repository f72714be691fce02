#pragma once

/// The retry budget of a store, for all who repeat what they ask of it.

#include <mdstream/core/detail/chance.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/schedule/retry_budget.hpp>
#include <mdstream/schedule/trouble.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace mdstream::inline v0 {

/// A `retry_budget` of which copies are the same. Thread-safe.
class shared_retry_budget {
 public:
  /// Hears of each failed request that will be repeated. Called from any thread; must not throw.
  using trouble_function = std::function<void(const std::error_code&, const diagnostics&)>;

  shared_retry_budget(retry_budget budget = retry_budget(), trouble_function on_trouble = {})
      : state_(std::make_shared<state>(budget, std::move(on_trouble))) {}

  /// Requests that were repeated so far.
  [[nodiscard]] std::uint64_t repeated() const {
    const std::lock_guard lock(state_->mutex);
    return state_->repeated;
  }
  void repeats(const std::error_code& failure, const diagnostics& where) const {
    {
      const std::lock_guard lock(state_->mutex);
      ++state_->repeated;
    }
    if (state_->on_trouble) state_->on_trouble(failure, where);
  }

  void succeeded() const {
    const std::lock_guard lock(state_->mutex);
    state_->budget.succeeded();
  }
  void give_back(unsigned repetitions) const {
    const std::lock_guard lock(state_->mutex);
    state_->budget.give_back(repetitions);
  }
  /// Takes one repetition; false when there is none left.
  [[nodiscard]] bool try_take() const {
    const std::lock_guard lock(state_->mutex);
    return state_->budget.try_take();
  }

 private:
  struct state {
    state(retry_budget b, trouble_function f) : budget(b), on_trouble(std::move(f)) {}
    std::mutex mutex{};
    retry_budget budget;
    std::uint64_t repeated = 0;
    const trouble_function on_trouble;
  };

  std::shared_ptr<state> state_;
};

namespace detail {

/// Warns of a store's first transient error at once, and once a minute while they go on: what
/// failed, and for how long it will be tried.
[[nodiscard]] inline shared_retry_budget::trouble_function tells_of_trouble(
    std::function<void(const std::string&)> warn, std::string stream,
    std::chrono::nanoseconds patience) {
  if (!warn || patience.count() == 0) return {};
  struct state {
    std::mutex mutex{};
    trouble_log log{};
  };
  return
      [warn = std::move(warn), stream = std::move(stream), patience,
       mine = std::make_shared<state>()](const std::error_code& failure, const diagnostics& where) {
        if (!is_transient(failure)) return;
        {
          const std::lock_guard lock(mine->mutex);
          if (!mine->log.failed(std::chrono::steady_clock::now())) return;
        }
        diagnostics what = where;
        what.stream = stream;
        what.cause.clear();
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience).count();
        warn("a store has trouble: " + std::string(error(failure, std::move(what)).what()) +
             "; a request is repeated for up to " + std::to_string(seconds) + " s");
      };
}

}  // namespace detail

/// The attempts of one call: whether and when the next one is made, as a policy says and within a
/// budget. Who is patient does not fail where the budget is spent, but pauses as long as the policy
/// allows. Not thread-safe.
class call_attempts {
 public:
  using clock = std::chrono::steady_clock;

  call_attempts(retry_policy policy, shared_retry_budget budget)
      : policy_(policy), budget_(std::move(budget)) {}

  /// The pause before the next attempt after one that failed; none where that was the last. The
  /// next one takes of the budget, but for one that goes on behind bytes that came, and for one
  /// that the store (`where.retry_after`) wants later than the policy does. Where the budget has
  /// none left, `where` says so.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> pause_after(
      const std::error_code& failure, diagnostics& where, clock::time_point now = clock::now()) {
    const bool goes_on = std::exchange(goes_on_, false);
    if (where.is_final) return std::nullopt;
    const double chance = detail::chance();
    const std::chrono::nanoseconds futile = now - *(since_ ? since_ : since_ = now);
    ++failed_;
    const auto pause_for = [&](std::optional<std::chrono::milliseconds> asked) {
      return pause_before_retry(policy_, failed_, failure, chance, asked, before_, futile);
    };
    const auto own = pause_for(std::nullopt);
    auto pause = pause_for(where.retry_after);
    const bool waits = policy_.patience.count() > 0 && is_transient(failure);
    if (!own || !pause) {
      if (waits) tell_of_end(futile, where);
      return std::nullopt;
    }
    const bool told =
        where.retry_after && *own < *where.retry_after && *where.retry_after <= *pause;
    if (!goes_on && !told && !take()) {
      if (!waits) {
        if (where.what.empty()) where.what = failure.message();
        where.what += "; the retry budget is spent";
        return std::nullopt;
      }
      pause = std::min(std::max(*pause, policy_.longest), policy_.patience - futile);
    }
    before_ = *own;
    budget_.repeats(failure, where);
    return pause;
  }

  /// Bytes came in this attempt: the repetitions until here were of use, and the next failure is
  /// the first again.
  void led_on() {
    failed_ = 0;
    before_ = {};
    since_.reset();
    goes_on_ = true;
    if (taken_ > 0) budget_.give_back(std::exchange(taken_, 0));
  }

  void succeeded() {
    led_on();
    budget_.succeeded();
  }

 private:
  [[nodiscard]] bool take() {
    if (!budget_.try_take()) return false;
    ++taken_;
    return true;
  }

  /// Says for how long it was tried, and that nobody needs to go on with it.
  void tell_of_end(std::chrono::nanoseconds futile, diagnostics& where) const {
    if (!where.cause.empty()) where.cause += '\n';
    where.cause +=
        "this was tried " + std::to_string(failed_) + " times within " +
        std::to_string(std::chrono::duration_cast<std::chrono::seconds>(futile).count()) + " s";
    where.is_final = true;
  }

  retry_policy policy_;
  shared_retry_budget budget_;
  unsigned failed_ = 0, taken_ = 0;
  std::chrono::nanoseconds before_{0};
  std::optional<clock::time_point> since_{};  // the call brings nothing
  bool goes_on_ = false;
};

}  // namespace mdstream::inline v0
