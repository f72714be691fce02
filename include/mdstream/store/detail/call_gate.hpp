#pragma once

/// Holds calls back until they may be under way.

#include <mdstream/async/detail/waiting_call.hpp>
#include <mdstream/core/detail/handler_memory.hpp>
#include <mdstream/core/detail/unique_function.hpp>
#include <mdstream/schedule/detail/adaptive_limit.hpp>
#include <mdstream/schedule/detail/line_limit.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// Where calls stand that wait: those that are needed now come first, then those of the lowest
/// ticket. Shared by the calls of one fetch; `now` may change while they wait.
struct call_place {
  std::uint64_t ticket = 0;
  std::atomic<bool> now{false};
};

/// Lets as many calls in as the store bears, and no more than bring all that the line carries where
/// that is measured: by their places, those of equal places and those without one in the order in
/// which they came. Owned by a shared pointer, which the begin or the end of a call holds.
/// Thread-safe.
class call_gate : public std::enable_shared_from_this<call_gate> {
 public:
  using ticket = adaptive_limit::ticket;
  /// Makes the call; without a ticket where it was stopped while it waited, on the thread that
  /// requested the stop. One with a ticket is under way until its `end`.
  using call = unique_function<void(std::optional<ticket>)>;

  explicit call_gate(adaptive_limits bears, std::optional<line_limit> carries = {})
      : bears_(bears), carries_(std::move(carries)) {}
  /// A gate for always the same number of calls.
  [[nodiscard]] static std::shared_ptr<call_gate> of(std::size_t calls) {
    return std::make_shared<call_gate>(adaptive_limits{.least = calls, .most = calls});
  }

  void begin(std::stop_token stop, call start, std::shared_ptr<const call_place> place = nullptr);

  void end(ticket begun, const std::error_code& failure);

  /// Bytes came for one of the calls: the line's limit hears of them, ten times a second.
  void came(std::uint64_t bytes);

  [[nodiscard]] std::size_t in_flight() const;
  /// Calls that may be under way now.
  [[nodiscard]] std::size_t most() const;

 private:
  friend class waiting_call;
  struct waiter;
  using waiters = std::list<std::shared_ptr<waiter>>;

  /// The caller holds the lock, of these as well.
  [[nodiscard]] std::size_t most_now() const noexcept;
  /// Calls without a place may be many, and none is needed now.
  [[nodiscard]] std::shared_ptr<waiter> take_first();
  void forget(waiters::iterator at, const waiter& one);
  /// Without the lock.
  void cancel(const std::shared_ptr<waiter>& one);
  /// A thread starts calls in a loop: a store whose calls complete at once would otherwise start
  /// each one from within the one before.
  void start_waiting(std::unique_lock<std::mutex>& lock);

  mutable std::mutex mutex_;
  adaptive_limit bears_;
  std::optional<line_limit> carries_;
  std::size_t in_flight_ = 0;
  std::atomic<std::uint64_t> came_{0};
  std::atomic<std::chrono::nanoseconds> looked_{std::chrono::nanoseconds(0)};
  std::vector<std::thread::id, handler_allocator<std::thread::id>>
      starting_{};  // that are within `start_waiting`
  waiters waiting_{};
  std::size_t placed_ = 0;  // of those that wait, with a place
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/call_gate.ipp>
#endif
