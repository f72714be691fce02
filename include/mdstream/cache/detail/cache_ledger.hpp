#pragma once

/// What processes know together of the directory in which they share shards: their ids, what
/// lies there, how much is in use.
///
/// `<root>/.mdstream` holds:
///
/// - `lock`: the directory lock, an exclusive flock(2) around every change.
/// - `journal`: the bytes in use, and what came and went (journal.hpp).
/// - `live/<id>`: one file for each process, locked for its life (members.hpp).
/// - `streams`: the directories that shards are or were fetched into, each path with a zero byte.
/// - `shards/<key>-<n>`: the lock of a shard: shared pins it, exclusive fetches or evicts it.
/// - `tmp/<id>-<n>`: files in the making.
///
/// The directory lock may be waited for while a shard's lock is held; under the directory lock a
/// shard's lock is only tried. So nobody waits in a circle.

#include <mdstream/cache/detail/catalog.hpp>
#include <mdstream/cache/detail/journal.hpp>
#include <mdstream/cache/detail/members.hpp>
#include <mdstream/schedule/detail/eviction.hpp>
#include <mdstream/store/detail/file.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

struct ledger_rules {
  /// How long another process may hold the directory lock, which takes microseconds unless it is
  /// stopped, before calls fail with `errc::unavailable`.
  std::chrono::nanoseconds peer_timeout = std::chrono::seconds(60);
  std::optional<detail::machine> here{};  ///< for tests; defaults to what the system says
};

