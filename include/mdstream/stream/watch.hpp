#pragma once

/// Between a loader and its observer: times calls and collects what there is to tell. Empty, with
/// members that do nothing, where there is no observer.

#include <mdstream/core/observe.hpp>
#include <mdstream/core/warning.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
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
    tell_warnings();
    observer_(what);
  }

  static constexpr bool hears_warnings = std::is_invocable_v<Observer&, const observe::warning&>;

  /// Tells what is kept there, now and before each step.
  void hear(std::shared_ptr<kept_warnings> from) {
    warnings_ = std::move(from);
    tell_warnings();
  }

  void tell(const observe::stale_state& what) {
    if constexpr (std::is_invocable_v<Observer&, const observe::stale_state&>) observer_(what);
  }

 private:
  void tell_warnings() {
    if constexpr (hears_warnings) {
      if (!warnings_) return;
      for (std::string& each : warnings_->take()) observer_(observe::warning{std::move(each)});
    }
  }

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
