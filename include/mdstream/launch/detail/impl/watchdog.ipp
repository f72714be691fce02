#pragma once

#include <mdstream/async/detail/start_thread.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/launch/detail/step_pace.hpp>
#include <mdstream/launch/detail/thread_stacks.hpp>
#include <mdstream/launch/watchdog.hpp>
#include <mdstream/version.hpp>

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <exception>
#include <future>
#include <mutex>
#include <ratio>
#include <string>
#include <thread>
#include <utility>

namespace mdstream::inline v0::launch {

namespace detail {

/// The exit status that the handler of an alarm ends with.
inline std::atomic<int> status_of_alarm{hung_status};

/// One thread that asks the pace.
class watching {
 public:
  explicit watching(watchdog_options options)
      : options_(std::move(options)), pace_(options_.factor, options_.least) {
    if (!(options_.factor > 0) || options_.least.count() <= 0)
      throw error(errc::invalid_argument,
                  "cannot watch steps: watchdog_options.factor and .least have to be above zero");
    prepare_stacks();
    thread_ = mdstream::detail::start_thread([this] { watch(); });
  }
  watching(const watching&) = delete;
  watching& operator=(const watching&) = delete;
  ~watching() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

  template <class Change>
  void note(const Change& change) {
    const std::lock_guard lock(mutex_);
    change(pace_, now());
  }

 private:
  [[nodiscard]] static step_pace::time now() {
    return std::chrono::steady_clock::now().time_since_epoch();
  }

  void watch() {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, pace_.tick(), [this] { return ended_; }))
      if (const step_pace::time at = now(); pace_.overdue(at)) end(at);
  }

  /// Ends the process, also where a thread that stands still holds a lock that this needs.
  [[noreturn]] void end(step_pace::time at) {
    status_of_alarm = options_.exit_status;
    std::signal(SIGALRM, [](int) { ::_exit(status_of_alarm); });
    sigset_t alarm;
    ::sigemptyset(&alarm);
    ::sigaddset(&alarm, SIGALRM);
    ::pthread_sigmask(SIG_UNBLOCK, &alarm, nullptr);
    ::alarm(30);  // the account has 5 s, the stacks have 15
    const auto typical = pace_.median();
    write_text(options_.log,
               "mdstream: watchdog: " + std::string(pace_.paused() ? "the pause" : "the step") +
                   " after " + std::to_string(pace_.steps()) + " steps has taken " +
                   seconds_text(pace_.taken(at)) + " and is not over" +
                   (typical ? "; the median of a step is " + seconds_text(*typical) : "") + ".\n");
    if (options_.waits_for)
      write_text(options_.log, "mdstream: watchdog: the loader: " + account() + "\n");
    write_text(options_.log, "mdstream: watchdog: what the threads do:\n");
    write_stacks(options_.log, std::chrono::seconds(15));
    write_text(options_.log, "mdstream: watchdog: the process ends with status " +
                                 std::to_string(options_.exit_status) +
                                 ", so that its launcher starts it again\n");
    ::_exit(options_.exit_status);
  }

  [[nodiscard]] static std::string seconds_text(step_pace::time time) {
    const auto tenths =
        std::chrono::duration_cast<std::chrono::duration<std::int64_t, std::deci>>(time).count();
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
  }

  /// On a thread of its own: one that hangs must not keep the stacks from the log.
  [[nodiscard]] std::string account() const {
    try {
      std::promise<std::string> promise;
      std::future<std::string> said = promise.get_future();
      mdstream::detail::start_thread([this, to = std::move(promise)]() mutable {
        try {
          to.set_value(options_.waits_for());
        } catch (...) {
          to.set_exception(std::current_exception());
        }
      }).detach();
      if (said.wait_for(std::chrono::seconds(5)) == std::future_status::ready) return said.get();
      return "waits_for has not returned for 5 s";
    } catch (const std::exception& e) {
      return e.what();
    } catch (...) {
      return "waits_for threw what is no std::exception";
    }
  }

  watchdog_options options_;
  std::mutex mutex_;
  std::condition_variable wake_;
  step_pace pace_;
  bool ended_ = false;
  std::thread thread_;
};

MDSTREAM_INLINE void end_watching::operator()(watching* gone) const { delete gone; }

}  // namespace detail

MDSTREAM_INLINE watchdog::watchdog(watchdog_options options)
    : watching_(new detail::watching(std::move(options))) {}

template <class Change>
void watchdog::note(const Change& change) {
  if (watching_.get_deleter().made.is_here()) watching_->note(change);
}

MDSTREAM_INLINE void watchdog::step() {
  note([](detail::step_pace& pace, auto now) { pace.step(now); });
}

MDSTREAM_INLINE watchdog::pause_guard watchdog::pause(std::chrono::nanoseconds most) {
  note([&](detail::step_pace& pace, auto now) { pace.pause(now, most); });
  return pause_guard(*this);
}

MDSTREAM_INLINE watchdog::pause_guard::~pause_guard() {
  of_.note([](detail::step_pace& pace, auto now) { pace.resume(now); });
}

}  // namespace mdstream::inline v0::launch
