#pragma once

/// A line on stderr that shows how far a command is, where stderr is a terminal.

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace cli {

/// Counted by any thread. `bytes` are those that were brought, `bytes_expected` those that are so
/// in the end: what is there already is not among them. It changes while the copy finds out.
struct copy_progress {
  std::atomic<std::uint64_t> bytes{0}, bytes_expected{0};
  std::atomic<std::uint64_t> copied{0}, skipped{0}, objects{0};
  std::atomic<std::uint64_t> skipped_by_size{0};  // of `skipped`
};

/// `1.5 GiB`.
[[nodiscard]] inline std::string binary_size(double bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit) bytes /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, bytes < 10 && unit > 0 ? "%.1f %s" : "%.0f %s", bytes,
                units[unit]);
  return text;
}

/// What the line says after `seconds`: objects, bytes, rate, and the time left where it is known.
[[nodiscard]] inline std::string progress_text(const copy_progress& p, double seconds) {
  const std::uint64_t done = p.copied + p.skipped, bytes = p.bytes, expected = p.bytes_expected;
  const double rate = seconds > 0 ? static_cast<double>(bytes) / seconds : 0;
  std::string text = std::to_string(done) + " of " + std::to_string(p.objects) + " objects, " +
                     binary_size(static_cast<double>(bytes)) + ", " + binary_size(rate) + "/s";
  if (expected > bytes && rate > 0) {
    const double left = static_cast<double>(expected - bytes) / rate;
    text += ", " + std::to_string(static_cast<std::uint64_t>(left) + 1) + " s left";
  }
  return text;
}

/// Draws while it lives: what `text` says after so many seconds.
class progress_bar {
 public:
  explicit progress_bar(std::function<std::string(double)> text) : text_(std::move(text)) {
    if (::isatty(STDERR_FILENO) == 1) painter_ = std::thread([this] { paint(); });
  }
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;
  ~progress_bar() {
    if (!painter_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    painter_.join();
    std::fputs("\r\033[K", stderr);
  }

 private:
  void paint() {
    const auto start = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::milliseconds(200), [this] { return ended_; })) {
      const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
      std::fprintf(stderr, "\r\033[K%s", text_(time.count()).c_str());
    }
  }

  const std::function<std::string(double)> text_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::thread painter_;
};

}  // namespace cli
