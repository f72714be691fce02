#pragma once

/// One copy of each shard on a node, for all its processes.

#include <mdstream/async/detail/work_count.hpp>
#include <mdstream/async/runtime.hpp>
#include <mdstream/cache/detail/cache_directory.hpp>
#include <mdstream/cache/detail/catalog.hpp>
#include <mdstream/cache/detail/claims_in_order.hpp>
#include <mdstream/cache/detail/next_use.hpp>
#include <mdstream/cache/detail/resident_shards.hpp>
#include <mdstream/cache/detail/shard_fetch.hpp>
#include <mdstream/cache/detail/shard_requests.hpp>
#include <mdstream/cache/detail/slots.hpp>
#include <mdstream/cache/options.hpp>
#include <mdstream/codec/detail/codec_set.hpp>
#include <mdstream/core/detail/descriptors.hpp>
#include <mdstream/core/detail/unique_function.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/hash/detail/hash_set.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// The shards of several streams, numbered over all of them in order, as mapped bytes.
///
/// What is missing is fetched from the stream's remote, checked and decompressed on the runtime's
/// pool. With a limit, what is needed farthest in the future is evicted to make room; what is held
/// by a `shard_ref` of any process is not; what has no remote is never deleted. Processes that use
/// the same root share one copy of each shard and one limit, and may be killed at any time.
///
/// All members are thread-safe. References may outlive the cache; its destructor cancels what is in
/// progress and waits for it: on a thread of the runtime call `async_end` before. The runtime and
/// the indexes have to outlive the cache.
class shard_cache {
 public:
  using acquire_handler = unique_function<void(std::error_code, shard_ref)>;
  using prefetch_handler = unique_function<void(std::error_code)>;

  /// Throws `errc::invalid_argument` for options that cannot be right, `errc::cache_too_small` for
  /// a limit below the indexes and the largest shard, `errc::unsupported` when the root's file
  /// system has no locks.
  shard_cache(runtime& threads, cache_options options, std::vector<cache_stream> streams,
              detail::codec_set codecs, detail::hash_set hashes);
  shard_cache(const shard_cache&) = delete;
  shard_cache& operator=(const shard_cache&) = delete;

  ~shard_cache();

  /// Cancels what is in progress and calls `ended`, which may destroy the cache, when that has come
  /// to its end: at once, or on the thread of the last of it. The last call of all.
  void async_end(unique_function<void()> ended);

  /// In a forked child, which has none of the threads: unmaps what nobody there uses.
  void abandon() noexcept { here_.slots().abandon(); }

  /// Number of shards of all streams.
  [[nodiscard]] std::uint32_t shards() const noexcept { return catalog_.shards(); }

  /// Whether what is held counts against a limit, this process's or another's.
  [[nodiscard]] bool limited() const noexcept { return limit() != 0; }
  /// The smallest limit of the processes that use the root; 0: none has one.
  [[nodiscard]] std::uint64_t limit() const noexcept {
    return directory_ ? directory_->limit() : 0;
  }

  /// A reference to a shard that is resident and mapped already: a few instructions, no lock.
  /// Precondition: `shard < shards()`.
  [[nodiscard]] std::optional<shard_ref> try_acquire(std::uint32_t shard) noexcept {
    return here_.slots().try_acquire(shard);
  }

  /// Makes the shard resident and mapped and gives a reference to it. Completes exactly once: on
  /// the calling thread, before this returns, when the shard is resident, else on any thread.
  /// `where` has to stay until then. Requests for the same shard share one fetch; a requested stop
  /// ends this request alone, with `errc::canceled`.
  void async_acquire(std::uint32_t shard, std::stop_token stop, diagnostics& where,
                     acquire_handler done);

  /// Makes the shard resident, for later; it is not pinned. `errc::cache_too_small` says that there
  /// is no room for it now that holds nothing needed sooner, or was none for one that was asked for
  /// before it: ask again later, in the order of need. Completes as `async_acquire` does.
  void async_prefetch(std::uint32_t shard, std::stop_token stop, diagnostics& where,
                      prefetch_handler done);