/// Room that is reserved for a shard. It is free when this goes, whatever calls fail then: the next
/// change of this process tells the others. The ledger lives longer.
class reservation {
 public:
  reservation() = default;
  reservation(std::atomic<std::uint64_t>& released, std::uint64_t bytes) noexcept
      : released_(&released), bytes_(bytes) {}
  reservation(reservation&& other) noexcept
      : released_(other.released_), bytes_(std::exchange(other.bytes_, 0)) {}
  reservation& operator=(reservation&& other) noexcept {
    std::swap(released_, other.released_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~reservation() {
    if (bytes_ != 0) released_->fetch_add(bytes_, std::memory_order_relaxed);
  }

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  std::atomic<std::uint64_t>* released_ = nullptr;
  std::uint64_t bytes_ = 0;
};

/// One process's part in a cache directory. All calls are thread-safe; changes are made in a
/// `transaction` (ledger_transaction.hpp). They wait for the directory lock, which is held for
/// microseconds, or for a scan when a process has died.
class cache_ledger {
 public:
  class transaction;

  /// A directory that shards are fetched into by other jobs, past or present.
  struct unowned_stream {
    std::uint64_t key;
    std::string directory;
  };

  /// Joins the processes of `root`. `catalog` stays as long as this. Throws `errc::unsupported` on
  /// a file system without locks and where another machine uses `root`, `errc::unavailable` where a
  /// stopped process holds the directory lock, `errc::permission_denied` where nothing can be
  /// written.
  cache_ledger(std::string root, std::uint64_t limit, const shard_catalog& catalog,
               ledger_rules rules = {});
  cache_ledger(const cache_ledger&) = delete;
  cache_ledger& operator=(const cache_ledger&) = delete;

  ~cache_ledger();

  [[nodiscard]] const std::string& root() const noexcept { return root_; }
  [[nodiscard]] const shard_catalog& catalog() const noexcept { return catalog_; }

  /// The smallest limit of the live processes; 0: none.
  [[nodiscard]] std::uint64_t limit() const noexcept {
    return limit_.load(std::memory_order_relaxed);
  }
  /// Other processes that were alive when this one last looked.
  [[nodiscard]] std::size_t others() const noexcept {
    return others_.load(std::memory_order_relaxed);
  }

  /// Another number after each time that other processes were seen to come, to go or to need less.
  [[nodiscard]] std::uint64_t membership() const noexcept {
    return seen_membership_.load(std::memory_order_relaxed);
  }

  /// A new path for a file in the making, which can be renamed into the stream's directory.
  [[nodiscard]] std::string temporary_name(std::size_t stream_number);

  /// The lock file of a shard.
  [[nodiscard]] std::string lock_path(std::uint32_t shard) const;

  /// Looks whether processes came or went, without a lock when none did.
  void notice_members();

  /// Shards that lie there, as far as this process was told.
  [[nodiscard]] std::vector<std::uint32_t> resident();

  /// Tells other processes which shards this one reads soon, and how soon.
  void publish_uses(std::span<const use_elsewhere> uses);

 private:
  class dir_lock {
   public:
    explicit dir_lock(cache_ledger& of);
    dir_lock(const dir_lock&) = delete;
    dir_lock& operator=(const dir_lock&) = delete;
    ~dir_lock() { release(); }

    void release() noexcept;

   private:
    int fd_;
  };

  // Joining, and coming back after the directory was deleted.

  void open_files();

  void join();

  [[nodiscard]] cache_ledger& reopened_if_deleted();

  /// Marks every directory that shards are fetched into, so that others know that what lies there
  /// can be fetched again.
  void register_streams();

  // Counting. The caller holds the directory lock.

  /// Reads which directories shards are fetched into, by this process or any other, now or once.
  void read_registered();

  [[nodiscard]] std::uint32_t next_resident(std::uint32_t from) const noexcept;

  /// Counts the bytes that lie in all registered directories.
  void recount(std::uint64_t reserved_by_others);

  /// Bytes of the indexes of all directories. Each is asked for by its name: another process may be
  /// renaming a new one over it, and a listing can miss a file while that happens.
  [[nodiscard]] std::uint64_t index_bytes() const;

  /// Looks which shards of this process's own streams are there.
  void rescan();

  /// Deletes compressed files that lie beside their raw ones and are not to be kept.
  void drop_spare_zips();

  bool drop_spare(const std::string& path);

  /// Takes over what other processes did since this one last looked.
  void catch_up();

  void apply_records();

  void take(const member_sums& sums);

  /// Tells the others of room that was given back.
  void apply_releases();

  /// Removes what dead processes left, and takes over what the live ones say.
  member_sums survey_members();

  /// Looks for processes that died; counts anew when there is one.
  void look_for_dead();

  /// Deletes the temporary files of a process that is gone.
  void forget(std::string_view id) const;

  static void unlink_names(const std::string& directory, const std::string& prefix);

  /// Whether a file made in `tmp` can be renamed into the directory.
  [[nodiscard]] bool same_file_system(const std::string& directory) const;

  /// The files of a directory that its own index names.
  [[nodiscard]] std::vector<std::string> indexed_files(const std::string& directory) const;

  static constexpr const char* temporary_prefix = ".mdstream-";

  std::string root_;
  std::string own_;
  ledger_rules rules_;
  bool waited_in_vain_ = false;  // for the directory lock, when it was last asked for
  const shard_catalog& catalog_;

  std::mutex mutex_;  // within the process; flock does not tell its threads apart
  unique_fd lock_;
  std::optional<cache_journal> journal_;
  std::optional<cache_members> members_;
  std::unordered_map<std::uint64_t, const catalog_stream*> keys_;  // own streams with a remote
  member_facts facts_;
  std::atomic<std::uint64_t> released_{0};  // bytes that `facts_` and the journal still reserve
  std::uint64_t temporaries_ = 0;
  std::uint64_t others_need_ = 0;
  std::uint64_t others_largest_ = 0;
  std::vector<std::string> directories_;  // that shards are fetched into, by anybody; sorted
  std::vector<unowned_stream> unowned_;
  std::uint64_t generation_ = 0;
  std::uint64_t next_record_ = 0;
  std::atomic<std::uint64_t> seen_membership_{0};
  std::vector<std::uint8_t> flags_;  // residency of each shard, as this process knows it

  std::atomic<std::uint64_t> limit_{0};
  std::atomic<std::size_t> others_{0};
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/cache/detail/impl/cache_ledger.ipp>
#endif
