#pragma once

/// One epoch on one rank, carried out: says when the next batch can be built, and what is done
/// about shards that cannot be read.

#include <mdstream/async/detail/waiting_call.hpp>
#include <mdstream/async/detail/work_count.hpp>
#include <mdstream/async/runtime.hpp>
#include <mdstream/core/detail/unique_function.hpp>
#include <mdstream/stream/detail/copied_samples.hpp>
#include <mdstream/stream/detail/delivery_limits.hpp>
#include <mdstream/stream/detail/fetch_ahead.hpp>
#include <mdstream/stream/detail/lookahead.hpp>
#include <mdstream/stream/detail/recovery.hpp>
#include <mdstream/stream/detail/shard_supply.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// A shard whose bytes are bad is dropped and fetched once more; what is still bad, or cannot be
/// had at all, fails its batch, or other shards take its place, as `delivery_limits` say.
///
/// The shards of the first batch are held; with a cache limit no others are, because what is held
/// cannot be evicted. Where the limit does not allow even that, the batch's samples are copied out
/// of each shard as it comes, and no shard is held. One consumer at a time calls `wait` or
/// `async_next`, `front`, `shard` and `pop`. Between the announcement of a batch and `pop`, its
/// shards are read without a lock. The destructor waits for nothing: before it nothing may be under
/// way.
class delivery {
 public:
  /// What is on its way to this is counted in `under_way`. `before_drop` is called on any thread
  /// before a shard is dropped, for others that may hold it.
  delivery(detail::shard_supply& supply, runtime& threads, work_count& under_way, lookahead order,
           const delivery_limits& limits, std::function<void(std::uint32_t)> before_drop = {});
  delivery(const delivery&) = delete;
  delivery& operator=(const delivery&) = delete;

  /// Cancels what is under way. The last call of all.
  void stop();

  // Before the first batch is asked for, by one thread at a time.

  /// Reads the order of the first batches; with a cache limit as far as eviction will go by it.
  void read_first();
  /// Asks for their shards, but for those that `needed_before` says others need before: they fetch
  /// those. What is here is held, until `yield`.
  void fetch_first(const std::function<bool(std::uint32_t)>& needed_before);
  /// Lets go of a shard that was found to be bad elsewhere. Any thread.
  void yield(std::uint32_t shard);
  /// Goes on with that where it waits for room. Any thread.
  void fetch_on();
  /// Announces no batch before a stop of this token is requested: until then others put theirs
  /// together, and hold shards. What was asked for already stays asked for.
  void wait_for(std::stop_token others_gone);

  /// Waits until the next batch can be built; false at the end of the epoch. Throws what went
  /// wrong with one of its shards; the next call tries again.
  bool wait();

  /// As `wait`, without blocking. On a pool thread, `build()` is called when the batch can be
  /// built, again after it returned false, then `done` with nothing or what went wrong: `build`'s
  /// exception, a shard's failure, `errc::end_of_epoch`, or `errc::canceled` where `stop` was
  /// requested before the batch was ready. This object may be gone when `done` is called.
  void async_next(std::stop_token stop, unique_function<bool()> build,
                  unique_function<void(std::exception_ptr)> done);

  /// To be called between the announcement of a batch and `pop`, by the code that found that
  /// samples of one of its shards are bad. True when the batch has been changed for it, so that it
  /// has to be waited for once more; false when the failure stands. `alone`: no batch that was
  /// taken over before holds the shard. Otherwise none takes its place: it could only not be
  /// fetched again yet.
  bool recover(std::uint32_t shard, bool alone = true);

  /// The batch that was announced.
  [[nodiscard]] const upcoming_batch& front() const noexcept { return ahead_.front(); }
  /// After `pop`: the batch that will be announced next, if its shards are held already; before it,
  /// with 1 for `after`, the one behind the announced batch. They stay held until it is announced.
  [[nodiscard]] const upcoming_batch* upcoming(std::size_t after = 0) const noexcept;
  /// The samples of the announced batch where they were copied, because its shards cannot be held;
  /// null where these are. Until `pop`; may be moved from before.
  [[nodiscard]] copied_samples* copied() noexcept { return copies() ? &copied_ : nullptr; }
  /// Whether that was so of any batch. Any thread.
  [[nodiscard]] bool has_copied() const noexcept {
    return has_copied_.load(std::memory_order_relaxed);
  }
  /// One of these batches' own shards, where they are held, and the reference to it.
  [[nodiscard]] const shard_samples& shard(std::uint32_t number) const noexcept {
    return ahead_.shard(number);
  }
  [[nodiscard]] const shard_ref& ref(std::uint32_t number) const noexcept {
    return ahead_.ref(number);
  }
  /// References to all shards of the announced batch, to keep its samples beyond `pop`.
  void share_front(std::vector<shard_ref>& out) const;
  /// How much is left to read ahead. Any thread.
  [[nodiscard]] epoch_outlook outlook() const noexcept { return ahead_.outlook(); }
  /// Batches of the epoch.
  [[nodiscard]] std::uint64_t batches() const noexcept { return ahead_.order().of_epoch(); }
  /// Time that `wait` has waited for shards.
  [[nodiscard]] std::chrono::nanoseconds stalled() const noexcept { return stalled_; }
  /// Shards in whose place others are read, ascending. Any thread.
  [[nodiscard]] std::vector<std::uint32_t> excluded() const;
  /// What became of the shards of the batches so far. Any thread.
  [[nodiscard]] shard_counters counters() const;