  /// The same, waiting. Throws. Never call it on a thread of the runtime.
  [[nodiscard]] shard_ref acquire(std::uint32_t shard);

  /// Whether parts of the shard can be read from its remote as they lie in the raw shard: it has
  /// one file, which is not compressed, no hash was asked for by name, and it does not lie here.
  [[nodiscard]] bool serves_ranges(std::uint32_t shard) const;

  /// Reads bytes of a shard from its remote into memory; the cache takes no part in it. Failures
  /// that may pass are tried again as downloads are; the store's own time limits hold. Completes
  /// exactly once, on any thread, with how many bytes there were. Precondition: `serves_ranges`.
  void async_read_remote(std::uint32_t shard, std::uint64_t offset, mutable_bytes into,
                         std::stop_token stop, diagnostics& where,
                         store_handler<std::size_t> done) const;

  /// Forgets a resident shard whose bytes turned out to be bad, so that it is fetched again. False,
  /// and it stays, where it has no remote, and while this process holds it.
  bool drop(std::uint32_t shard);

  /// Deletes a shard that somebody does not want any longer. False, and it stays, where it has no
  /// remote, and while this process holds it or another pins it.
  bool evict(std::uint32_t shard);

  /// Tells when a shard is needed first at or after a given place, 0 being now: the number of a
  /// batch, smaller is sooner, `never` when it is not. Called from any thread, often; it must not
  /// call the cache. Without it the shard that was mapped first goes first. What is prefetched
  /// waits until what has to go for it is no longer needed. Processes with a limit tell each other,
  /// twenty times a second, and what one reads soon another evicts last. When this returns, the
  /// function that was set before is no longer called.
  void set_next_use(next_use_rule::function next_use) { next_use_.set(std::move(next_use)); }

  /// Whether shards of so many bytes (see `footprint`) may be held while others of them are waited
  /// for. Where not, a process that waits for a shard holds no other: so processes never wait in a
  /// circle, and every limit that was accepted is enough. From then on until it may, shards are
  /// unmapped as soon as nobody holds them, so that others find room.
  [[nodiscard]] bool may_hold(std::uint64_t bytes);
  /// A limit with which `may_hold` allows any `shards` to each of so many processes, or as many as
  /// there are: no more than the whole dataset takes.
  [[nodiscard]] std::uint64_t limit_to_hold(std::uint64_t shards, std::uint64_t processes);
  /// Unmaps a shard that nobody holds, so that other processes can evict it at once.
  void unpin(std::uint32_t shard) {
    if (here_.slots().unmap(shard)) room_.wake_first();
  }

  /// Bytes that the shard takes of the limit.
  [[nodiscard]] std::uint64_t footprint(std::uint32_t shard) const {
    return catalog_.footprint(shard);
  }

  /// Shards that are worth fetching at a time: as many as the stores bear and the lines carry, and
  /// some that wait, so that no line is idle while a shard is put in its place. Each takes room.
  [[nodiscard]] std::size_t fetches_at_once() const;

  [[nodiscard]] cache_counters counters() const noexcept;

  /// Bytes in use and reserved by all processes; none where nothing can be written.
  [[nodiscard]] std::optional<std::uint64_t> usage();

 private:
  static constexpr std::chrono::milliseconds sweep_every{50};
  static constexpr std::chrono::milliseconds poll_first{2};
  static constexpr std::chrono::milliseconds poll_longest{20};
  static constexpr unsigned publish_attempts = 3;

  struct source {
    std::optional<any_async_store> remote;
    fetch_rules rules;
    std::shared_ptr<const shard_maker> maker{};
    bool in_place = false;
  };

  /// From a request to a mapped shard; its steps run one after the other on the pool.
  struct fetch_operation {
    std::uint32_t shard;
    std::shared_ptr<shard_requests::entry> entry{};
    claims_in_order::ticket ticket{};
    diagnostics where{};
    std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
    std::chrono::steady_clock::time_point looked{};  // for the holder of its lock
    std::chrono::milliseconds pause = poll_first;
    unsigned publishes = 0;
    std::optional<fetched_shard> data{};  // while the file beside it is fetched
  };

