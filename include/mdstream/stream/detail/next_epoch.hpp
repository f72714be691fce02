#pragma once

/// The epoch after the one at hand, got ready on the pool while that one is read to its end, and
/// the one before, whose memory is given back there.

#include <mdstream/async/runtime.hpp>
#include <mdstream/core/detail/unique_function.hpp>
#include <mdstream/order/progress.hpp>

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

namespace mdstream::inline v0::detail {

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

/// An epoch on its way to be the one at hand: what `next_epoch` asks of it.
class epoch_steps {
 public:
  epoch_steps() = default;
  epoch_steps(const epoch_steps&) = delete;
  epoch_steps& operator=(const epoch_steps&) = delete;
  virtual ~epoch_steps() = default;

  // As the members of `epoch_feed` of these names.
  virtual void read_first() = 0;
  virtual void fetch_first(const std::function<bool(std::uint32_t)>& needed_before) = 0;
  virtual void fetch_on() = 0;
  virtual void yield(std::uint32_t shard) = 0;
  virtual void build_first() = 0;
  [[nodiscard]] virtual std::uint64_t next_use(std::uint32_t shard, std::uint64_t from) const = 0;
  /// Whether the destructor has nothing to wait for.
  [[nodiscard]] virtual bool is_idle() const = 0;
  /// Waits for that without blocking.
  virtual void async_end(unique_function<void()> ended) = 0;
};

/// Gets an epoch ready. What that throws is kept to itself: whatever begins the epoch meets it
/// again.
///
/// One thread at a time calls `begin`, `take` and `retire`; the rest may be called by any. The
/// destructor waits for the step that a pool thread is at, and for what was retired.
class next_epoch {
 public:
  using epoch_pointer = std::unique_ptr<epoch_steps>;
  using maker = unique_function<epoch_pointer()>;

  /// `needed_before` tells, on any thread, which shards the epoch at hand still needs: they are not
  /// fetched for the next one.
  next_epoch(runtime& threads, std::function<bool(std::uint32_t)> needed_before)
      : threads_(threads) {
    it_->needed_before = std::move(needed_before);
  }
  next_epoch(const next_epoch&) = delete;
  next_epoch& operator=(const next_epoch&) = delete;
  ~next_epoch();

  /// Whether an epoch is being got ready.
  [[nodiscard]] bool has_begun() const;

  /// Begins to get an epoch ready, in place of another. `make` is called on the pool, or never.
  void begin(epoch_key key, maker make);

  /// Gets it so far ready, if it was begun.
  void want(readiness wanted);

  /// Tells it that there may be room again for what it fetches.
  void fetch_on();

  /// Lets it, and an epoch that ended and may still hold its shards, give up one that was found to
  /// be bad.
  void yield(std::uint32_t shard);

  /// When the epoch needs a shard, in its own batches; `never` as long as it does not know.
  [[nodiscard]] std::uint64_t next_use(std::uint32_t shard, std::uint64_t from) const;

  /// The epoch as far as it got, waiting for the step that it is at; null where it is another one
  /// than this, or has not got anywhere.
  [[nodiscard]] epoch_pointer take(const epoch_key& key);

  /// The same, whichever it is.
  [[nodiscard]] epoch_pointer take_any();

  /// Destroys an epoch that has ended, on the pool, once nothing of it is under way.
  void retire(epoch_pointer ended);

  /// The same, but that no thread is woken for it before `clear`: on a machine without an idle core
  /// it would take the caller's.
  void lay_aside(epoch_pointer ended);
  void clear();

  /// A stop of it is requested once nothing of what was retired is under way; none is possible
  /// where nothing is.
  [[nodiscard]] std::stop_token others_gone() const;

  /// Calls `then`, which may destroy this, once nothing of what was retired is under way: here, or
  /// on the thread where that ends. The last call of all.
  void when_others_gone(unique_function<void()> then);

 private:
  struct state {
    std::mutex mutex;
    std::condition_variable idle;
    std::optional<epoch_key> key;
    std::function<bool(std::uint32_t)> needed_before;
    maker make;
    epoch_pointer feed;
    epoch_pointer retired;
    readiness wanted = readiness::none;
    readiness reached = readiness::none;
    std::size_t ending = 0;  // epochs that have ended, of which something is under way
    std::stop_source gone;   // when they are
    unique_function<void()> then;
    bool busy = false;
    bool stopped = false;

    void go_on();

    /// Without the lock, on any thread: nothing of this epoch is under way any more.
    void has_ended(epoch_pointer spent);

    /// Without the lock, but alone.
    [[nodiscard]] bool step(readiness next) noexcept;
  };

  std::optional<epoch_key> take(epoch_pointer& found);

  void drop() { retire(take_any()); }

  void end(epoch_steps* ended);

  runtime& threads_;
  const std::shared_ptr<state> it_ = std::make_shared<state>();  // pool tasks may outlive this
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/next_epoch.ipp>
#endif
