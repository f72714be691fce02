#pragma once

/// What a shard cache is made from.

#include <mdstream/cache/detail/file_lock.hpp>
#include <mdstream/cache/detail/shard_facts.hpp>
#include <mdstream/cache/detail/shard_maker.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/opened_store.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace mdstream::inline v0 {

class dataset_index;

/// How a cache directory is used.
struct cache_options {
  /// The directory in which processes meet: `.mdstream` lies in it. The streams' directories are
  /// usually beneath it. Processes that share a stream's directory have to use the same root.
  std::string root{};

  /// Bytes that the shards and indexes of all streams with a remote may take on the disk, over all
  /// processes that use `root`; 0: no limit. The smallest limit of the processes holds.
  std::uint64_t limit = 0;

  /// Shards mapped at one time; 0: half of what the system allows a process.
  std::size_t max_mappings = 0;

  /// The pause before a shard that came with wrong content is fetched anew; it doubles.
  std::chrono::nanoseconds retry_pause = std::chrono::seconds(1);

  /// Gets warnings, from any thread: when a store fails, at once and then at most once a minute;
  /// once when there are too few descriptors.
  std::function<void(const std::string&)> warn{};

  /// How long an acquire waits for room that others keep pinned before it fails with
  /// `errc::cache_too_small`, or for a file descriptor before it fails with `errc::unavailable`.
  std::chrono::nanoseconds room_timeout = std::chrono::seconds(60);

  /// A shard that nothing can check is flushed to the disk so long after it was fetched.
  std::chrono::nanoseconds flush_after = std::chrono::seconds(5);

  /// Default: the machine's.
  std::optional<detail::boot_identity> boot{};

  /// How long other processes are waited for that are stopped, by a signal or a debugger. Then a
  /// shard that such a one was to fetch is fetched here; where it holds the directory's lock, calls
  /// fail with `errc::unavailable` and name it.
  std::chrono::nanoseconds peer_timeout = detail::patience_with_peers;
};

/// One stream of a cache: a dataset's directory and where its shards come from.
struct cache_stream {
  std::string name{};                    ///< for messages
  std::string directory{};               ///< `<local>/<split>`: shards and index lie here
  std::optional<opened_store> remote{};  ///< if not set, missing shards cannot be fetched
  std::string prefix{};                  ///< put before the keys in `remote`: the split
  /// Makes the shards of what the remote has; null where the remote has the shards.
  std::shared_ptr<const detail::shard_maker> maker{};
  /// The directory of this machine that the remote is, where the shards are ranges of its files
  /// that need no making (`shard_maker::step`): they are mapped there, and nothing is cached. Or
  /// empty.
  std::string in_place{};
  const dataset_index* index = nullptr;  ///< stays until the cache is gone
  std::uint64_t version = 0;             ///< as `loaded_index` says
  std::int64_t adopted = 0;              ///< as `loaded_index` says
  bool keep_zip = false;                 ///< keep compressed files beside the raw ones
  /// Name of the hash to check; empty: the cheapest that the index records; "none": none.
  std::string validate_hash{};
  /// How often a shard is fetched whose content is wrong, at least 1.
  unsigned download_retry = 2;
  /// A request that brings nothing for so long is repeated.
  std::chrono::nanoseconds download_timeout = std::chrono::seconds(60);
  /// A request that fails with a transient error is repeated until it has brought nothing for so
  /// long. 0: such an error counts as an attempt of `download_retry`.
  std::chrono::nanoseconds patience = default_patience;
};

/// What a cache has done since it was made.
struct cache_counters {
  std::uint64_t shards_fetched = 0;  ///< downloads that were completed by this process
  std::uint64_t bytes_fetched = 0;   ///< as they came from the remote
  std::uint64_t shards_evicted = 0;
  std::uint64_t attempts_failed = 0;    ///< downloads that were given up or begun anew
  std::uint64_t requests_repeated = 0;  ///< single requests, after transient errors
};

}  // namespace mdstream::inline v0
