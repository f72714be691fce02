#pragma once

/// Ctrl-C and what asks a process to end.

#include <semaphore.h>

#include <array>
#include <atomic>
#include <csignal>
#include <stop_token>
#include <thread>

namespace cli {

/// Makes the first SIGINT or SIGTERM a request to stop, while this lives; from then on both have
/// the system's meaning again, so that a second one ends the process. A SIGINT that was ignored
/// stays so. Programs that are started meanwhile take signals as ever. One at a time.
class stop_signals {
 public:
  stop_signals() {
    first = 0;
    ::sem_init(&came, 0, 0);
    waiter_ = std::thread([this] { wait(); });
    struct sigaction note{};
    note.sa_handler = &take;
    note.sa_flags = SA_RESTART;
    for (std::size_t i = 0; i < signals.size(); ++i) {
      ::sigaction(signals[i], nullptr, &before_[i]);
      if (before_[i].sa_handler != SIG_IGN) ::sigaction(signals[i], &note, nullptr);
    }
  }
  stop_signals(const stop_signals&) = delete;
  stop_signals& operator=(const stop_signals&) = delete;
  ~stop_signals() {
    for (std::size_t i = 0; i < signals.size(); ++i) {
      ::sigaction(signals[i], &before_[i], nullptr);
    }
    ::sem_post(&came);
    waiter_.join();
    ::sem_destroy(&came);
  }

  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }
  /// The signal that came first; 0: none.
  [[nodiscard]] int received() const noexcept { return first; }

 private:
  static constexpr std::array signals{SIGINT, SIGTERM};

  // Calls only what a handler of signals may.
  static void take(int signal) {
    for (const int each : signals) std::signal(each, SIG_DFL);
    first = signal;
    ::sem_post(&came);
  }

  void wait() {
    while (::sem_wait(&came) != 0) continue;  // another signal
    if (first != 0) stop_.request_stop();
  }

  static inline sem_t came{};
  static inline std::atomic<int> first{0};
  static_assert(std::atomic<int>::is_always_lock_free);

  std::array<struct sigaction, signals.size()> before_{};
  std::stop_source stop_;
  std::thread waiter_;
};

}  // namespace cli
