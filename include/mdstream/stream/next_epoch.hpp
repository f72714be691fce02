#pragma once

/// The epoch after the one at hand, got ready on the pool while that one is read to its end, and
/// the one before, whose memory is given back there.

#include <mdstream/async/runtime.hpp>
#include <mdstream/core/unique_function.hpp>
#include <mdstream/order/progress.hpp>
#include <mdstream/schedule/eviction.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// How far an epoch is got ready.
enum class readiness : std::uint8_t {
  none,
  read,     ///< its order is opened, and its first batches are read
  fetched,  ///< their shards are asked for
  built     ///< batches are put together, where that is done ahead; or it went wrong
};

/// What an epoch depends on: its place in the run, and the shards in whose place others are read.
struct epoch_key {
  epoch_start start{};
  std::vector<std::uint32_t> substituted{};

  friend bool operator==(const epoch_key&, const epoch_key&) = default;
};

/// `Feed` has `read_first()`, `fetch_first(needed_before)`, `fetch_on()`, `build_first()`,
/// `next_use`, and `is_idle()`, which says that its destructor has nothing to wait for. What
/// getting it ready throws is kept to itself: who begins the epoch meets it again.
///
/// One thread at a time calls `begin` and `take`; the rest may be called by any. The destructor
/// waits for the step that a pool thread is at.
template <class Feed>
class next_epoch {
 public:
  using maker = unique_function<std::unique_ptr<Feed>()>;

  /// `needed_before` tells, on any thread, which shards the epoch at hand still needs: they are not
  /// fetched for the next one.
  next_epoch(runtime& threads, std::function<bool(std::uint32_t)> needed_before)
      : threads_(threads) {
    it_->needed_before = std::move(needed_before);
  }
  next_epoch(const next_epoch&) = delete;
  next_epoch& operator=(const next_epoch&) = delete;
  ~next_epoch() {
    drop();
    retire(nullptr);
  }

  /// Whether an epoch is being got ready.
  [[nodiscard]] bool has_begun() const {
    const std::lock_guard lock(it_->mutex);
    return it_->key.has_value();
  }

  /// Begins to get an epoch ready, in place of another. `make` is called on the pool, or never.
  void begin(epoch_key key, maker make) {
    drop();
    {
      const std::lock_guard lock(it_->mutex);
      it_->key = std::move(key);
      it_->make = std::move(make);
    }
    want(readiness::read);
  }

  /// Gets it so far ready, if it was begun.
  void want(readiness wanted) {
    {
      const std::lock_guard lock(it_->mutex);
      if (!it_->key || it_->wanted >= wanted) return;
      it_->wanted = wanted;
    }
    threads_.post([it = it_] { it->go_on(); });
  }

  /// Tells it that there may be room again for what it fetches.
  void fetch_on() {
    const std::lock_guard lock(it_->mutex);
    if (it_->reached >= readiness::fetched && it_->feed) it_->feed->fetch_on();
  }

  /// When the epoch needs a shard, in its own batches; `never` as long as it does not know.
  [[nodiscard]] std::uint64_t next_use(std::uint32_t shard, std::uint64_t from) const {
    const std::lock_guard lock(it_->mutex);
    return it_->feed && it_->reached != readiness::none ? it_->feed->next_use(shard, from) : never;
  }

  /// The epoch as far as it got, waiting for the step that it is at; null where it is another one
  /// than this, or has not got anywhere.
  [[nodiscard]] std::unique_ptr<Feed> take(const epoch_key& key) {
    std::unique_ptr<Feed> found;
    if (take(found) != key) found.reset();
    return found;
  }

  /// The same, whichever it is.
  [[nodiscard]] std::unique_ptr<Feed> take_any() {
    std::unique_ptr<Feed> found;
    take(found);
    return found;
  }

  /// Destroys an epoch that has ended, on the pool where that has nothing to wait for.
  void retire(std::unique_ptr<Feed> ended) {
    const bool waits = ended && !ended->is_idle();
    if (waits) return ended.reset();
    const bool any = ended != nullptr;
    {
      const std::lock_guard lock(it_->mutex);
      std::swap(it_->retired, ended);
    }
    if (any) threads_.post([it = it_] { it->go_on(); });
  }

 private:
  struct state {
    std::mutex mutex;
    std::condition_variable idle;
    std::optional<epoch_key> key;
    std::function<bool(std::uint32_t)> needed_before;
    maker make;
    std::unique_ptr<Feed> feed;
    std::unique_ptr<Feed> retired;
    readiness wanted = readiness::none;
    readiness reached = readiness::none;
    bool busy = false;
    bool stopped = false;

    void go_on() {
      std::unique_lock lock(mutex);
      if (busy) return;  // who is at it looks again before it ends
      busy = true;
      if (std::unique_ptr<Feed> gone = std::move(retired)) {
        lock.unlock();
        gone.reset();
        lock.lock();
      }
      while (!stopped && reached < wanted) {
        const auto next = static_cast<readiness>(static_cast<std::uint8_t>(reached) + 1);
        lock.unlock();
        const bool done = step(next);
        lock.lock();
        reached = done ? next : (wanted = readiness::built);  // once is enough
      }
      busy = false;
      idle.notify_all();
    }

    /// Without the lock, but alone.
    [[nodiscard]] bool step(readiness next) noexcept {
      try {
        if (next == readiness::read) {
          std::unique_ptr<Feed> made = make();
          made->read_first();
          const std::lock_guard lock(mutex);
          feed = std::move(made);
        } else if (next == readiness::fetched) {
          feed->fetch_first(needed_before);
        } else {
          feed->build_first();
        }
        return true;
      } catch (...) {
        return false;
      }
    }
  };

  std::optional<epoch_key> take(std::unique_ptr<Feed>& found) {
    std::unique_lock lock(it_->mutex);
    it_->stopped = true;
    it_->idle.wait(lock, [this] { return !it_->busy; });
    it_->stopped = false;
    found = std::move(it_->feed);
    it_->make = {};
    it_->wanted = it_->reached = readiness::none;
    return std::exchange(it_->key, std::nullopt);
  }

  void drop() { take_any().reset(); }

  runtime& threads_;
  const std::shared_ptr<state> it_ = std::make_shared<state>();  // pool tasks may outlive this
};

}  // namespace mdstream::inline v0
