#pragma once

/// A signal that asks the training loop to save and end, and the exit status on which the launcher
/// queues the job again: pre-emption, time limits, drained nodes.

#include <chrono>
#include <concepts>
#include <csignal>
#include <vector>

namespace mdstream::inline v0::launch {

/// The exit status that says "saved, start me again" (EX_TEMPFAIL of sysexits.h). What makes each
/// launcher act on it is in docs/distributed.md, section Signals.
inline constexpr int requeue_status = 75;

/// A signal that asks for the end, and how long after it the process is killed.
struct stop_signal {
  int number = SIGTERM;
  std::chrono::nanoseconds warning = std::chrono::seconds(30);
};

/// Which signals ask for the end, and the exit status.
///
///     mds::launch::stop_request stop({.signals = {{SIGTERM, std::chrono::seconds(120)}}});
struct stop_options {
  /// The signals, each with the time from the signal to the kill. Kubernetes
  /// (terminationGracePeriodSeconds) and Slurm (KillWait) give 30 s by default, Slurm's
  /// `--signal=USR1` gives 60 s.
  std::vector<stop_signal> signals{{SIGTERM, std::chrono::seconds(30)},
                                   {SIGUSR1, std::chrono::seconds(60)}};
  /// A launcher may send one request several times: to a process, to its group, and through its
  /// parent. Signals within this time after the first one are the same request.
  std::chrono::nanoseconds repeats_within = std::chrono::seconds(1);
  /// What `stop_request::exit_status` returns after a request (75).
  int exit_status = requeue_status;
};

/// Catches the signals that ask for the end. The loop checks it between steps:
///
///     mds::launch::stop_request stop;
///     for (auto& batch : loader.epoch()) {
///       train_step(batch);
///       if (stop.requested([&](bool here) { return all_reduce_max(here); })) break;
///     }
///     saver.save(step, tensors, {.loader_state = loader.state()});
///     saver.finish();
///     return stop.exit_status();
///
/// The first signal only sets a flag. The next one, later than `repeats_within`, ends the process
/// at once, as if there were no handler.
///
/// Lifetime: one at a time in a process; the destructor restores the handlers of before.
/// Thread safety: any number of threads may call all members. Errors: the constructor throws
/// `errc::invalid_argument` while another one lives, and for a signal that cannot be caught.
/// Cost: reading an atomic.
class stop_request {
 public:
  explicit stop_request(const stop_options& options = {});
  stop_request(const stop_request&) = delete;
  stop_request& operator=(const stop_request&) = delete;
  ~stop_request();

  /// Whether this process was asked to end. A signal may reach ranks at different times, or one
  /// rank alone. If ranks have to end at the same step, use the other form.
  [[nodiscard]] bool requested() const noexcept;

  /// Whether any rank was asked to end. `any_rank` gets this rank's answer and returns whether that
  /// of any rank is true, such as an all-reduce. All ranks have to call it at the same steps.
  template <std::predicate<bool> AnyRank>
  [[nodiscard]] bool requested(AnyRank&& any_rank) {
    if (!any_rank(requested())) return false;
    request();
    return true;
  }

  /// Asks for the end without a signal, for example after a notice of the cloud that the program
  /// reads itself. `warning` is the time until the kill.
  void request(std::chrono::nanoseconds warning) noexcept;
  /// The same with the shortest time of the options. No effect if the end was asked for before.
  void request() noexcept;

  /// The first signal; 0: none.
  [[nodiscard]] int signal() const noexcept;

  /// Time until the process is killed; below zero when that is past. `nanoseconds::max()` unless
  /// requested.
  [[nodiscard]] std::chrono::nanoseconds time_left() const noexcept;

  /// The exit status for `main`: `options.exit_status` if the end was asked for, otherwise 0.
  [[nodiscard]] int exit_status() const noexcept { return requested() ? exit_status_ : 0; }

 private:
  void give_back() noexcept;

  struct replaced {
    int number;
    struct sigaction action;
  };
  std::vector<replaced> before_;
  std::chrono::nanoseconds shortest_;
  int exit_status_;
};

}  // namespace mdstream::inline v0::launch

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/launch/detail/impl/stop_request.ipp>
#endif
