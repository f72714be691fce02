#pragma once

#include <mdstream/cache/detail/cache_ledger.hpp>
#include <mdstream/cache/detail/disk_scan.hpp>
#include <mdstream/cache/detail/file_lock.hpp>
#include <mdstream/cache/detail/registered_streams.hpp>
#include <mdstream/core/detail/directory_reader.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstring>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE cache_ledger::cache_ledger(std::string root, std::uint64_t limit,
                                           const shard_catalog& catalog, ledger_rules rules)
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

MDSTREAM_INLINE cache_ledger::~cache_ledger() {
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

MDSTREAM_INLINE std::string cache_ledger::temporary_name(std::size_t stream_number) {
  const std::lock_guard guard(mutex_);
  const std::string name = members_->id() + '-' + std::to_string(temporaries_++);
  const std::string& directory = catalog_.streams()[stream_number].directory;
  return same_file_system(directory) ? own_ + "/tmp/" + name
                                     : directory + '/' + temporary_prefix + name;
}

MDSTREAM_INLINE std::string cache_ledger::lock_path(std::uint32_t shard) const {
  const catalog_stream& stream = catalog_.stream_of(shard);
  return own_ + "/shards/" + detail::hex_digits(stream.key) + '-' +
         std::to_string(shard - stream.first);
}

MDSTREAM_INLINE std::vector<std::uint32_t> cache_ledger::resident() {
  const std::lock_guard guard(mutex_);
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = next_resident(0); i < flags_.size(); i = next_resident(i + 1))
    found.push_back(i);
  return found;
}

