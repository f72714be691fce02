#pragma once

/// The retry budget of a store, for all that repeat what they ask of it.

#include <mdstream/core/error.hpp>
#include <mdstream/schedule/detail/retry_budget.hpp>
#include <mdstream/schedule/retry.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::detail {

/// A `retry_budget` of which copies are the same. Thread-safe.
class shared_retry_budget {
 public:
  /// Hears of each failed request that will be repeated. Called from any thread; must not throw.
  using trouble_function = std::function<void(const std::error_code&, const diagnostics&)>;

  shared_retry_budget(retry_budget budget = retry_budget(), trouble_function on_trouble = {})
      : state_(std::make_shared<state>(budget, std::move(on_trouble))) {}

  /// Requests that were repeated so far.
  [[nodiscard]] std::uint64_t repeated() const;
  void repeats(const std::error_code& failure, const diagnostics& where) const;

  void succeeded() const;
  void give_back(unsigned repetitions) const;
  /// Takes one repetition; false when there is none left.
  [[nodiscard]] bool try_take() const;

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

/// Warns of a store's first transient error at once, and once a minute while they go on: what
/// failed, and for how long it will be tried.
[[nodiscard]] shared_retry_budget::trouble_function tells_of_trouble(
    std::function<void(const std::string&)> warn, std::string stream,
    std::chrono::nanoseconds patience);

/// The attempts of one call: whether and when the next one is made, as a policy says and within a
/// budget. A patient call does not fail where the budget is spent, but pauses as long as the policy
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
      const std::error_code& failure, diagnostics& where, clock::time_point now = clock::now());

  /// Bytes came in this attempt: the repetitions until here were of use, and the next failure is
  /// the first again.
  void led_on();

  void succeeded();

 private:
  [[nodiscard]] bool take();

  /// Says for how long it was tried, and that nobody needs to go on with it.
  void tell_of_end(std::chrono::nanoseconds futile, diagnostics& where) const;

  retry_policy policy_;
  shared_retry_budget budget_;
  unsigned failed_ = 0;  // attempts that count as such
  unsigned waited_ = 0;  // those that do not: what failed is waited for
  unsigned taken_ = 0;
  std::chrono::nanoseconds before_{0};
  std::optional<clock::time_point> since_{};  // the call brings nothing
  bool goes_on_ = false;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/shared_retry_budget.ipp>
#endif
