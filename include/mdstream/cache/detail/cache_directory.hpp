#pragma once

/// The directory in which the processes of a node share one copy of each shard: which
/// process may fetch one, what is evicted, what is pinned.

#include <mdstream/cache/detail/cache_ledger.hpp>
#include <mdstream/cache/detail/catalog.hpp>
#include <mdstream/cache/detail/ledger_transaction.hpp>
#include <mdstream/cache/detail/mapping.hpp>
#include <mdstream/cache/detail/shard_fetch.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/schedule/detail/eviction.hpp>
#include <mdstream/store/detail/file.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// Why a directory of the cache cannot be made, by its errno. Another `local` is advised where the
/// place is the reason: not for a full disk, nor where the process lacks descriptors or memory.
[[nodiscard]] error no_cache_directory(int failure, const std::string& path);

/// Makes a directory of the cache, which the users of the one above it can use too. Throws
/// `no_cache_directory`.
void make_cache_directory(const std::string& path);

/// The right to make a shard, and the room for it.
struct shard_claim {
  unique_fd lock{};
  reservation reserved{};
};

enum class claim_result {
  claimed,  ///< this process is to fetch it
  check,    ///< it lies there, and this process is to check it: see `checked`
  there,    ///< it is complete
  busy,     ///< another process fetches or evicts it
  no_room,  ///< what could be evicted is pinned, or is needed sooner than what is asked for
};

/// All calls are thread-safe.
class cache_directory {
 public:
  /// Of a shard whose files lie there; none where one is missing.
  [[nodiscard]] static std::optional<detail::shard_stamp> stamp_of(const catalog_stream& stream,
                                                                   const shard_files& files);

  struct hooks {
    /// The first use of a shard at or after a place in the order, 0 being now; `never` when there
    /// is none.
    std::function<std::uint64_t(std::uint32_t, std::uint64_t)> next_use{};
    /// Whether those places are batches of an order, and not mere guesses.
    std::function<bool()> knows_order{};
    /// Unmaps a shard that nobody in this process holds; false when somebody does.
    std::function<bool(std::uint32_t)> release{};
    /// Whether the bytes that are mapped here have been dropped by another process.
    std::function<bool(std::uint32_t)> is_dropped{};
  };

  /// As `cache_ledger`.
  cache_directory(std::string root, std::uint64_t limit, const shard_catalog& catalog, hooks calls,
                  ledger_rules rules = {});

  [[nodiscard]] cache_ledger& ledger() noexcept { return ledger_; }

  /// Whether shards in use have to be pinned: some process has a limit.
  [[nodiscard]] bool limited() const noexcept { return ledger_.limit() != 0; }
  [[nodiscard]] std::uint64_t limit() const noexcept { return ledger_.limit(); }

  /// Shards that this process has evicted.
  [[nodiscard]] std::uint64_t evicted() const noexcept {
    return evicted_.load(std::memory_order_relaxed);
  }

  /// A shared lock that pins the shard against eviction; an empty one when no process has a limit;
  /// none when another process holds it to fetch or evict it.
  [[nodiscard]] std::optional<unique_fd> try_pin(std::uint32_t shard) const;

  /// Asks to make a shard that will take `bytes` on the disk; evicts what has to go for it.
  [[nodiscard]] claim_result claim(std::uint32_t shard, std::uint64_t bytes, urgency why,
                                   shard_claim& out);

  /// Evicts, whatever the limit, what `bytes` on a full disk need, in the order in which shards go
  /// for a limit. False: nothing may go.
  [[nodiscard]] bool make_room_on_disk(std::uint32_t shard, std::uint64_t bytes, urgency why);

  /// Gives a fetched shard its names. Returns its mapping and the lock that pins it from now on.
  /// Throws `errc::not_found` when the directory was deleted meanwhile.
  [[nodiscard]] std::pair<file_mapping, unique_fd> publish(std::uint32_t shard, shard_claim claim,
                                                           fetched_shard fetched);

  /// Gives up a claim.
  void abandon(std::uint32_t shard, shard_claim claim);

  /// Ends a claim to check a shard. `stamp`: of the files when their contents were read. What is
  /// not right is deleted.
  void checked(std::uint32_t shard, shard_claim claim, const detail::shard_stamp& stamp,
               bool is_right);

  /// Has a shard flushed when `flush_due` is called so much later.
  void flush_later(std::uint32_t shard);

  /// Whether `flush_due` has something to do.
  [[nodiscard]] bool has_due(std::chrono::nanoseconds after) const;

  /// Flushes one shard of those that have waited so long, and writes that down. Waits for the disk.
  void flush_due(std::chrono::nanoseconds after);

  /// Whether a stopped process (SIGSTOP) holds the shard's lock. The shard may be fetched then with
  /// a default `shard_claim`: it has neither the lock nor reserved room.
  [[nodiscard]] bool is_held_by_stopped(std::uint32_t shard) const;

  /// Deletes a damaged file of a stream that has a remote.
  void discard(const std::string& path);

  /// Deletes a shard whose bytes, as they are mapped here, are bad, unless this process uses it;
  /// false then. Other processes that pin it keep their mappings, whose bytes are not counted any
  /// more. What one of them has fetched anew stays. The stream has a remote.
  bool drop(std::uint32_t shard);

  /// Deletes a shard that lies there, unless some process uses it; false then. The stream has a
  /// remote.
  bool evict(std::uint32_t shard);

