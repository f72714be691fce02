#pragma once

/// Between a loader and its observer: times calls and collects what there is to tell.

#include <mdstream/core/observe.hpp>
#include <mdstream/core/warning.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

namespace mdstream::inline v0::detail {

/// One virtual call a batch. One call of the observer at a time, from any thread.
class watch {
 public:
  /// One call for a batch.
  struct call {
    std::chrono::steady_clock::time_point at{};
    std::chrono::nanoseconds stalled_before{0};
  };

  /// Null for `observe::none`: then no clock is read and nothing is counted.
  template <observe::observer_policy Observer>
  [[nodiscard]] static std::unique_ptr<watch> of(Observer observer) {
    if constexpr (std::same_as<Observer, observe::none>)
      return nullptr;
    else
      return std::unique_ptr<watch>(new model<Observer>(std::move(observer)));
  }
  watch(const watch&) = delete;
  watch& operator=(const watch&) = delete;
  virtual ~watch() = default;

  [[nodiscard]] static call begin(std::chrono::nanoseconds stalled) noexcept {
    return {std::chrono::steady_clock::now(), stalled};
  }
  /// `sum` without samples and results, which are counted here.
  void end(const call& began, observe::step what, const observe::totals& sum);

  [[nodiscard]] virtual bool hears_warnings() const noexcept = 0;
  /// Tells what is kept there, and what comes as it comes. Only where it hears warnings.
  void hear(std::shared_ptr<kept_warnings> from);

 protected:
  watch() = default;
  /// For the destructor of what `pass` reaches: nothing is passed on from here on.
  void end_warnings() {
    if (warnings_) warnings_->pass_to({});
  }

 private:
  virtual void pass(const observe::step&) = 0;
  virtual void pass(const observe::warning&) = 0;

  template <class Observer>
  struct model;

  std::mutex mutex_;
  std::shared_ptr<kept_warnings> warnings_;
  observe::totals counted_;  // samples and results alone
};

template <class Observer>
struct watch::model final : watch {
  explicit model(Observer o) : observer(std::move(o)) {}
  ~model() override { end_warnings(); }
  [[nodiscard]] bool hears_warnings() const noexcept override { return hears<observe::warning>; }
  void pass(const observe::step& what) override { observer(what); }
  void pass(const observe::warning& what) override {
    if constexpr (hears<observe::warning>) observer(what);
  }
  template <class Event>
  static constexpr bool hears = std::is_invocable_v<Observer&, const Event&>;
  Observer observer;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/watch.ipp>
#endif
