#pragma once

/// Ends a process whose training loop stands still, so that its launcher starts it again, and
/// writes what every thread was doing.

#include <mdstream/core/detail/process.hpp>

#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>

namespace mdstream::inline v0::launch {

/// The exit status of a process that hung (EX_SOFTWARE of sysexits.h): a failure, which launchers
/// count against the number of restarts, unlike `requeue_status`.
inline constexpr int hung_status = 70;

/// How long a step may take, and what happens if it takes longer.
///
///     mds::launch::watchdog dog({.factor = 10, .least = std::chrono::minutes(30)});
struct watchdog_options {
  /// A step is overdue after this many times the median of the last 64 steps, but not before
  /// `least`.
  double factor = 20;
  /// The shortest time after which a step is overdue. Choose more than the outage of a store that
  /// the loader waits for (`patience`).
  std::chrono::nanoseconds least = std::chrono::minutes(20);
  /// Its text goes to the log, too: `loader::waits_for`. Called on a thread of its own while the
  /// loop hangs; a call that takes longer than 5 s is abandoned.
  std::function<std::string()> waits_for{};
  int log = fileno(stderr);       ///< a descriptor, for the reason and the stacks of all threads
  int exit_status = hung_status;  ///< of a process that the watchdog ends (70)
};

namespace detail {

class watching;

struct end_watching {
  void operator()(watching* gone) const;
};

}  // namespace detail

/// Ends a process whose training loop hangs, so that its launcher starts it again.
///
///     mds::launch::watchdog dog({.waits_for = [&] { return loader.waits_for(); }});
///     for (auto& batch : loader.epoch()) {
///       train_step(batch);
///       dog.step();
///       if (step % 1000 == 0) {
///         const auto pause = dog.pause(std::chrono::hours(1));
///         evaluate();
///       }
///     }
///
/// No step is overdue before the first one has ended: opening, compiling and a cold cache may take
/// long. Time in which the whole process is stopped does not count.
///
/// When a step is overdue, the log gets the text of `waits_for` and the stacks of all threads. Then
/// the process ends, without destructors, with `exit_status`: at once, or after 30 s at most where
/// threads do not answer.
///
/// Lifetime: the destructor ends its thread. It does nothing in a forked child.
/// Thread safety: any number of threads may call `step` and `pause`. Errors: the constructor
/// throws `errc::invalid_argument` for a factor or time that is not above zero, and
/// `errc::unavailable` where no thread can be started. Cost: a step locks a mutex.
class watchdog {
 public:
  explicit watchdog(watchdog_options options = {});

  /// Call this after each step.
  void step();

  /// As long as it exists, no step is expected.
  class pause_guard {
   public:
    pause_guard(const pause_guard&) = delete;
    pause_guard& operator=(const pause_guard&) = delete;
    ~pause_guard();

   private:
    friend class watchdog;
    explicit pause_guard(watchdog& of) noexcept : of_(of) {}
    watchdog& of_;
  };

  /// Pauses the watchdog for work that is no step, such as evaluation, for at most `most`. A pause
  /// within a pause has no effect, and its end ends both.
  [[nodiscard]] pause_guard pause(std::chrono::nanoseconds most = std::chrono::nanoseconds::max());

 private:
  template <class Change>
  void note(const Change& change);

  mdstream::detail::unique_where_made<detail::watching, detail::end_watching> watching_;
};

}  // namespace mdstream::inline v0::launch

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/launch/detail/impl/watchdog.ipp>
#endif
