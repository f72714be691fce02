#pragma once

/// The directory in which the processes of a node meet to share one copy of each shard.
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
#include <mdstream/cache/mapping.hpp>
#include <mdstream/cache/members.hpp>
#include <mdstream/cache/shard_fetch.hpp>
#include <mdstream/schedule/eviction.hpp>
#include <mdstream/store/file.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// The right to make a shard, and the room for it.
struct shard_claim {
  unique_fd lock{};
  std::uint64_t reserved = 0;
};

enum class claim_result {
  claimed,  ///< this process is to fetch it
  there,    ///< it is complete
  busy,     ///< another process fetches or evicts it
  no_room,  ///< what could be evicted is pinned, or is needed sooner than what is asked for
};

/// All calls are thread-safe. Those that change something wait for the directory lock, which is
/// held for microseconds, or for a scan when a process has died.
class cache_directory {
 public:
  struct hooks {
    /// The next use of a shard; `never` when there is none.
    std::function<std::uint64_t(std::uint32_t)> next_use{};
    /// Unmaps a shard that nobody in this process holds; false when somebody does.
    std::function<bool(std::uint32_t)> release{};
  };

  /// Joins the processes of `root`. `catalog` stays as long as this. Throws `errc::unsupported` on
  /// a file system without locks, `errc::permission_denied` where nothing can be written.
  cache_directory(std::string root, std::uint64_t limit, const shard_catalog& catalog, hooks calls)
      : root_(std::move(root)),
        own_(root_ + "/.mdstream"),
        catalog_(catalog),
        hooks_(std::move(calls)),
        flags_(catalog.shards(), absent) {
    facts_.limit = limit;
    for (const catalog_stream& stream : catalog_.streams()) {
      if (stream.has_remote) keys_.emplace(stream.key, &stream);
    }
    const std::lock_guard guard(mutex_);
    open_files();
    const dir_lock lock(*this);
    join();
  }

  cache_directory(const cache_directory&) = delete;
  cache_directory& operator=(const cache_directory&) = delete;

