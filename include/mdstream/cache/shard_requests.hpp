#pragma once

/// Who waits for which shard.

#include <mdstream/cache/slots.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/core/unique_function.hpp>
#include <mdstream/schedule/eviction.hpp>
#include <mdstream/store/detail/call_gate.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// Counts work in progress, so that its owner can wait for the end of all of it.
class work_count {
 public:
  void begin() {
    const std::lock_guard lock(mutex_);
    ++count_;
  }
  void end() {
    unique_function<void()> then;
    {
      const std::lock_guard lock(mutex_);
      if (--count_ != 0) return;
      idle_.notify_all();
      then = std::exchange(then_, {});
    }
    if (then) then();
  }
  void wait_idle() {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return count_ == 0; });
  }
  /// Instead of waiting: calls `then`, which may destroy this, at once where nothing is in
  /// progress, else when the last of it ends. Nothing begins any more, but by what is in progress.
  void when_idle(unique_function<void()> then) {
    {
      const std::lock_guard lock(mutex_);
      if (count_ != 0) {
        then_ = std::move(then);
        return;
      }
    }
    then();
  }

 private:
  std::mutex mutex_;
  std::condition_variable idle_;
  unique_function<void()> then_;
  std::size_t count_ = 0;
};

/// The requests for shards that are on their way, joined by shard. Thread-safe; handlers are called
/// without a lock, exactly once each.
class shard_requests {
 public:
  using handler = unique_function<void(std::error_code, shard_ref)>;

 private:
  struct canceller {
    shard_requests* owner;
    std::uint32_t shard;
    std::uint64_t number;
    void operator()() const { owner->cancel(shard, number); }
  };

  struct waiter {
    urgency why;
    diagnostics* where;
    handler done;
    std::unique_ptr<std::stop_callback<canceller>> cancel;
  };

 public:
  /// A shard on its way. `stop` is requested when nobody wants it any more.
  class entry {
   public:
    std::stop_source stop{};
    /// Of its requests to the store.
    const std::shared_ptr<detail::call_place> place = std::make_shared<detail::call_place>();

   private:
    friend class shard_requests;
    std::map<std::uint64_t, waiter> waiters_;
  };

  /// Adds a request. Returns the shard's entry when it is the first, and the caller is to set it on
  /// its way; null when it is under way.
  [[nodiscard]] std::shared_ptr<entry> add(std::uint32_t shard, urgency why, std::stop_token stop,
                                           diagnostics& where, handler done) {
    std::shared_ptr<entry> begun;
    std::uint64_t number = 0;
    {
      const std::lock_guard lock(mutex_);
      std::shared_ptr<entry>& known = entries_[shard];
      number = next_number_++;
      if (known == nullptr) {
        begun = known = std::make_shared<entry>();
        known->place->turn = number;
      }
      if (why == urgency::now) known->place->now = true;
      known->waiters_.emplace(number, waiter{why, &where, std::move(done), nullptr});
    }
    if (stop.stop_possible()) watch(shard, number, std::move(stop));
    return begun;
  }

  /// Whether somebody waits who can not do without it.
  [[nodiscard]] bool wanted_now(const entry& of) const {
    const std::lock_guard lock(mutex_);
    return std::any_of(of.waiters_.begin(), of.waiters_.end(),
                       [](const auto& each) { return each.second.why == urgency::now; });
  }

  /// The shard's way is over: completes everybody who waits for it.
  void finish(std::uint32_t shard, const std::shared_ptr<entry>& of, std::error_code code,
              const diagnostics& where, const shard_ref& ref) {
    std::map<std::uint64_t, waiter> waiters;
    {
      const std::lock_guard lock(mutex_);
      waiters.swap(of->waiters_);
      forget(shard, of);
    }
    for (auto& [number, each] : waiters) complete(each, code, where, ref);
  }

  /// Completes those who asked ahead, with `code`. True when nobody else waits, and the shard's way
  /// is over.
  [[nodiscard]] bool dismiss_ahead(std::uint32_t shard, const std::shared_ptr<entry>& of,
                                   std::error_code code, const diagnostics& where) {
    std::vector<waiter> dismissed;
    bool over = false;
    {
      const std::lock_guard lock(mutex_);
      for (auto at = of->waiters_.begin(); at != of->waiters_.end();) {
        if (at->second.why == urgency::now) {
          ++at;
          continue;
        }
        dismissed.push_back(std::move(at->second));
        at = of->waiters_.erase(at);
      }
      over = of->waiters_.empty();
      if (over) forget(shard, of);
    }
    for (waiter& each : dismissed) complete(each, code, where, {});
    return over;
  }

  /// Requests a stop of everything under way.
  void stop_all() {
    std::vector<std::shared_ptr<entry>> all;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [shard, each] : entries_) all.push_back(each);
    }
    for (const std::shared_ptr<entry>& each : all) each->stop.request_stop();
  }

 private:
  static void complete(waiter& who, std::error_code code, const diagnostics& where,
                       const shard_ref& ref) {
    who.cancel.reset();
    if (code) *who.where = where;
    who.done(code, ref);
  }

  /// The caller holds the lock.
  void forget(std::uint32_t shard, const std::shared_ptr<entry>& of) {
    const auto at = entries_.find(shard);
    if (at != entries_.end() && at->second == of) entries_.erase(at);
  }

  /// Lets a stop end one waiter. The callback is made outside the lock, because it runs at once
  /// when the stop was requested before.
  void watch(std::uint32_t shard, std::uint64_t number, std::stop_token stop) {
    auto callback = std::make_unique<std::stop_callback<canceller>>(std::move(stop),
                                                                    canceller{this, shard, number});
    const std::lock_guard lock(mutex_);
    const auto at = entries_.find(shard);
    if (at == entries_.end()) return;
    const auto who = at->second->waiters_.find(number);
    if (who != at->second->waiters_.end()) who->second.cancel = std::move(callback);
  }

  void cancel(std::uint32_t shard, std::uint64_t number) {
    std::optional<waiter> gone;
    std::shared_ptr<entry> abandoned;
    {
      const std::lock_guard lock(mutex_);
      const auto at = entries_.find(shard);
      if (at == entries_.end()) return;
      auto& waiters = at->second->waiters_;
      const auto who = waiters.find(number);
      if (who == waiters.end()) return;
      gone.emplace(std::move(who->second));
      waiters.erase(who);
      if (waiters.empty()) {
        abandoned = std::move(at->second);
        entries_.erase(at);  // a request that comes now begins anew
      }
    }
    if (abandoned) abandoned->stop.request_stop();
    *gone->where = {.what = "the request was cancelled"};
    gone->done(errc::canceled, {});
  }

  mutable std::mutex mutex_;
  std::unordered_map<std::uint32_t, std::shared_ptr<entry>> entries_;
  std::uint64_t next_number_ = 0;
};

}  // namespace mdstream::inline v0
