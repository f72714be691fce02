#pragma once

/// What processes know together of the directory in which they share shards: who they are, what
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

#include <mdstream/cache/catalog.hpp>
#include <mdstream/cache/disk_scan.hpp>
#include <mdstream/cache/file_lock.hpp>
#include <mdstream/cache/journal.hpp>
#include <mdstream/cache/members.hpp>
#include <mdstream/cache/registered_streams.hpp>
#include <mdstream/schedule/eviction.hpp>
#include <mdstream/store/file.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

struct ledger_rules {
  /// How long another process may hold the directory lock, which takes microseconds unless it is
  /// stopped, before calls fail with `errc::unavailable`.
  std::chrono::nanoseconds peer_timeout = std::chrono::seconds(60);
  std::optional<detail::machine> here{};  ///< for tests; defaults to what the system says
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
               ledger_rules rules = {})
      : root_(std::move(root)),
        own_(root_ + "/.mdstream"),
        rules_(std::move(rules)),
        catalog_(catalog),
        flags_(catalog.shards(), absent) {
    facts_.limit = limit;
    facts_.largest = catalog_.largest();
    for (const catalog_stream& stream : catalog_.streams()) {
      if (stream.has_remote) keys_.emplace(stream.key, &stream);
    }
    const std::lock_guard guard(mutex_);
    open_files();
    const dir_lock lock(*this);
    join();
  }
  cache_ledger(const cache_ledger&) = delete;
  cache_ledger& operator=(const cache_ledger&) = delete;

  ~cache_ledger() {
    try {
      const std::lock_guard guard(mutex_);
      const dir_lock lock(*this);
      members_.reset();
      if (journal_->read()) {
        journal_->begin_change();
        ++journal_->head.membership;
        journal_->head.reserved -= std::min(journal_->head.reserved, facts_.reserved);
        journal_->end_change();
      }
    } catch (...) {
      // The next process finds this one's file without a lock and counts anew.
    }
  }

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

  /// A new path for a file in the making, which can be renamed into the stream's directory.
  [[nodiscard]] std::string temporary_name(std::size_t stream_number) {
    const std::lock_guard guard(mutex_);
    const std::string name = members_->id() + '-' + std::to_string(temporaries_++);
    const std::string& directory = catalog_.streams()[stream_number].directory;
    return same_file_system(directory) ? own_ + "/tmp/" + name
                                       : directory + '/' + temporary_prefix + name;
  }

  /// The lock file of a shard.
  [[nodiscard]] std::string lock_path(std::uint32_t shard) const {
    const catalog_stream& stream = catalog_.stream_of(shard);
    return own_ + "/shards/" + detail::hex_digits(stream.key) + '-' +
           std::to_string(shard - stream.first);
  }

  /// Looks whether processes came or went, without a lock when none did.
  void notice_members();

  /// Shards that lie there, as far as this process was told.
  [[nodiscard]] std::vector<std::uint32_t> resident() {
    const std::lock_guard guard(mutex_);
    std::vector<std::uint32_t> found;
    for (std::uint32_t i = next_resident(0); i < flags_.size(); i = next_resident(i + 1))
      found.push_back(i);
    return found;
  }

  /// Tells other processes which shards this one reads soon, and how soon.
  void publish_uses(std::span<const use_elsewhere> uses) {
    std::vector<published_use> told;
    for (const use_elsewhere& each : uses) {
      const catalog_stream& stream = catalog_.stream_of(each.shard);
      told.push_back({.stream = stream.key,
                      .shard = each.shard - stream.first,
                      .distance = static_cast<std::uint32_t>(
                          std::min<std::uint64_t>(each.distance, ~std::uint32_t{0}))});
    }
    const std::lock_guard guard(mutex_);
    members_->publish(told);
  }

 private:
  class dir_lock {
   public:
    explicit dir_lock(cache_ledger& of) : fd_(of.lock_.get()) {
      // Who has waited long for a process that does nothing lets the next ones know at once.
      const std::chrono::nanoseconds most =
          of.waited_in_vain_ ? of.rules_.peer_timeout / 60 : of.rules_.peer_timeout;
      of.waited_in_vain_ = true;
      detail::lock_file(fd_, of.own_ + "/lock", most);
      of.waited_in_vain_ = false;
    }
    dir_lock(const dir_lock&) = delete;
    dir_lock& operator=(const dir_lock&) = delete;
    ~dir_lock() { release(); }

    void release() noexcept {
      if (fd_ >= 0) ::flock(fd_, LOCK_UN);
      fd_ = -1;
    }

   private:
    int fd_;
  };

  // Joining, and coming back after the directory was deleted.

  void open_files() {
    for (const char* part : {"/live", "/shards", "/tmp"}) {
      if (const int failure = detail::make_shared_directories(own_ + part); failure != 0) {
        throw system_failure(failure, "cannot make the cache's directory", own_ + part);
      }
    }
    lock_ = detail::open_lock(own_ + "/lock");
    journal_.emplace(own_ + "/journal");
  }

  void join() {
    std::vector<std::uint64_t> keys;
    for (const auto& [key, stream] : keys_) keys.push_back(key);
    members_.emplace(own_ + "/live", facts_, keys,
                     rules_.here ? *rules_.here : detail::machine::of(own_));
    register_streams();
    const bool usable = journal_->read();
    const member_sums sums = survey_members();
    if (!usable || sums.found_dead || sums.alive == 0) {
      recount(sums.reserved);
    } else {
      journal_->begin_change();
      ++journal_->head.membership;
    }
    rescan();
    if (sums.alive == 0) drop_spare_zips();
    journal_->end_change();
    seen_membership_ = journal_->head.membership;
  }

  [[nodiscard]] cache_ledger& reopened_if_deleted() {
    if (detail::is_linked(lock_.get()) && members_ && members_->listed()) return *this;
    members_.reset();
    open_files();
    const dir_lock lock(*this);
    join();
    return *this;
  }

  /// Marks every directory that shards are fetched into, so that others know that what lies there
  /// can be fetched again.
  void register_streams() {
    std::vector<std::string> own;
    for (const auto& [key, stream] : keys_) {
      own.emplace_back(shard_catalog::relative_to(root_, stream->directory));
    }
    registered_streams(root_).add(own);
    read_registered();
  }

  // Counting. The caller holds the directory lock.

  /// Reads which directories shards are fetched into, by this process or any other, now or once.
  void read_registered() {
    directories_.clear();
    unowned_.clear();
    const registered_streams registry(root_);
    for (const std::string& path : registry.paths()) {
      const std::string directory = registry.directory_of(path);
      directories_.push_back(directory);
      const std::uint64_t key = shard_catalog::key_of(path);
      if (!keys_.contains(key)) unowned_.push_back({key, directory});
    }
    std::sort(directories_.begin(), directories_.end());
  }

  [[nodiscard]] std::uint32_t next_resident(std::uint32_t from) const noexcept {
    static_assert(absent == 0);
    std::size_t at = from;
    for (std::uint64_t eight = 0; at + sizeof eight <= flags_.size(); at += sizeof eight) {
      std::memcpy(&eight, flags_.data() + at, sizeof eight);
      if (eight != 0) break;
    }
    while (at < flags_.size() && flags_[at] == absent) ++at;
    return static_cast<std::uint32_t>(at);
  }

  /// Counts the bytes that lie in all registered directories.
  void recount(std::uint64_t reserved_by_others) {
    std::uint64_t used = index_bytes();
    for (const std::string& directory : directories_) {
      detail::for_each_file(directory, directories_,
                            [&](std::string_view name, std::uint64_t bytes) {
                              if (name != "index.json") used += bytes;
                            });
    }
    journal_->restart(used, reserved_by_others + facts_.reserved);
  }

  /// Bytes of the indexes of all directories. Each is asked for by its name: another process may be
  /// renaming a new one over it, and a listing can miss a file while that happens.
  [[nodiscard]] std::uint64_t index_bytes() const {
    std::uint64_t sum = 0;
    for (const std::string& directory : directories_) {
      struct stat info{};
      if (::stat((directory + "/index.json").c_str(), &info) == 0) {
        sum += static_cast<std::uint64_t>(info.st_size);
      }
    }
    return sum;
  }

  /// Looks which shards of this process's own streams are there.
  void rescan() {
    for (const catalog_stream& stream : catalog_.streams()) {
      if (stream.has_remote) {
        detail::scan_stream(stream, directories_, flags_.data() + stream.first);
      }
    }
    generation_ = journal_->head.generation;
    next_record_ = journal_->head.records;
  }

  /// Deletes compressed files that lie beside their raw ones and are not to be kept.
  void drop_spare_zips() {
    for (const catalog_stream& stream : catalog_.streams()) {
      if (!stream.has_remote || stream.keep_zip) continue;
      for (std::uint32_t i = 0; i < stream.shards; ++i) {
        std::uint8_t& flags = flags_[stream.first + i];
        if (flags != (raw_there | zip_there)) continue;
        const shard_files files = stream.files(i);
        if (!drop_spare(shard_catalog::path(stream, files.zip_name))) continue;
        if (files.meta) drop_spare(shard_catalog::path(stream, files.meta->zip_name));
        flags = raw_there;
      }
    }
  }

  bool drop_spare(const std::string& path) {
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0 || ::unlink(path.c_str()) != 0) return false;
    journal_->head.used -= std::min(journal_->head.used, static_cast<std::uint64_t>(info.st_size));
    return true;
  }

  /// Takes over what other processes did since this one last looked.
  void catch_up() {
    if (!journal_->read()) {
      const member_sums sums = survey_members();
      recount(sums.reserved);
      rescan();
      journal_->end_change();
    } else if (journal_->head.generation != generation_) {
      rescan();
    } else {
      apply_records();
    }
    if (journal_->head.membership != seen_membership_) {
      read_registered();
      look_for_dead();
    }
  }

  void apply_records() {
    for (const journal_record& record : journal_->records_from(next_record_)) {
      const auto at = keys_.find(record.stream);
      if (at == keys_.end() || record.shard >= at->second->shards) continue;
      flags_[at->second->first + record.shard] = static_cast<std::uint8_t>(record.there);
    }
    next_record_ = journal_->head.records;
  }

  void take(const member_sums& sums) {
    std::uint64_t smallest = facts_.limit;
    if (sums.smallest_limit != 0) {
      smallest = smallest == 0 ? sums.smallest_limit : std::min(smallest, sums.smallest_limit);
    }
    limit_.store(smallest, std::memory_order_relaxed);
    others_.store(sums.alive, std::memory_order_relaxed);
    others_need_ = sums.needs;
    others_largest_ = sums.largest;
  }

  /// Removes what dead processes left, and takes over what the live ones say.
  member_sums survey_members() {
    const member_sums sums = members_->survey([this](std::string_view id) { forget(id); });
    take(sums);
    return sums;
  }

  /// Looks for processes that died; counts anew when there is one.
  void look_for_dead() {
    const member_sums sums = survey_members();
    if (sums.found_dead) {
      recount(sums.reserved);
      rescan();
    }
    seen_membership_ = journal_->head.membership;
  }

  /// Deletes the temporary files of a process that is gone.
  void forget(std::string_view id) const {
    unlink_names(own_ + "/tmp", std::string(id) + '-');
    for (const std::string& directory : directories_) {
      if (!same_file_system(directory)) {
        unlink_names(directory, temporary_prefix + std::string(id) + '-');
      }
    }
  }

  static void unlink_names(const std::string& directory, const std::string& prefix) {
    std::error_code failure;
    std::filesystem::directory_iterator at(directory, failure);
    for (; !failure && at != std::filesystem::directory_iterator(); at.increment(failure)) {
      if (at->path().filename().native().starts_with(prefix)) ::unlink(at->path().c_str());
    }
  }

  /// Whether a file made in `tmp` can be renamed into the directory.
  [[nodiscard]] bool same_file_system(const std::string& directory) const {
    struct stat ours{}, theirs{};
    return ::stat(directory.c_str(), &theirs) != 0 ||
           (::stat(own_.c_str(), &ours) == 0 && ours.st_dev == theirs.st_dev);
  }

  void set_reserved(std::uint64_t bytes) {
    std::uint64_t& sum = journal_->head.reserved;
    sum = sum - std::min(sum, facts_.reserved) + bytes;
    facts_.reserved = bytes;
    members_->update(facts_);
  }

  /// The files of a directory that its own index names.
  [[nodiscard]] std::vector<std::string> indexed_files(const std::string& directory) const {
    std::vector<std::string> names;
    const std::string index = detail::read_text(directory + "/index.json");
    detail::for_each_file(directory, directories_, [&](std::string_view name, std::uint64_t) {
      const std::string quoted = '"' + std::string(name) + '"';
      if (index.find(quoted) != std::string::npos) names.emplace_back(name);
    });
    return names;
  }

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
  std::uint64_t temporaries_ = 0;
  std::uint64_t others_need_ = 0;
  std::uint64_t others_largest_ = 0;
  std::vector<std::string> directories_;  // that shards are fetched into, by anybody; sorted
  std::vector<unowned_stream> unowned_;
  std::uint64_t generation_ = 0;
  std::uint64_t next_record_ = 0;
  std::uint64_t seen_membership_ = 0;
  std::vector<std::uint8_t> flags_;  // residency of each shard, as this process knows it

  std::atomic<std::uint64_t> limit_{0};
  std::atomic<std::size_t> others_{0};
};

}  // namespace mdstream::inline v0