  /// Throws `errc::cache_too_small`, naming the smallest limit that works, when the limit does not
  /// hold the indexes and the largest shard of any process. That much is enough for all of them:
  /// see `may_hold`.
  void check_limit();

  /// Whether this process may hold shards of so many bytes while it waits for room for more of
  /// them; then the room is set aside for it. Where not, it may hold none while it waits for one.
  /// So nobody waits in a circle: what is held while others are waited for fits beneath the limit,
  /// and all else is given back in finite time. Where all that the processes read fits, nobody
  /// waits, and everything may be held.
  [[nodiscard]] bool may_hold(std::uint64_t bytes);

  /// A limit with which so many processes, or as many as there are, may each hold any `shards`.
  [[nodiscard]] std::uint64_t limit_to_hold(std::uint64_t shards, std::uint64_t processes);

  /// Tells other processes which of the shards that lie there this one reads soon, so that they do
  /// not evict them if anything else can go. O(shards). To be called now and then.
  void publish_uses();

  /// Bytes in use and reserved, over all processes.
  [[nodiscard]] std::uint64_t usage();

 private:
  [[nodiscard]] claim_result try_claim(std::uint32_t shard, std::uint64_t bytes, urgency why,
                                       cache_ledger::transaction& change, shard_claim& out);

  /// What of a shard lies there is worth. Files of another size, and those that nothing vouches
  /// for, are deleted.
  [[nodiscard]] detail::standing standing_of(std::uint32_t shard,
                                             cache_ledger::transaction& change) const;

  static void remove_raw(const catalog_stream& stream, const shard_files& files,
                         cache_ledger::transaction& change);

  /// Writes down that a shard was fetched. It goes again where the directory has got another
  /// version of the dataset meanwhile.
  void record(std::uint32_t shard, const detail::shard_facts& facts,
              cache_ledger::transaction& change);

  static void flush_file(const catalog_stream& stream, const shard_file& file);

  [[nodiscard]] static bool is_whole(const shard_file& file, const std::string& path,
                                     std::uint64_t bytes);

  [[nodiscard]] static bool file_is_there(const catalog_stream& stream, const shard_file& file,
                                          cache_ledger::transaction& change);

  // Publishing.

  [[nodiscard]] file_mapping name_files(std::uint32_t shard, fetched_shard fetched,
                                        cache_ledger::transaction& change) const;

  [[nodiscard]] static file_mapping name_parts(const catalog_stream& stream, const shard_file& file,
                                               fetched_shard fetched,
                                               cache_ledger::transaction& change);

  [[nodiscard]] static file_mapping map_two(const catalog_stream& stream, const shard_files& files);

  [[nodiscard]] static file_mapping name_file(temporary_file file, const std::string& path,
                                              cache_ledger::transaction& change);

  /// Turns the exclusive lock into a pin. Nobody can come between: exclusive locks are only tried
  /// under the directory lock.
  [[nodiscard]] unique_fd pin_published(std::uint32_t shard, unique_fd lock) const;

  // Room.

  /// Whether what was evicted is enough.
  using enough_function = std::function<bool()>;

  [[nodiscard]] bool make_room(std::uint32_t shard, urgency why, cache_ledger::transaction& change,
                               const enough_function& enough);

  /// What a walk over the shards that lie there has found.
  struct survey {
    std::vector<eviction_candidate> others{};  ///< that some process may need
    std::uint64_t now = 0;  ///< where this process is in its order: at what it reads first
  };

  /// Evicts shards that no process has announced to use, until that is enough; they go first, and
  /// usually one is enough. Each walk begins where the last one ended. Shards of streams without a
  /// remote are never evicted.
  bool evict_unneeded(std::uint32_t wanted, std::uint64_t from, bool may_evict,
                      const std::vector<use_elsewhere>& elsewhere,
                      cache_ledger::transaction& change, const enough_function& enough,
                      survey& seen);

  [[nodiscard]] std::uint64_t next_use(std::uint32_t shard, std::uint64_t from) const {
    return hooks_.next_use ? hooks_.next_use(shard, from) : never;
  }
  [[nodiscard]] bool knows_order() const { return hooks_.knows_order && hooks_.knows_order(); }

  /// Evicts a shard unless some process pins it.
  bool try_evict(std::uint32_t shard, cache_ledger::transaction& change);

  void remove(std::uint32_t shard, cache_ledger::transaction& change);

  static void remove_parts(const catalog_stream& stream, const shard_file& file,
                           cache_ledger::transaction& change);

  static constexpr std::size_t most_published = 4096;

  struct waiting_flush {
    std::uint32_t shard;
    std::chrono::steady_clock::time_point since;
  };
  /// What was answered last by `may_hold`, and what that depends on.
  struct holding {
    std::uint64_t limit = 0;
    std::uint64_t membership = 0;
    std::uint64_t granted = 0;
    std::uint64_t refused = never;
  };

  cache_ledger ledger_;
  const shard_catalog& catalog_;
  hooks hooks_;
  std::atomic<std::uint64_t> evicted_{0};
  mutable std::mutex flush_mutex_;
  std::deque<waiting_flush> to_flush_;
  std::uint32_t hand_ = 0;  // where the next walk over the shards begins; under the directory lock
  std::mutex holding_mutex_;
  holding holding_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/cache/detail/impl/cache_directory.ipp>
#endif
