#pragma once

#include <mdstream/cache/detail/ledger_transaction.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/version.hpp>

#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE cache_ledger::transaction::transaction(cache_ledger& of)
    : of_(of), guard_(of.mutex_), lock_(of.reopened_if_deleted()) {
  of_.catch_up();
  of_.apply_releases();
}

MDSTREAM_INLINE void cache_ledger::transaction::finish() {
  of_.journal_->end_change();
  lock_.release();
  guard_.unlock();
}

MDSTREAM_INLINE reservation cache_ledger::transaction::reserve(std::uint64_t bytes) {
  modify();
  member_facts facts = of_.facts_;
  facts.reserved += bytes;
  of_.members_->update(facts);  // what cannot be written is not reserved
  of_.facts_ = facts;
  of_.journal_->head.reserved += bytes;
  return {of_.released_, bytes};
}

MDSTREAM_INLINE void cache_ledger::transaction::release(reservation room) {
  {
    const reservation gone = std::move(room);
  }
  of_.apply_releases();
}

MDSTREAM_INLINE void cache_ledger::transaction::remove_file(const std::string& path) {
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

MDSTREAM_INLINE void cache_ledger::transaction::note(std::uint32_t shard, unsigned flags) {
  const catalog_stream& stream = of_.catalog_.stream_of(shard);
  modify();
  of_.journal_->append({.stream = stream.key, .shard = shard - stream.first, .there = flags});
  of_.flags_[shard] = static_cast<std::uint8_t>(flags);
  of_.next_record_ = of_.journal_->head.records;
}

MDSTREAM_INLINE std::vector<use_elsewhere> cache_ledger::transaction::uses_elsewhere() const {
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

MDSTREAM_INLINE void cache_ledger::transaction::set_need(std::uint64_t bytes) {
  const bool is_less = bytes < of_.facts_.need;
  of_.facts_.need = bytes;
  of_.members_->update(of_.facts_);
  if (!is_less) return;
  modify();
  ++of_.journal_->head.membership;  // others ask again
}

MDSTREAM_INLINE bool cache_ledger::transaction::others_share_streams() const {
  return std::ranges::all_of(of_.members_->streams_of_others(),
                             [this](std::uint64_t key) { return of_.keys_.contains(key); });
}

MDSTREAM_INLINE void cache_ledger::notice_members() {
  {
    const std::lock_guard guard(mutex_);
    if (journal_->peek_membership() == seen_membership_ && members_->listed()) return;
  }
  transaction change(*this);
  change.finish();
}

}  // namespace mdstream::inline v0::detail