MDSTREAM_INLINE void cache_ledger::publish_uses(std::span<const use_elsewhere> uses) {
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

MDSTREAM_INLINE cache_ledger::dir_lock::dir_lock(cache_ledger& of) : fd_(of.lock_.get()) {
  // A call that has waited long for an idle process lets the next ones know at once.
  const std::chrono::nanoseconds most =
      of.waited_in_vain_ ? of.rules_.peer_timeout / 60 : of.rules_.peer_timeout;
  of.waited_in_vain_ = true;
  detail::lock_file(fd_, of.own_ + "/lock", most);
  of.waited_in_vain_ = false;
}

MDSTREAM_INLINE void cache_ledger::dir_lock::release() noexcept {
  if (fd_ >= 0) (void)detail::lock_descriptor(fd_, LOCK_UN);
  fd_ = -1;
}

MDSTREAM_INLINE void cache_ledger::open_files() {
  for (const char* part : {"/live", "/shards", "/tmp"}) {
    if (const int failure = detail::make_shared_directories(own_ + part); failure != 0) {
      throw system_failure(failure, "cannot make the cache's directory", own_ + part);
    }
  }
  lock_ = detail::open_lock(own_ + "/lock");
  journal_.emplace(own_ + "/journal");
}

MDSTREAM_INLINE void cache_ledger::join() {
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

MDSTREAM_INLINE cache_ledger& cache_ledger::reopened_if_deleted() {
  if (detail::is_linked(lock_.get()) && members_ && members_->listed()) return *this;
  members_.reset();
  open_files();
  const dir_lock lock(*this);
  join();
  return *this;
}

MDSTREAM_INLINE void cache_ledger::register_streams() {
  std::vector<std::string> own;
  for (const auto& [key, stream] : keys_) {
    own.emplace_back(shard_catalog::relative_to(root_, stream->directory));
  }
  registered_streams(root_).add(own);
  read_registered();
}

MDSTREAM_INLINE void cache_ledger::read_registered() {
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

MDSTREAM_INLINE std::uint32_t cache_ledger::next_resident(std::uint32_t from) const noexcept {
  static_assert(absent == 0);
  std::size_t at = from;
  for (std::uint64_t eight = 0; at + sizeof eight <= flags_.size(); at += sizeof eight) {
    std::memcpy(&eight, flags_.data() + at, sizeof eight);
    if (eight != 0) break;
  }
  while (at < flags_.size() && flags_[at] == absent) ++at;
  return static_cast<std::uint32_t>(at);
}

MDSTREAM_INLINE void cache_ledger::recount(std::uint64_t reserved_by_others) {
  std::uint64_t used = index_bytes();
  for (const std::string& directory : directories_) {
    detail::for_each_file(directory, directories_, [&](std::string_view name, std::uint64_t bytes) {
      if (name != "index.json") used += bytes;
    });
  }
  journal_->restart(used, reserved_by_others + facts_.reserved);
}

MDSTREAM_INLINE std::uint64_t cache_ledger::index_bytes() const {
  std::uint64_t sum = 0;
  for (const std::string& directory : directories_) {
    struct stat info{};
    if (::stat((directory + "/index.json").c_str(), &info) == 0) {
      sum += static_cast<std::uint64_t>(info.st_size);
    }
  }
  return sum;
}

MDSTREAM_INLINE void cache_ledger::rescan() {
  for (const catalog_stream& stream : catalog_.streams()) {
    if (stream.has_remote) {
      detail::scan_stream(stream, directories_, flags_.data() + stream.first);
    }
  }
  generation_ = journal_->head.generation;
  next_record_ = journal_->head.records;
}

MDSTREAM_INLINE void cache_ledger::drop_spare_zips() {
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

MDSTREAM_INLINE bool cache_ledger::drop_spare(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0 || ::unlink(path.c_str()) != 0) return false;
  journal_->head.used -= std::min(journal_->head.used, static_cast<std::uint64_t>(info.st_size));
  return true;
}

MDSTREAM_INLINE void cache_ledger::catch_up() {
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

MDSTREAM_INLINE void cache_ledger::apply_records() {
  for (const journal_record& record : journal_->records_from(next_record_)) {
    const auto at = keys_.find(record.stream);
    if (at == keys_.end() || record.shard >= at->second->shards) continue;
    flags_[at->second->first + record.shard] = static_cast<std::uint8_t>(record.there);
  }
  next_record_ = journal_->head.records;
}

MDSTREAM_INLINE void cache_ledger::take(const member_sums& sums) {
  std::uint64_t smallest = facts_.limit;
  if (sums.smallest_limit != 0) {
    smallest = smallest == 0 ? sums.smallest_limit : std::min(smallest, sums.smallest_limit);
  }
  limit_.store(smallest, std::memory_order_relaxed);
  others_.store(sums.alive, std::memory_order_relaxed);
  others_need_ = sums.needs;
  others_largest_ = sums.largest;
}

MDSTREAM_INLINE void cache_ledger::apply_releases() {
  const std::uint64_t bytes = released_.load(std::memory_order_relaxed);
  if (bytes == 0) return;
  journal_->begin_change();
  member_facts facts = facts_;
  facts.reserved -= bytes;
  members_->update(facts);  // what cannot be written is given back by the next change
  std::uint64_t& sum = journal_->head.reserved;
  sum -= std::min(sum, bytes);
  facts_ = facts;
  released_.fetch_sub(bytes, std::memory_order_relaxed);
}

MDSTREAM_INLINE member_sums cache_ledger::survey_members() {
  const member_sums sums = members_->survey([this](std::string_view id) { forget(id); });
  take(sums);
  return sums;
}

MDSTREAM_INLINE void cache_ledger::look_for_dead() {
  const member_sums sums = survey_members();
  if (sums.found_dead) {
    recount(sums.reserved);
    rescan();
  }
  seen_membership_ = journal_->head.membership;
}

MDSTREAM_INLINE void cache_ledger::forget(std::string_view id) const {
  unlink_names(own_ + "/tmp", std::string(id) + '-');
  for (const std::string& directory : directories_) {
    if (!same_file_system(directory)) {
      unlink_names(directory, temporary_prefix + std::string(id) + '-');
    }
  }
}

MDSTREAM_INLINE void cache_ledger::unlink_names(const std::string& directory,
                                                const std::string& prefix) {
  directory_reader entries(directory);
  while (const char* const name = entries.next())
    if (std::string_view(name).starts_with(prefix)) ::unlink((directory + '/' + name).c_str());
}

MDSTREAM_INLINE bool cache_ledger::same_file_system(const std::string& directory) const {
  struct stat ours{}, theirs{};
  return ::stat(directory.c_str(), &theirs) != 0 ||
         (::stat(own_.c_str(), &ours) == 0 && ours.st_dev == theirs.st_dev);
}

MDSTREAM_INLINE std::vector<std::string> cache_ledger::indexed_files(
    const std::string& directory) const {
  std::vector<std::string> names;
  const std::string path = directory + "/index.json";
  if (::access(path.c_str(), R_OK) != 0) return names;  // it may be another user's alone
  const std::string index = detail::read_text(path);
  detail::for_each_file(directory, directories_, [&](std::string_view name, std::uint64_t) {
    const std::string quoted = '"' + std::string(name) + '"';
    if (index.find(quoted) != std::string::npos) names.emplace_back(name);
  });
  return names;
}

}  // namespace mdstream::inline v0::detail
