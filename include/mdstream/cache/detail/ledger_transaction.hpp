#pragma once

/// Changes of a cache directory, one at a time over all processes.

#include <mdstream/cache/detail/cache_ledger.hpp>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace mdstream::inline v0::detail {

/// One change under the directory lock, ended by `finish`. What throws out of it leaves the
/// journal's mark set, so that the next one counts anew.
class cache_ledger::transaction {
 public:
  explicit transaction(cache_ledger& of);

  /// To be called before the directory is changed.
  void modify() { of_.journal_->begin_change(); }

  void finish();

  /// Bytes of complete files and of those that will be, over all processes.
  [[nodiscard]] std::uint64_t usage() const {
    return of_.journal_->head.used + of_.journal_->head.reserved;
  }
  [[nodiscard]] bool fits(std::uint64_t bytes) const {
    return of_.limit() == 0 || usage() + bytes <= of_.limit();
  }

  /// What of a shard lies there, as far as this process was told.
  [[nodiscard]] std::uint8_t residency_of(std::uint32_t shard) const { return of_.flags_[shard]; }

  /// The first shard from `from` on that has files in the cache, or the number of shards if no such
  /// shard is left. Skips eight absent shards per step.
  [[nodiscard]] std::uint32_t next_resident(std::uint32_t from) const noexcept {
    return of_.next_resident(from);
  }

  /// Adds to the sum of complete files.
  void add_used(std::uint64_t bytes) { of_.journal_->head.used += bytes; }

  /// Reserves room.
  [[nodiscard]] reservation reserve(std::uint64_t bytes);
  /// Gives it back in this change.
  void release(reservation room);

  /// Deletes a file and takes its size off the sum; nothing when there is none.
  void remove_file(const std::string& path);

  /// Tells everybody what of a shard lies there now.
  void note(std::uint32_t shard, unsigned flags);

  /// What other processes said that they read soon: each shard once, the soonest use, sorted.
  [[nodiscard]] std::vector<use_elsewhere> uses_elsewhere() const;

  /// Looks for processes that died, and gives up what they had reserved.
  void look_for_dead() { of_.look_for_dead(); }

  /// Says how many bytes of shards this process may pin while it waits for others.
  void set_need(std::uint64_t bytes);
  /// What the other processes say of themselves; as of the last `look_for_dead`.
  [[nodiscard]] std::uint64_t needs_of_others() const { return of_.others_need_; }
  [[nodiscard]] std::uint64_t largest_of_others() const { return of_.others_largest_; }
  /// Whether all that they fetch belongs to streams of this process.
  [[nodiscard]] bool others_share_streams() const;

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

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/cache/detail/impl/ledger_transaction.ipp>
#endif
