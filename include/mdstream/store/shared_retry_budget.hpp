#pragma once

/// The retry budget of a store, for all who repeat what they ask of it.

#include <mdstream/core/detail/chance.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/schedule/retry_budget.hpp>

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

namespace mdstream::inline v0 {

/// A `retry_budget` of which copies are the same. Thread-safe.
class shared_retry_budget {
 public:
  shared_retry_budget(retry_budget budget = retry_budget())
      : state_(std::make_shared<state>(budget)) {}

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
    explicit state(retry_budget b) : budget(b) {}
    std::mutex mutex{};
    retry_budget budget;
  };

  std::shared_ptr<state> state_;
};

/// The attempts of one call: whether and when the next one is made, as a policy says and within a
/// budget. Not thread-safe.
class call_attempts {
 public:
  call_attempts(retry_policy policy, shared_retry_budget budget)
      : policy_(policy), budget_(std::move(budget)) {}

  /// The pause before the next attempt after one that failed; none where that was the last. The
  /// next one takes of the budget, but for one that goes on behind bytes that came, and for one
  /// that the store (`where.retry_after`) wants later than the policy does. Where the budget has
  /// none left, `where` says so.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> pause_after(const std::error_code& failure,
                                                                    diagnostics& where) {
    const bool goes_on = std::exchange(goes_on_, false);
    if (where.is_final) return std::nullopt;
    const double chance = detail::chance();
    const auto own = pause_before_retry(policy_, ++failed_, failure, chance, std::nullopt, before_);
    const auto pause =
        pause_before_retry(policy_, failed_, failure, chance, where.retry_after, before_);
    if (!own || !pause) return std::nullopt;
    const bool told =
        where.retry_after && *own < *where.retry_after && *where.retry_after <= *pause;
    if (!goes_on && !told && !take(failure, where)) return std::nullopt;
    before_ = *own;
    return pause;
  }

  /// Bytes came in this attempt: the repetitions until here were of use, and the next failure is
  /// the first again.
  void led_on() {
    failed_ = 0;
    before_ = {};
    goes_on_ = true;
    if (taken_ > 0) budget_.give_back(std::exchange(taken_, 0));
  }

  void succeeded() {
    led_on();
    budget_.succeeded();
  }

 private:
  [[nodiscard]] bool take(const std::error_code& failure, diagnostics& where) {
    if (budget_.try_take()) {
      ++taken_;
      return true;
    }
    if (where.what.empty()) where.what = failure.message();
    where.what += "; the retry budget is spent";
    return false;
  }

  retry_policy policy_;
  shared_retry_budget budget_;
  unsigned failed_ = 0, taken_ = 0;
  std::chrono::nanoseconds before_{0};
  bool goes_on_ = false;
};

}  // namespace mdstream::inline v0
