#pragma once

/// Changes of a cache directory, one at a time over all processes.

#include <mdstream/cache/cache_ledger.hpp>
#include <mdstream/core/error.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace mdstream::inline v0 {

/// One change under the directory lock, ended by `finish`. What throws out of it leaves the
/// journal's mark set, so that the next one counts anew.
class cache_ledger::transaction {
 public:
  explicit transaction(cache_ledger& of)
      : of_(of), guard_(of.mutex_), lock_(of.reopened_if_deleted()) {
    of_.catch_up();
  }

  /// To be called before the directory is changed.
  void modify() { of_.journal_->begin_change(); }

  void finish() {
    of_.journal_->end_change();
    lock_.release();
    guard_.unlock();
  }

  /// Bytes of complete files and of those that will be, over all processes.
  [[nodiscard]] std::uint64_t usage() const {
    return of_.journal_->head.used + of_.journal_->head.reserved;
  }
  [[nodiscard]] bool fits(std::uint64_t bytes) const {
    return of_.limit() == 0 || usage() + bytes <= of_.limit();
  }

  /// What of a shard lies there, as far as this process was told.
  [[nodiscard]] std::uint8_t residency_of(std::uint32_t shard) const { return of_.flags_[shard]; }

  /// The first shard from `from` on of which something lies there; the number of shards where there
  /// is none. Eight shards are looked at in one step.
  [[nodiscard]] std::uint32_t next_resident(std::uint32_t from) const noexcept {
    return of_.next_resident(from);
  }

  /// Adds to the sum of complete files.
  void add_used(std::uint64_t bytes) { of_.journal_->head.used += bytes; }

  /// Reserves room, or gives it back.
  void reserve(std::uint64_t bytes) {
    modify();
    of_.set_reserved(of_.facts_.reserved + bytes);
  }
  void unreserve(std::uint64_t bytes) {
    modify();
    of_.set_reserved(of_.facts_.reserved - std::min(of_.facts_.reserved, bytes));
  }

  /// Deletes a file and takes its size off the sum; nothing when there is none.
  void remove_file(const std::string& path) {
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0) return;
    modify();
    std::uint64_t& sum = of_.journal_->head.used;
    if (::unlink(path.c_str()) == 0) {
      sum -= std::min(sum, static_cast<std::uint64_t>(info.st_size));
    } else if (errno != ENOENT) {
      throw system_failure(errno, "cannot delete", path);
    }
  }

  /// Tells everybody what of a shard lies there now.
  void note(std::uint32_t shard, unsigned flags) {
    const catalog_stream& stream = of_.catalog_.stream_of(shard);
    modify();
    of_.journal_->append({.stream = stream.key, .shard = shard - stream.first, .there = flags});
    of_.flags_[shard] = static_cast<std::uint8_t>(flags);
    of_.next_record_ = of_.journal_->head.records;
  }

  /// What other processes said that they read soon: each shard once, the soonest use, sorted.
  [[nodiscard]] std::vector<use_elsewhere> uses_elsewhere() const {
    std::vector<use_elsewhere> found;
    for (const published_use& each : of_.members_->uses_of_others()) {
      const auto at = of_.keys_.find(each.stream);
      if (at == of_.keys_.end() || each.shard >= at->second->shards) continue;
      found.push_back({.shard = at->second->first + each.shard, .distance = each.distance});
    }
    std::ranges::sort(found, [](const use_elsewhere& a, const use_elsewhere& b) {
      return a.shard != b.shard ? a.shard < b.shard : a.distance < b.distance;
    });
    const auto again = std::ranges::unique(found, {}, &use_elsewhere::shard);
    found.erase(again.begin(), again.end());
    return found;
  }

  /// Looks for processes that died, and gives up what they had reserved.
  void look_for_dead() { of_.look_for_dead(); }

  /// Says how many bytes of shards this process may pin while it waits for others.
  void set_need(std::uint64_t bytes) {
    of_.facts_.need = bytes;
    of_.members_->update(of_.facts_);
  }
  /// What the other processes say of themselves; as of the last `look_for_dead`.
  [[nodiscard]] std::uint64_t needs_of_others() const { return of_.others_need_; }
  [[nodiscard]] std::uint64_t largest_of_others() const { return of_.others_largest_; }
  /// Whether all that they fetch belongs to streams of this process.
  [[nodiscard]] bool others_share_streams() const {
    return std::ranges::all_of(of_.members_->streams_of_others(),
                               [this](std::uint64_t key) { return of_.keys_.contains(key); });
  }

  [[nodiscard]] std::uint64_t index_bytes() const { return of_.index_bytes(); }

  /// Calls `visit(path)` for every shard file of directories that no live process uses, until it
  /// returns false. Only files that the index beside them names.
  template <class Visit>
  void for_each_unused(Visit visit) {
    if (of_.unowned_.empty()) return;
    const std::vector<std::uint64_t> used = of_.members_->streams_of_others();
    for (const unowned_stream& stream : of_.unowned_) {
      if (std::binary_search(used.begin(), used.end(), stream.key)) continue;
      for (const std::string& name : of_.indexed_files(stream.directory)) {
        if (!visit(stream.directory + '/' + name)) return;
      }
    }
  }

 private:
  cache_ledger& of_;
  std::unique_lock<std::mutex> guard_;
  dir_lock lock_;
};

inline void cache_ledger::notice_members() {
  {
    const std::lock_guard guard(mutex_);
    if (journal_->peek_membership() == seen_membership_ && members_->listed()) return;
  }
  transaction change(*this);
  change.finish();
}

}  // namespace mdstream::inline v0
