#pragma once

/// The epoch after the one at hand, got ready on the pool while that one is read to its end, and
/// the one before, whose memory is given back there.

#include <mdstream/async/runtime.hpp>
#include <mdstream/core/unique_function.hpp>
#include <mdstream/order/progress.hpp>
#include <mdstream/schedule/eviction.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
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

/// `Feed` has `read_first()`, `fetch_first(needed_before)`, `fetch_on()`, `yield(shard)`,
/// `build_first()`, `next_use`, `is_idle()`, which says that its destructor has nothing to wait
/// for, and `async_end(ended)`, which waits for that without blocking. What getting it ready throws
/// is kept to itself: who begins the epoch meets it again.
///
/// One thread at a time calls `begin`, `take` and `retire`; the rest may be called by any. The
/// destructor waits for the step that a pool thread is at, and for what was retired.
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
    std::unique_ptr<Feed> last;  // that no thread has taken yet; goes after the lock
    std::unique_lock lock(it_->mutex);
    last = std::move(it_->retired);
    it_->idle.wait(lock, [this] { return it_->ending == 0 && !it_->busy; });
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

  /// Lets it, and an epoch that ended and may still hold its shards, give up one that was found to
  /// be bad.
  void yield(std::uint32_t shard) {
    std::unique_ptr<Feed> gone;  // goes after the lock
    const std::lock_guard lock(it_->mutex);
    gone = std::move(it_->retired);
    if (it_->feed) it_->feed->yield(shard);
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
    if (take(found) != key) retire(std::move(found));
    return found;
  }

  /// The same, whichever it is.
  [[nodiscard]] std::unique_ptr<Feed> take_any() {
    std::unique_ptr<Feed> found;
    take(found);
    return found;
  }

  /// Destroys an epoch that has ended, on the pool, once nothing of it is under way.
  void retire(std::unique_ptr<Feed> ended) {
    if (!ended) return;
    if (!ended->is_idle()) return end(ended.release());
    {
      const std::lock_guard lock(it_->mutex);
      std::swap(it_->retired, ended);
    }
    threads_.post([it = it_] { it->go_on(); });
  }

  /// The same, but that no thread is woken for it before `clear`: on a machine without an idle core
  /// it would take the caller's.
  void lay_aside(std::unique_ptr<Feed> ended) {
    if (!ended || !ended->is_idle()) return retire(std::move(ended));
    const std::lock_guard lock(it_->mutex);
    std::swap(it_->retired, ended);
  }
  void clear() {
    threads_.post([it = it_] { it->go_on(); });
  }

  /// A stop of it is requested once nothing of what was retired is under way; none is possible
  /// where nothing is.
  [[nodiscard]] std::stop_token others_gone() const {
    const std::lock_guard lock(it_->mutex);
    return it_->ending == 0 ? std::stop_token() : it_->gone.get_token();
  }

  /// Calls `then`, which may destroy this, once nothing of what was retired is under way: here, or
  /// on the thread where that ends. The last call of all.
  void when_others_gone(unique_function<void()> then) {
    {
      const std::lock_guard lock(it_->mutex);
      if (it_->ending != 0) {
        it_->then = std::move(then);
        return;
      }
    }
    then();
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
    std::size_t ending = 0;  // epochs that have ended, of which something is under way
    std::stop_source gone;   // when they are
    unique_function<void()> then;
    bool busy = false;
    bool stopped = false;

    void go_on() {
      std::unique_lock lock(mutex);
      if (busy) return;  // who is at it looks again before it ends
      busy = true;
      if (std::unique_ptr<Feed> spent = std::move(retired)) {
        lock.unlock();
        spent.reset();
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

    /// Without the lock, on any thread: nothing of this epoch is under way any more.
    void has_ended(std::unique_ptr<Feed> spent) {
      spent.reset();
      std::stop_source last(std::nostopstate);
      unique_function<void()> next;
      {
        const std::lock_guard lock(mutex);
        if (--ending != 0) return;
        last = std::exchange(gone, std::stop_source());
        next = std::exchange(then, {});
        idle.notify_all();
      }
      last.request_stop();
      if (next) next();
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

  void drop() { retire(take_any()); }

  void end(Feed* ended) {
    {
      const std::lock_guard lock(it_->mutex);
      ++it_->ending;
    }
    ended->async_end([it = it_, ended] { it->has_ended(std::unique_ptr<Feed>(ended)); });
  }

  runtime& threads_;
  const std::shared_ptr<state> it_ = std::make_shared<state>();  // pool tasks may outlive this
};

}  // namespace mdstream::inline v0
