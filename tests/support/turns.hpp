#pragma once

// Threads that run one at a time, in an order that a seed decides: what they do in which order is
// the same in each run with that seed, on any machine and beside any load.

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace support {

/// A thread runs until it calls `pass` or `sleep`, or ends; then the next one is drawn. Whatever
/// they share needs no lock. A thread that gives its turn away must hold no lock that others take.
class turns {
 public:
  /// Thrown by `sleep` where no thread can go on, so that all of them end.
  struct stuck {};

  /// One call of `pass` in `stay` draws the next thread.
  turns(unsigned seed, unsigned stay) : random_(seed), stay_(stay) {}

  void add(std::string name, std::function<void()> body) {
    threads_.emplace_back(std::move(name), std::move(body));
  }

  /// Runs all threads to their end. False where they got stuck.
  [[nodiscard]] bool run() {
    {
      std::unique_lock lock(mutex_);
      for (member& each : threads_) each.thread = std::thread([this, &each] { work(each); });
      draw();
      ended_.wait(lock, [this] { return now_ == nullptr; });
    }
    for (member& each : threads_) each.thread.join();
    return !is_stuck_;
  }

  // By the thread whose turn it is. When all have ended, `pass` and `say` do nothing.

  void pass() {
    std::unique_lock lock(mutex_);
    if (now_ != nullptr && random_() % stay_ == 0) next(lock);
  }
  /// Until somebody calls `wake`.
  void sleep() {
    std::unique_lock lock(mutex_);
    if (!is_stuck_) {
      now_->sleeps = true;
      next(lock);
    }
    if (is_stuck_) throw stuck{};
  }
  void wake() {
    const std::lock_guard lock(mutex_);
    for (member& each : threads_) each.sleeps = false;
  }
  /// Adds a word to what is told of the run.
  void say(std::string_view what) {
    if (now_ == nullptr) return;
    if (now_ != last_) (said_ += "\n") += now_->name + ":";
    last_ = now_;
    (said_ += ' ') += what;
  }
  [[nodiscard]] const std::string& said() const { return said_; }
  [[nodiscard]] std::mt19937& random() { return random_; }

 private:
  struct member {
    member(std::string called, std::function<void()> does)
        : name(std::move(called)), body(std::move(does)) {}
    std::string name;
    std::function<void()> body;
    std::condition_variable turn{};
    bool sleeps = false;
    bool is_over = false;
    std::thread thread{};
  };

  void work(member& it) {
    std::unique_lock lock(mutex_);
    it.turn.wait(lock, [&] { return now_ == &it; });
    lock.unlock();
    try {
      it.body();
    } catch (const stuck&) {
    }
    lock.lock();
    it.is_over = true;
    draw();
  }

  void next(std::unique_lock<std::mutex>& lock) {
    member* const it = now_;
    draw();
    it->turn.wait(lock, [&] { return now_ == it; });
  }

  void draw() {
    std::vector<member*> awake;
    for (member& each : threads_)
      if (!each.is_over && !each.sleeps) awake.push_back(&each);
    if (awake.empty() && std::ranges::any_of(threads_, [](const member& m) { return m.sleeps; })) {
      is_stuck_ = true;
      for (member& each : threads_) each.sleeps = false;
      return draw();
    }
    now_ = awake.empty() ? nullptr : awake[random_() % awake.size()];
    (now_ == nullptr ? ended_ : now_->turn).notify_one();
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  std::deque<member> threads_;
  member* now_ = nullptr;  // whose turn it is
  const member* last_ = nullptr;
  bool is_stuck_ = false;
  std::string said_;
  std::mt19937 random_;
  unsigned stay_;
};

}  // namespace support
