#pragma once

/// The callers that wait for a shard.

#include <mdstream/cache/detail/shard_ref.hpp>
#include <mdstream/core/detail/unique_function.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/schedule/detail/eviction.hpp>
#include <mdstream/store/detail/call_gate.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <unordered_map>

namespace mdstream::inline v0::detail {

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
    std::shared_ptr<std::stop_callback<canceller>> cancel;
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
  /// its way; null when it is under way. Throws std::bad_alloc, and has done nothing then.
  [[nodiscard]] std::shared_ptr<entry> add(std::uint32_t shard, urgency why, std::stop_token stop,
                                           diagnostics& where, handler done);

  /// Whether a caller waits that cannot do without it.
  [[nodiscard]] bool wanted_now(const entry& of) const;

  /// The shard's way is over: completes all that wait for it. The last one is given `ref` itself:
  /// when it has it, nobody else holds the shard on its behalf.
  void finish(std::uint32_t shard, const std::shared_ptr<entry>& of, std::error_code code,
              const diagnostics& where, shard_ref ref);

  /// Completes those that asked ahead, with `code`. True when nobody else waits, and the shard's
  /// way is over.
  [[nodiscard]] bool dismiss_ahead(std::uint32_t shard, const std::shared_ptr<entry>& of,
                                   std::error_code code, const diagnostics& where);

  /// Requests a stop of everything under way.
  void stop_all();

 private:
  static void complete(waiter& who, std::error_code code, const diagnostics& where, shard_ref ref);

  /// The caller holds the lock.
  void forget(std::uint32_t shard, const std::shared_ptr<entry>& of);

  /// Lets a stop end one waiter. The callback is made outside the lock, because it runs at once
  /// when the stop was requested before.
  void watch(std::uint32_t shard, std::uint64_t number, std::stop_token stop);

  void cancel(std::uint32_t shard, std::uint64_t number);

  mutable std::mutex mutex_;
  std::unordered_map<std::uint32_t, std::shared_ptr<entry>> entries_;
  std::uint64_t next_number_ = 0;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/cache/detail/impl/shard_requests.ipp>
#endif