  ~cache_directory() {
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

  /// Whether shards in use have to be pinned: some process has a limit.
  [[nodiscard]] bool limited() const noexcept {
    return limit_.load(std::memory_order_relaxed) != 0;
  }
  /// The smallest limit of the live processes; 0: none.
  [[nodiscard]] std::uint64_t limit() const noexcept {
    return limit_.load(std::memory_order_relaxed);
  }
  /// Other processes that were alive when this one last looked.
  [[nodiscard]] std::size_t others() const noexcept {
    return others_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t evicted() const noexcept {
    return evicted_.load(std::memory_order_relaxed);
  }

  /// A new path for a file in the making.
  [[nodiscard]] std::string temporary_name(std::size_t stream_number) {
    const std::lock_guard guard(mutex_);
    const std::string name = members_->id() + '-' + std::to_string(temporaries_++);
    const std::string& directory = catalog_.streams()[stream_number].directory;
    return same_file_system(directory) ? own_ + "/tmp/" + name
                                       : directory + '/' + temporary_prefix + name;
  }

  /// Looks whether processes came or went, without a lock when none did.
  void notice_members() {
    const std::lock_guard guard(mutex_);
    if (journal_->peek_membership() == seen_membership_ && members_->listed()) return;
    transaction change(*this);
    change.finish();
  }

  /// A shared lock that pins the shard against eviction; an empty one when no process has a limit;
  /// none when another process holds it to fetch or evict it.
  [[nodiscard]] std::optional<unique_fd> try_pin(std::uint32_t shard) const {
    if (!limited()) return unique_fd();
    unique_fd lock = detail::try_lock_path(lock_path(shard), lock_kind::shared);
    if (!lock) return std::nullopt;
    return lock;
  }

  /// Asks to make a shard that will take `bytes` on the disk; evicts what has to go for it.
  [[nodiscard]] claim_result claim(std::uint32_t shard, std::uint64_t bytes, urgency why,
                                   shard_claim& out) {
    const std::lock_guard guard(mutex_);
    transaction change(*this);
    unique_fd lock = detail::try_lock_path(lock_path(shard), lock_kind::exclusive);
    if (!lock) {
      change.finish();
      return claim_result::busy;
    }
    if (is_there(shard, change)) {
      change.finish();
      return claim_result::there;
    }
    const bool room = make_room(shard, bytes, why, change);
    if (room) {
      change.modify();
      set_reserved(facts_.reserved + bytes);
      out = {.lock = std::move(lock), .reserved = bytes};
    } else {
      ::unlink(lock_path(shard).c_str());
    }
    change.finish();
    return room ? claim_result::claimed : claim_result::no_room;
  }

  /// Gives a fetched shard its names. Returns its mapping and the lock that pins it from now on.
  [[nodiscard]] std::pair<file_mapping, unique_fd> publish(std::uint32_t shard, shard_claim claim,
                                                           fetched_shard fetched) {
    const catalog_stream& stream = catalog_.stream_of(shard);
    const shard_files files = catalog_.files(shard);
    const std::string raw_path = shard_catalog::path(stream, files.raw_name);
    const std::string zip_path = shard_catalog::path(stream, files.zip_name);
    const std::lock_guard guard(mutex_);
    transaction change(*this);
    change.modify();
    set_reserved(facts_.reserved - std::min(facts_.reserved, claim.reserved));
    try {
      ensure_directory(raw_path);
      change.remove_file(raw_path);
      if (fetched.zip) {
        ensure_directory(zip_path);
        change.remove_file(zip_path);
        (void)std::move(*fetched.zip).publish(zip_path);
        change.used(+static_cast<std::int64_t>(files.zip_bytes));
      } else if (files.zipped() && stream.has_remote && !stream.keep_zip) {
        change.remove_file(zip_path);
      }
      file_mapping mapping = std::move(fetched.raw).publish(raw_path);
      change.used(+static_cast<std::int64_t>(files.raw_bytes));
      change.note(shard, static_cast<std::uint8_t>(raw_there |
                                                   (file_exists(zip_path, files) ? zip_there : 0)));
      unique_fd pin;
      if (!limited()) {
        ::unlink(lock_path(shard).c_str());
      } else if (detail::try_lock_file(claim.lock.get(), lock_kind::shared, raw_path)) {
        pin = std::move(claim.lock);
      }
      change.finish();
      return {std::move(mapping), std::move(pin)};
    } catch (...) {
      change.finish();
      throw;
    }
  }

  /// Gives up a claim.
  void abandon(std::uint32_t shard, shard_claim claim) {
    const std::lock_guard guard(mutex_);
    transaction change(*this);
    change.modify();
    set_reserved(facts_.reserved - std::min(facts_.reserved, claim.reserved));
    ::unlink(lock_path(shard).c_str());
    change.finish();
  }

  /// Deletes a damaged file of a stream that has a remote.
  void discard(const std::string& path) {
    const std::lock_guard guard(mutex_);
    transaction change(*this);
    change.remove_file(path);
    change.finish();
  }

  /// Says how many bytes of shards this process may pin at one time, and checks that all processes
  /// together can have what they need. Throws `errc::cache_too_small` with the smallest limit that
  /// works.
  void require(std::uint64_t bytes) {
    const std::lock_guard guard(mutex_);
    transaction change(*this);
    change.modify();
    ++journal_->head.membership;
    facts_.need = bytes;
    members_->update(facts_);
    look_for_dead();
    const std::uint64_t indexes = index_bytes();
    const std::uint64_t smallest = indexes + bytes + others_need_;
    change.finish();
    if (limit() == 0 || smallest <= limit()) return;
    throw error(
        errc::cache_too_small,
        {.what = "the cache limit of " + std::to_string(limit()) +
                 " bytes is too small: the smallest that works is " + std::to_string(smallest) +
                 " (" + std::to_string(indexes) + " for the indexes, " + std::to_string(bytes) +
                 " for what this process uses at one time, " + std::to_string(others_need_) +
                 " for other processes)",
         .url = root_});
  }

  /// Publishes where this process is in its order.
  void set_cursor(std::uint64_t fingerprint, std::uint64_t position) {
    const std::lock_guard guard(mutex_);
    facts_.fingerprint = fingerprint;
    facts_.cursor = position;
    members_->update(facts_);
  }

  /// The smallest position of the live processes that follow the same order, this one included.
  [[nodiscard]] std::uint64_t slowest_cursor() {
    const std::lock_guard guard(mutex_);
    const dir_lock lock(*this);
    return members_->slowest_cursor(facts_.fingerprint, facts_.cursor);
  }

  /// Bytes in use and reserved, over all processes.
  [[nodiscard]] std::uint64_t usage() {
    const std::lock_guard guard(mutex_);
    transaction change(*this);
    change.finish();
    return journal_->head.used + journal_->head.reserved;
  }

 private:
  class dir_lock {
   public:
    explicit dir_lock(cache_directory& of) : fd_(of.lock_.get()) {
      detail::lock_file(fd_, lock_kind::exclusive, of.own_ + "/lock");
    }
    dir_lock(const dir_lock&) = delete;
    dir_lock& operator=(const dir_lock&) = delete;
    ~dir_lock() { ::flock(fd_, LOCK_UN); }

   private:
    int fd_;
  };

  /// One change under the directory lock. What throws out of it leaves the journal's mark set, so
  /// that the next one counts anew.
  class transaction {
   public:
    explicit transaction(cache_directory& of) : of_(of) {
      of_.reopen_if_deleted();
      lock_.emplace(of_);
      of_.catch_up();
    }

    void modify() { of_.journal_->begin_change(); }
    void finish() {
      of_.journal_->end_change();
      lock_.reset();
    }

    void used(std::int64_t bytes) {
      std::uint64_t& sum = of_.journal_->head.used;
      sum = bytes < 0 ? sum - std::min(sum, static_cast<std::uint64_t>(-bytes))
                      : sum + static_cast<std::uint64_t>(bytes);
    }

    /// Deletes a file and takes its size off the sum; nothing when there is none.
    void remove_file(const std::string& path) {
      struct stat info{};
      if (::stat(path.c_str(), &info) != 0) return;
      modify();
      if (::unlink(path.c_str()) == 0) {
        used(-static_cast<std::int64_t>(info.st_size));
      } else if (errno != ENOENT) {
        throw system_failure(errno, "cannot delete", path);
      }
    }

    void note(std::uint32_t shard, std::uint8_t flags) {
      const catalog_stream& stream = of_.catalog_.stream_of(shard);
      of_.journal_->append({.stream = stream.key, .shard = shard - stream.first, .there = flags});
      of_.flags_[shard] = flags;
      of_.next_record_ = of_.journal_->head.records;
    }

   private:
    cache_directory& of_;
    std::optional<dir_lock> lock_;
  };

  // Joining, and coming back after the directory was deleted.

  void open_files() {
    for (const char* part : {"/live", "/shards", "/tmp"}) {
      if (const int failure = detail::make_directories(own_ + part); failure != 0) {
        throw system_failure(failure, "cannot make the cache's directory", own_ + part);
      }
    }
    lock_ = detail::open_file(own_ + "/lock", O_RDWR | O_CREAT);
    journal_.emplace(own_ + "/journal");
  }

  void join() {
    std::vector<std::uint64_t> keys;
    for (const auto& [key, stream] : keys_) keys.push_back(key);
    members_.emplace(own_ + "/live", facts_, keys);
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

  void reopen_if_deleted() {
    if (detail::is_linked(lock_.get()) && members_ && members_->listed()) return;
    members_.reset();
    open_files();
    const dir_lock lock(*this);
    join();
  }

  /// Marks every directory that shards are fetched into, so that others know that what lies there
  /// can be fetched again.
  void register_streams() {
    const std::string path = own_ + "/streams";
    std::string text = read_text(path);
    text.resize(text.rfind('\0') + 1);  // a process died while it wrote what is cut off here
    const std::vector<std::string> known = split_paths(text);
    const std::size_t before = text.size();
    for (const auto& [key, stream] : keys_) {
      const std::string_view relative = shard_catalog::relative_to(root_, stream->directory);
      if (std::binary_search(known.begin(), known.end(), relative)) continue;
      text.append(relative).push_back('\0');
    }
    if (text.size() > before) {
      const unique_fd fd = detail::open_file(path, O_RDWR | O_CREAT);
      detail::write_at(fd.get(), before, as_bytes(std::string_view(text).substr(before)), path);
    }
    read_registered();
  }

  /// Sorted.
  [[nodiscard]] static std::vector<std::string> split_paths(std::string_view text) {
    std::vector<std::string> paths;
    for (std::size_t end = text.find('\0'); end != std::string_view::npos; end = text.find('\0')) {
      paths.emplace_back(text.substr(0, end));
      text.remove_prefix(end + 1);
    }
    std::sort(paths.begin(), paths.end());
    return paths;
  }

  // Counting. The caller holds the directory lock.

  /// Reads which directories shards are fetched into, by this process or any other, now or once.
  void read_registered() {
    directories_.clear();
    unowned_.clear();
    for (const std::string& path : split_paths(read_text(own_ + "/streams"))) {
      if (!path.empty() && !path.starts_with('/') && !key_is_safe(path)) continue;
      const std::string directory = path.starts_with('/') ? path
                                    : path.empty()        ? root_
                                                          : root_ + '/' + path;
      directories_.push_back(directory);
      const std::uint64_t key = shard_catalog::key_of(path);
      if (!keys_.contains(key)) unowned_.push_back({key, directory});
    }
    std::sort(directories_.begin(), directories_.end());
  }

  /// Counts the bytes that lie in all registered directories.
  void recount(std::uint64_t reserved_by_others) {
    std::uint64_t used = 0;
    for (const std::string& directory : directories_) {
      detail::for_each_file(directory, directories_,
                            [&](std::string_view, std::uint64_t bytes) { used += bytes; });
    }
    journal_->restart(used, reserved_by_others + facts_.reserved);
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
        const std::string path = shard_catalog::path(stream, files.zip_name);
        struct stat info{};
        if (::stat(path.c_str(), &info) != 0 || ::unlink(path.c_str()) != 0) continue;
        journal_->head.used -=
            std::min(journal_->head.used, static_cast<std::uint64_t>(info.st_size));
        flags = raw_there;
      }
    }
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

  // Room. The caller holds the directory lock.

  [[nodiscard]] std::uint64_t next_use(std::uint32_t shard) const {
    return hooks_.next_use ? hooks_.next_use(shard) : never;
  }

  [[nodiscard]] bool fits(std::uint64_t bytes) const {
    const std::uint64_t most = limit();
    return most == 0 || journal_->head.used + journal_->head.reserved + bytes <= most;
  }

  [[nodiscard]] bool make_room(std::uint32_t shard, std::uint64_t bytes, urgency why,
                               transaction& change) {
    if (fits(bytes)) return true;
    look_for_dead();
    if (evict_unused_streams(bytes, change)) return true;
    eviction_queue queue(candidates(shard), why, next_use(shard));
    while (const std::optional<eviction_candidate> victim = queue.next()) {
      if (try_evict(victim->shard, change) && fits(bytes)) return true;
    }
    return false;
  }

  [[nodiscard]] std::vector<eviction_candidate> candidates(std::uint32_t wanted) const {
    std::vector<eviction_candidate> found;
    for (const catalog_stream& stream : catalog_.streams()) {
      if (!stream.has_remote) continue;
      for (std::uint32_t i = stream.first; i < stream.first + stream.shards; ++i) {
        if (flags_[i] != absent && i != wanted) found.push_back({i, next_use(i)});
      }
    }
    return found;
  }

  /// Evicts a shard unless some process pins it.
  bool try_evict(std::uint32_t shard, transaction& change) {
    if (hooks_.release && !hooks_.release(shard)) return false;
    const unique_fd lock = detail::try_lock_path(lock_path(shard), lock_kind::exclusive);
    if (!lock) return false;
    delete_files(shard, change);
    ::unlink(lock_path(shard).c_str());
    evicted_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }

  void delete_files(std::uint32_t shard, transaction& change) {
    const catalog_stream& stream = catalog_.stream_of(shard);
    const shard_files files = catalog_.files(shard);
    change.modify();
    change.remove_file(shard_catalog::path(stream, files.raw_name));
    if (files.zipped()) change.remove_file(shard_catalog::path(stream, files.zip_name));
    change.note(shard, absent);
  }

  /// Evicts shards of streams that no live process uses: their next use is never. Only files that
  /// the index beside them names.
  bool evict_unused_streams(std::uint64_t bytes, transaction& change) {
    if (unowned_.empty()) return false;
    const std::vector<std::uint64_t> used = members_->streams_of_others();
    for (const unowned_stream& stream : unowned_) {
      if (std::binary_search(used.begin(), used.end(), stream.key)) continue;
      std::vector<std::string> names;
      const std::string index = read_text(stream.directory + "/index.json");
      detail::for_each_file(stream.directory, directories_,
                            [&](std::string_view name, std::uint64_t) {
                              const std::string quoted = '"' + std::string(name) + '"';
                              if (index.find(quoted) != std::string::npos) names.emplace_back(name);
                            });
      for (const std::string& name : names) {
        change.remove_file(stream.directory + '/' + name);
        if (fits(bytes)) return true;
      }
    }
    return false;
  }

  [[nodiscard]] static std::string read_text(const std::string& path) {
    const unique_fd fd = detail::try_open(path, O_RDONLY);
    if (!fd) return {};
    std::string text(static_cast<std::size_t>(detail::file_size(fd.get(), path)), '\0');
    text.resize(detail::read_at(fd.get(), 0, std::as_writable_bytes(std::span(text)), path));
    return text;
  }

  /// Whether the raw file lies there with the right size; one of another size is deleted.
  [[nodiscard]] bool is_there(std::uint32_t shard, transaction& change) {
    const shard_files files = catalog_.files(shard);
    const std::string path = shard_catalog::path(catalog_.stream_of(shard), files.raw_name);
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0) return false;
    if (static_cast<std::uint64_t>(info.st_size) == files.raw_bytes) return true;
    change.remove_file(path);
    return false;
  }

  [[nodiscard]] static bool file_exists(const std::string& path, const shard_files& files) {
    return files.zipped() && ::access(path.c_str(), F_OK) == 0;
  }

  static void ensure_directory(const std::string& path) {
    const std::string directory = detail::parent_of(path);
    if (const int failure = detail::make_directories(directory); failure != 0) {
      throw system_failure(failure, "cannot make the directory", directory);
    }
  }

  void set_reserved(std::uint64_t bytes) {
    std::uint64_t& sum = journal_->head.reserved;
    sum = sum - std::min(sum, facts_.reserved) + bytes;
    facts_.reserved = bytes;
    members_->update(facts_);
  }

  [[nodiscard]] std::string lock_path(std::uint32_t shard) const {
    const catalog_stream& stream = catalog_.stream_of(shard);
    return own_ + "/shards/" + detail::hex_digits(stream.key) + '-' +
           std::to_string(shard - stream.first);
  }

  static constexpr const char* temporary_prefix = ".mdstream-";

  std::string root_;
  std::string own_;
  const shard_catalog& catalog_;
  hooks hooks_;

  std::mutex mutex_;  // within the process; flock does not tell its threads apart
  unique_fd lock_;
  std::optional<cache_journal> journal_;
  std::optional<cache_members> members_;
  std::unordered_map<std::uint64_t, const catalog_stream*> keys_;  // own streams with a remote
  member_facts facts_;
  std::uint64_t temporaries_ = 0;
  std::uint64_t others_need_ = 0;
  std::vector<std::string> directories_;  // that shards are fetched into, by anybody; sorted
  struct unowned_stream {
    std::uint64_t key;
    std::string directory;
  };
  std::vector<unowned_stream> unowned_;  // those of other jobs, past or present
  std::uint64_t generation_ = 0;
  std::uint64_t next_record_ = 0;
  std::uint64_t seen_membership_ = 0;
  std::vector<std::uint8_t> flags_;  // residency of each shard, as this process knows it

  std::atomic<std::uint64_t> limit_{0};
  std::atomic<std::size_t> others_{0};
  std::atomic<std::uint64_t> evicted_{0};
};

}  // namespace mdstream::inline v0