  // Making.

  // Datasets without a remote have no root: nothing is cached.
  void adopt(cache_stream each);

  /// How the requests of a stream are repeated; its user waits no longer than for its downloads.
  [[nodiscard]] retry_policy requests_of(const cache_stream& each) const;

  [[nodiscard]] std::uint64_t repeated() const noexcept;

  void open_directory();

  // Requests.

  void request(std::uint32_t shard, urgency why, std::stop_token stop, diagnostics& where,
               acquire_handler done);

  // The way of one shard.

  void go_on(const std::shared_ptr<fetch_operation>& op);

  void step(const std::shared_ptr<fetch_operation>& op);

  /// Whether it has waited long for a process that is stopped; looked at once a second.
  [[nodiscard]] bool waits_for_stopped(fetch_operation& op) const;

  /// Within a handler of an exception: whether that was a want of descriptors, which are waited
  /// for.
  [[nodiscard]] bool waits_for_descriptors(const std::shared_ptr<fetch_operation>& op);

  [[nodiscard]] bool waited_long(const fetch_operation& op) const;

  [[nodiscard]] diagnostics no_room_text() const;

  /// Checks what lies there from before. What is not right is fetched again.
  void check(const std::shared_ptr<fetch_operation>& op, shard_claim claim);

  /// Whether a raw file holds what the index says. A disk that does not give it is as bad.
  [[nodiscard]] bool has_right_bytes(const catalog_stream& owner, const shard_file& file) const;

  /// Looks again after a pause, because another process may have changed something, or at once when
  /// something happens here.
  void again(const std::shared_ptr<fetch_operation>& op, std::stop_token something);

  void fetch(const std::shared_ptr<fetch_operation>& op, std::optional<shard_claim> claim);

  /// What was fetched for a shard in one or two files.
  [[nodiscard]] static std::optional<fetched_shard> joined(fetch_operation& op,
                                                           std::optional<fetched_shard> got);

  void fetched(const std::shared_ptr<fetch_operation>& op, std::optional<shard_claim> claim,
               std::error_code code, std::optional<fetched_shard> got);

  void fail(fetch_operation& op, const std::exception_ptr& failure);
  void describe(fetch_operation& op, const std::exception_ptr& failure);

  /// A full disk is made room on as a full limit is. False: nothing may go, or it took too long.
  [[nodiscard]] bool made_room_on_disk(const fetch_operation& op);

  /// Completes all that wait.
  void finish(const fetch_operation& op, std::error_code code, shard_ref ref);

  /// Nothing of the cache is touched after the last line: its destructor waits for exactly that.
  void end(const fetch_operation& op);

  [[nodiscard]] bool dismiss_ahead(fetch_operation& op);

  /// Unpins what nobody has used for a while, so that other processes can evict it, and tells them
  /// what will be. Takes a twentieth of a thread's time at most.
  void tick(std::chrono::nanoseconds pause = sweep_every);

  /// Flushes one shard that nothing could check after a power loss, if one waits for that.
  void flush();

  runtime& threads_;
  cache_options options_;
  detail::codec_set codecs_;
  detail::hash_set hashes_;
  shard_catalog catalog_;
  std::vector<source> sources_;
  resident_shards here_;
  std::optional<cache_directory> directory_;
  std::string not_writable_{};  // why there is none, though there are remotes

  next_use_rule next_use_;
  claims_in_order claims_;
  waits_for_room room_;
  shard_requests requests_;
  work_count work_;
  std::stop_source stop_;

  std::atomic<bool> flushing_{false};
  // A fetch takes up to four descriptors: two of files, and two of its connection.
  const std::size_t most_under_way_ = detail::most_at_once();
  std::atomic<std::size_t> under_way_{0};  // fetches
  std::atomic<bool> told_of_descriptors_{false};
  std::atomic<bool> told_of_disk_{false};
  std::atomic<bool> tight_{false};  // what a batch needs can not be held
  std::atomic<std::uint64_t> fetched_{0};
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<std::uint64_t> failed_{0};
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/cache/detail/impl/shard_cache.ipp>
#endif