  /// What the next batch waits for.
  struct awaited {
    std::uint64_t number = 0;              ///< of the batch, as `upcoming_batch::number`
    std::size_t needs = 0;                 ///< shards
    std::vector<std::uint32_t> missing{};  ///< those that were asked for and are not there yet
  };
  /// Nothing where no batch was asked for, or none is left. Any thread.
  [[nodiscard]] std::optional<awaited> waits_for() const;

  /// Leaves the first batch behind and fetches on.
  void pop();

  /// When this node needs the shard first at or after a number that this function gave, 0 being
  /// now: a number that grows with the distance, `never` if that is beyond the horizon. Any thread.
  [[nodiscard]] std::uint64_t next_use(std::uint32_t shard, std::uint64_t from) const;

 private:
  /// What is kept of the first batch until it is complete.
  enum class keeping : std::uint8_t {
    shards,
    samples_next,  ///< shards, which did not all fit: samples from the next try on
    samples        ///< copies of them, because its shards cannot all be held
  };

  /// What `async_next` was given.
  struct pending : waiting_call {
    pending(unique_function<bool()> first, unique_function<void(std::exception_ptr)> last)
        : build(std::move(first)), done(std::move(last)) {}
    unique_function<bool()> build;
    unique_function<void(std::exception_ptr)> done;
  };

  // Members below are called under the lock. Those that take it as an argument give it up in
  // between, because the cache may complete at once.

  /// Waits, and counts the time.
  template <class Condition>
  void stall(std::unique_lock<std::mutex>& lock, Condition over) {
    const auto before = std::chrono::steady_clock::now();
    arrived_.wait(lock, over);
    stalled_ += std::chrono::steady_clock::now() - before;
  }

  /// Acquires what the first batch needs and is not held yet.
  void gather_front(std::unique_lock<std::mutex>& lock);

  /// Whether the first batch's shards can be held until all of them are there.
  void decide_to_copy(std::unique_lock<std::mutex>& lock);

  [[nodiscard]] bool copies() const noexcept { return keeping_ == keeping::samples; }

  [[nodiscard]] bool has(std::uint32_t shard) const noexcept {
    return copies() ? copied_.has(shard) : ahead_.holds(shard);
  }

  /// Holds a shard of the first batch, or copies what that needs of it.
  void take(std::uint32_t shard, shard_ref ref, std::unique_lock<std::mutex>& lock) noexcept;

  /// Lets go of what is held of the first batch, of which no more can be had: it is copied.
  void release_held(std::unique_lock<std::mutex>& lock);

  /// Without the lock.
  void acquire(std::uint32_t shard);

  /// Without the lock, on any thread.
  void acquired(shard_request& call, std::error_code failure, shard_ref ref);

  /// What went wrong with the first batch, once; after that its shards are asked for again.
  [[nodiscard]] std::exception_ptr take_failure() noexcept;

  /// Changes the first batch for the failure of one of its shards, where that can be done.
  [[nodiscard]] bool recover_failure(std::unique_lock<std::mutex>& lock);

  /// Gives up a shard with bad bytes, so that it is fetched once more; false where it was before,
  /// or where it cannot be.
  [[nodiscard]] bool drop(std::uint32_t shard, std::unique_lock<std::mutex>& lock);

  /// Lets other shards take the place of one that cannot be read.
  [[nodiscard]] bool substitute(std::uint32_t shard, std::error_code why);

  /// Sees to it that the waiter's batch is built, or that it hears why not.
  void gather_for(std::shared_ptr<pending> waiter, std::unique_lock<std::mutex>& lock);

  /// Builds, where nothing failed, and completes, both on the pool.
  void conclude(std::shared_ptr<pending> waiter, std::exception_ptr failure);

  /// Without the lock. False when the batch was changed and the waiter waits for it again.
  [[nodiscard]] bool try_build(const std::shared_ptr<pending>& waiter);

  /// Without the lock; by a stop callback.
  void go_on();

  /// Without the lock; by a stop callback.
  void cancel(pending* waiter);

  detail::shard_supply& supply_;
  runtime& threads_;
  std::function<void(std::uint32_t)> before_drop_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::stop_source stop_;
  work_count& under_way_;
  fetch_ahead ahead_;
  recovery recovery_;  // of the first batch's shards
  shard_counters counters_;
  std::shared_ptr<pending> waiting_;
  std::size_t missing_ = 0;  // shards of the first batch that are on their way
  std::chrono::nanoseconds stalled_{0};
  copied_samples copied_;  // of the first batch, if it `copies`
  keeping keeping_ = keeping::shards;
  std::atomic<bool> has_copied_{false};
  bool gathered_ = false;   // the first batch's shards were asked for
  bool held_back_ = false;  // until `others_gone_` calls, nothing more is asked for or announced
  std::optional<std::stop_callback<std::function<void()>>> others_gone_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/delivery.ipp>
#endif
