#pragma once

/// The epochs of a loader beside the current one: the next one, prepared on the pool while the
/// current one is read to its end, and those that were left, which end and are destroyed there.

#include <mdstream/async/runtime.hpp>
#include <mdstream/core/detail/unique_function.hpp>
#include <mdstream/order/progress.hpp>
#include <mdstream/stream/detail/epoch_states.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// What an epoch depends on: its place in the run, and the shards in whose place others are read.
struct epoch_key {
  epoch_start start{};
  std::vector<std::uint32_t> substituted{};

  friend bool operator==(const epoch_key&, const epoch_key&) = default;
};

/// What the controller asks of an epoch.
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
  /// Whether nothing is under way.
  [[nodiscard]] virtual bool is_idle() const = 0;
  /// Cancels what is under way and calls `ended`, which may destroy this, when that has ended: here
  /// if nothing is, else here or on the pool. The last call of all.
  virtual void async_end(unique_function<void()> ended) = 0;
};

/// Carries out what `epoch_states` decides. What a step throws is kept to itself: whatever begins
/// the epoch meets it again.
///
/// Thread safety: one thread at a time calls `begin`, `take`, `leave` and `close`; any thread calls
/// the rest, as long as the runtime is there. The destructor waits for nothing: `close` comes
/// before it, if an epoch has begun.
class epoch_controller : public std::enable_shared_from_this<epoch_controller> {
 public:
  using epoch_pointer = std::unique_ptr<epoch_steps>;
  using maker = unique_function<epoch_pointer()>;
  using reservation = std::function<bool(std::uint32_t)>;

  explicit epoch_controller(runtime& threads) : threads_(threads) {}
  epoch_controller(const epoch_controller&) = delete;
  epoch_controller& operator=(const epoch_controller&) = delete;
  virtual ~epoch_controller() = default;

  /// Whether a next epoch has begun.
  [[nodiscard]] bool has_begun() const;

  /// Begins the next epoch; the one before has to be taken. `make` is called on the pool, or never.
  /// `needed_before` tells, on any thread, which shards the current epoch still needs: they are not
  /// fetched for the next one.
  void begin(epoch_key key, maker make, reservation needed_before);

  /// Prepares the next epoch so far, if one has begun.
  void want(readiness wanted);

  /// Resumes fetches that found no room.
  void fetch_on();

  /// Lets it, and an epoch that `leave` has left there, give up a shard that was found to be bad.
  /// Neither holds it when this returns, even if another thread is ending that epoch: it could not
  /// be fetched again.
  void yield(std::uint32_t shard);

  /// When the next epoch needs a shard, in its own batches; `never` as long as it does not know.
  [[nodiscard]] std::uint64_t next_use(std::uint32_t shard, std::uint64_t from) const;

  /// The next epoch as far as it got, after the step in progress. Null if it is another one than
  /// this, which is left, or has not got anywhere.
  [[nodiscard]] epoch_pointer take(const epoch_key& key);

  /// Ends an epoch. If nothing of it is under way, it stays until `clear`, so that no thread is
  /// woken for it: on a machine without an idle core that would take the caller's.
  void leave(epoch_pointer ended);

  /// Destroys on the pool what `leave` has left there.
  void clear();

  /// A stop of it is requested once nothing is under way of the epochs that were left. None is
  /// possible if nothing is.
  [[nodiscard]] std::stop_token others_gone() const;

  /// Leaves the current epoch and all others, and calls `then`, which may destroy this, once
  /// nothing of them is under way: here, or on the thread where that ends.
  void close(epoch_pointer current, unique_function<void()> then);

 private:
  // What depends on threads. Tests put it in an order of their own.

  virtual void post(unique_function<void()> work) { threads_.post(std::move(work)); }
  /// Gives the lock up until `wake` is called. May return before.
  virtual void wait(std::unique_lock<std::mutex>& lock) { changed_.wait(lock); }
  /// Under the lock.
  virtual void wake() { changed_.notify_all(); }

  /// On the pool.
  void go_on();

  [[nodiscard]] bool step(readiness next) noexcept;

  void leave_all();

  /// Ends what `leave` has left there.
  void end_left();

  /// Under the lock: an epoch that is to end; null if there is none.
  [[nodiscard]] epoch_pointer leaving(epoch_pointer& from);

  /// Memory that runs out here ends the program: `yield` and `close` would wait for ever.
  void end(epoch_pointer ended) noexcept;

  /// On any thread: nothing of this epoch is under way any more.
  void has_ended(epoch_pointer spent);

  runtime& threads_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  epoch_states states_;
  epoch_key key_;
  maker make_;
  reservation needed_before_;
  epoch_pointer next_;
  epoch_pointer left_;      // until `clear`
  std::size_t ending_ = 0;  // threads in `end_left`
  epoch_pointer current_;   // from `close` on
  std::stop_source others_gone_{std::nostopstate};
  unique_function<void()> then_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/epoch_controller.ipp>
#endif
