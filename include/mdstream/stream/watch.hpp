#pragma once

/// Between a loader and its observer: times calls and collects what there is to tell. Empty, with
/// members that do nothing, where there is no observer.

#include <mdstream/core/observe.hpp>
#include <mdstream/core/warning.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>

namespace mdstream::inline v0 {

/// One call for a batch.
struct call_begun {
  std::chrono::steady_clock::time_point at{};
  std::chrono::nanoseconds stalled_before{0};
};

template <class Observer>
class watch {
 public:
  static constexpr bool active = true;
  using call = call_begun;

  explicit watch(Observer observer) : observer_(std::move(observer)) {}
  watch(const watch&) = delete;
  watch& operator=(const watch&) = delete;
  ~watch() {
    if (warnings_) warnings_->pass_to({});
  }

  [[nodiscard]] call begin(std::chrono::nanoseconds stalled) const noexcept {
    return {std::chrono::steady_clock::now(), stalled};
  }

  /// `sum` without its samples, which are counted here.
  void end(const call& began, observe::step what, const observe::totals& sum) {
    what.begun = began.at;
    what.took = std::chrono::steady_clock::now() - began.at;
    what.stalled = sum.stalled - began.stalled_before;
    what.sum = sum;
    what.sum.samples = samples_ += what.samples;
    const std::lock_guard lock(mutex_);
    observer_(what);
  }

  static constexpr bool hears_warnings = std::is_invocable_v<Observer&, const observe::warning&>;

  /// Tells what is kept there, and what comes as it comes.
  void hear(std::shared_ptr<kept_warnings> from)
    requires hears_warnings
  {
    warnings_ = std::move(from);
    warnings_->pass_to([this](const std::string& text) {
      const std::lock_guard lock(mutex_);
      observer_(observe::warning{text});
    });
  }

  void tell(const observe::stale_state& what) {
    const std::lock_guard lock(mutex_);
    if constexpr (std::is_invocable_v<Observer&, const observe::stale_state&>) observer_(what);
  }

 private:
  std::mutex mutex_;  // one call of the observer at a time
  Observer observer_;
  std::shared_ptr<kept_warnings> warnings_;
  std::uint64_t samples_ = 0;
};

template <>
class watch<observe::none> {
 public:
  static constexpr bool active = false;
  static constexpr bool hears_warnings = false;
  struct call {};
  explicit watch(observe::none) noexcept {}
  void tell(const observe::stale_state&) const noexcept {}
};

static_assert(std::is_empty_v<watch<observe::none>> && std::is_empty_v<watch<observe::none>::call>);

}  // namespace mdstream::inline v0
