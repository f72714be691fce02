#pragma once

#include <mdstream/cache/detail/cache_directory.hpp>
#include <mdstream/cache/detail/file_lock.hpp>
#include <mdstream/cache/detail/shard_seal.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE error no_cache_directory(int failure, const std::string& path) {
  const errc code = errc_from_errno(failure);
  const bool is_the_place = code == errc::permission_denied || code == errc::not_found;
  return system_failure(failure,
                        std::string("the cache directory cannot be written") +
                            (is_the_place ? ": choose another local" : ""),
                        path);
}

MDSTREAM_INLINE void make_cache_directory(const std::string& path) {
  const int failure = make_shared_directories(path);
  if (failure != 0) throw no_cache_directory(failure, path);
}

MDSTREAM_INLINE std::optional<detail::shard_stamp> cache_directory::stamp_of(
    const catalog_stream& stream, const shard_files& files) {
  struct stat info{};
  const auto found = [&](const shard_file& file) {
    return ::stat(shard_catalog::path(stream, file.raw_name).c_str(), &info) == 0;
  };
  if (!found(files)) return std::nullopt;
  detail::shard_stamp stamp{detail::file_stamp::of(info)};
  if (!files.meta) return stamp;
  if (!found(*files.meta)) return std::nullopt;
  stamp.meta = detail::file_stamp::of(info);
  return stamp;
}

MDSTREAM_INLINE cache_directory::cache_directory(std::string root, std::uint64_t limit,
                                                 const shard_catalog& catalog, hooks calls,
                                                 ledger_rules rules)
    : ledger_(std::move(root), limit, catalog, std::move(rules)),
      catalog_(catalog),
      hooks_(std::move(calls)) {}

MDSTREAM_INLINE std::optional<unique_fd> cache_directory::try_pin(std::uint32_t shard) const {
  if (!limited()) return unique_fd();
  unique_fd lock = detail::try_lock_path(ledger_.lock_path(shard), lock_kind::shared);
  if (!lock) return std::nullopt;
  return lock;
}

MDSTREAM_INLINE claim_result cache_directory::claim(std::uint32_t shard, std::uint64_t bytes,
                                                    urgency why, shard_claim& out) {
  cache_ledger::transaction change(ledger_);
  const claim_result result = try_claim(shard, bytes, why, change, out);
  change.finish();
  return result;
}

MDSTREAM_INLINE std::pair<file_mapping, unique_fd> cache_directory::publish(std::uint32_t shard,
                                                                            shard_claim claim,
                                                                            fetched_shard fetched) {
  cache_ledger::transaction change(ledger_);
  const std::uint64_t reserved = claim.reserved.bytes();
  change.release(std::move(claim.reserved));
  try {
    // What was reserved for a shard that is made here was an estimate.
    if (fetched.raw.size() > reserved && claim.lock)
      (void)make_room(shard, urgency::now, change,
                      [&, bytes = fetched.raw.size()] { return change.fits(bytes); });
    const detail::shard_facts facts = catalog_.facts(catalog_.stream_of(shard));
    file_mapping mapping = name_files(shard, std::move(fetched), change);
    record(shard, facts, change);
    unique_fd pin = pin_published(shard, std::move(claim.lock));
    change.finish();
    return {std::move(mapping), std::move(pin)};
  } catch (...) {
    change.finish();
    throw;
  }
}

MDSTREAM_INLINE void cache_directory::abandon(std::uint32_t shard, shard_claim claim) {
  cache_ledger::transaction change(ledger_);
  change.release(std::move(claim.reserved));
  if (claim.lock) ::unlink(ledger_.lock_path(shard).c_str());
  change.finish();
}

MDSTREAM_INLINE void cache_directory::checked(std::uint32_t shard, shard_claim claim,
                                              const detail::shard_stamp& stamp, bool is_right) {
  cache_ledger::transaction change(ledger_);
  const catalog_stream& stream = catalog_.stream_of(shard);
  const shard_files files = catalog_.files(shard);
  if (is_right) {
    catalog_.facts(stream).record(shard - stream.first, stamp, files.can_check(),
                                  detail::unflushed);
  } else {
    remove_raw(stream, files, change);
  }
  ::unlink(ledger_.lock_path(shard).c_str());
  claim.lock.reset();
  change.finish();
}

MDSTREAM_INLINE void cache_directory::flush_later(std::uint32_t shard) {
  const std::lock_guard guard(flush_mutex_);
  if (to_flush_.empty() || to_flush_.back().shard != shard)
    to_flush_.push_back({shard, std::chrono::steady_clock::now()});
}

MDSTREAM_INLINE bool cache_directory::has_due(std::chrono::nanoseconds after) const {
  const std::lock_guard guard(flush_mutex_);
  return !to_flush_.empty() && to_flush_.front().since + after <= std::chrono::steady_clock::now();
}

MDSTREAM_INLINE void cache_directory::flush_due(std::chrono::nanoseconds after) {
  if (!has_due(after)) return;
  std::uint32_t shard = 0;
  {
    const std::lock_guard guard(flush_mutex_);
    shard = to_flush_.front().shard;
    to_flush_.pop_front();
  }
  const catalog_stream& stream = catalog_.stream_of(shard);
  const shard_files files = catalog_.files(shard);
  const std::optional<detail::shard_stamp> stamp = stamp_of(stream, files);
  if (!stamp) return;  // evicted
  flush_file(stream, files);
  if (files.meta) flush_file(stream, *files.meta);
  catalog_.facts(stream).record(shard - stream.first, *stamp, files.can_check(), detail::flushed);
}

MDSTREAM_INLINE bool cache_directory::is_held_by_stopped(std::uint32_t shard) const {
  const unique_fd fd = detail::try_open(ledger_.lock_path(shard), O_RDONLY);
  const auto holder = fd ? detail::lock_holder::of(fd.get()) : std::nullopt;
  return holder && holder->is_stopped();
}

MDSTREAM_INLINE void cache_directory::discard(const std::string& path) {
  cache_ledger::transaction change(ledger_);
  change.remove_file(path);
  change.finish();
}

MDSTREAM_INLINE bool cache_directory::drop(std::uint32_t shard) {
  cache_ledger::transaction change(ledger_);
  const bool by_another = hooks_.is_dropped && hooks_.is_dropped(shard);
  const bool gone = !hooks_.release || hooks_.release(shard);
  // Other processes that pin it share its lock, and keep the bytes that they have mapped. One that
  // is fetching it anew has the lock alone.
  if (gone && !by_another) {
    const unique_fd shared = detail::try_lock_path(ledger_.lock_path(shard), lock_kind::shared);
    if (shared) remove(shard, change);
  }
  change.finish();
  return gone;
}

MDSTREAM_INLINE bool cache_directory::evict(std::uint32_t shard) {
  cache_ledger::transaction change(ledger_);
  const bool there = file_is_there(catalog_.stream_of(shard), catalog_.files(shard), change);
  const bool gone = !there || try_evict(shard, change);
  change.finish();
  return gone;
}

MDSTREAM_INLINE void cache_directory::check_limit() {
  if (!limited()) return;
  cache_ledger::transaction change(ledger_);
  change.look_for_dead();
  const std::uint64_t indexes = change.index_bytes();
  const std::uint64_t largest = std::max(catalog_.largest(), change.largest_of_others());
  change.finish();
  if (indexes + largest <= limit()) return;
  throw error(errc::cache_too_small,
              {.what = "the cache limit of " + std::to_string(limit()) +
                       " bytes is too small: the smallest that works is " +
                       std::to_string(indexes + largest) + " (" + std::to_string(indexes) +
                       " for the indexes, " + std::to_string(largest) + " for the largest shard)",
               .url = ledger_.root()});
}

MDSTREAM_INLINE bool cache_directory::may_hold(std::uint64_t bytes) {
  if (!limited()) return true;
  const std::lock_guard guard(holding_mutex_);
  if (const std::uint64_t now = limit(); holding_.limit != now) holding_ = {.limit = now};
  if (bytes <= holding_.granted) return true;
  if (bytes >= holding_.refused && holding_.membership == ledger_.membership()) return false;
  cache_ledger::transaction change(ledger_);
  change.look_for_dead();
  if (const std::uint64_t now = ledger_.membership(); holding_.membership != now) {
    holding_.membership = now;
    holding_.refused = never;  // that was for what other processes needed then
  }
  const std::uint64_t of_all = bytes + change.needs_of_others();
  const std::uint64_t smallest =
      change.index_bytes() +
      (change.others_share_streams() ? std::min(of_all, catalog_.bytes()) : of_all);
  const bool fits = smallest <= limit();
  (fits ? holding_.granted : holding_.refused) = bytes;
  change.set_need(holding_.granted);
  change.finish();
  return fits;
}

MDSTREAM_INLINE std::uint64_t cache_directory::limit_to_hold(std::uint64_t shards,
                                                             std::uint64_t processes) {
  cache_ledger::transaction change(ledger_);
  const std::uint64_t indexes = change.index_bytes();
  change.finish();
  processes = std::max<std::uint64_t>(processes, ledger_.others() + 1);
  const std::uint64_t each = catalog_.most_bytes_of(shards);
  return indexes + (each > catalog_.bytes() / processes ? catalog_.bytes() : processes * each);
}

MDSTREAM_INLINE void cache_directory::publish_uses() {
  if (!limited() || ledger_.others() == 0) return;
  std::vector<use_elsewhere> uses;
  if (!knows_order()) return ledger_.publish_uses(uses);
  for (const std::uint32_t shard : ledger_.resident()) {
    const std::uint64_t place = next_use(shard, 0);
    if (place != never) uses.push_back({.shard = shard, .distance = place});
  }
  if (uses.empty()) return ledger_.publish_uses(uses);
  const auto soonest = std::min(uses.size(), most_published);
  std::ranges::nth_element(uses, uses.begin() + static_cast<std::ptrdiff_t>(soonest - 1), {},
                           &use_elsewhere::distance);
  uses.resize(soonest);
  const std::uint64_t now = std::ranges::min(uses, {}, &use_elsewhere::distance).distance;
  for (use_elsewhere& each : uses) each.distance -= now;
  ledger_.publish_uses(uses);
}

MDSTREAM_INLINE std::uint64_t cache_directory::usage() {
  cache_ledger::transaction change(ledger_);
  const std::uint64_t bytes = change.usage();
  change.finish();
  return bytes;
}

MDSTREAM_INLINE claim_result cache_directory::try_claim(std::uint32_t shard, std::uint64_t bytes,
                                                        urgency why,
                                                        cache_ledger::transaction& change,
                                                        shard_claim& out) {
  unique_fd lock = detail::try_lock_path(ledger_.lock_path(shard), lock_kind::exclusive);
  if (!lock) return claim_result::busy;
  const detail::standing found = standing_of(shard, change);
  if (found == detail::standing::trusted) return claim_result::there;
  if (found == detail::standing::to_check) {
    out = {.lock = std::move(lock)};
    return claim_result::check;
  }
  if (!make_room(shard, why, change, [&] { return change.fits(bytes); })) {
    ::unlink(ledger_.lock_path(shard).c_str());
    return claim_result::no_room;
  }
  out = {.lock = std::move(lock), .reserved = change.reserve(bytes)};
  return claim_result::claimed;
}

MDSTREAM_INLINE detail::standing cache_directory::standing_of(
    std::uint32_t shard, cache_ledger::transaction& change) const {
  const shard_files files = catalog_.files(shard);
  const catalog_stream& stream = catalog_.stream_of(shard);
  const bool data = file_is_there(stream, files, change);
  const bool all = (!files.meta || file_is_there(stream, *files.meta, change)) && data;
  const std::optional<detail::shard_stamp> stamp = all ? stamp_of(stream, files) : std::nullopt;
  if (!stamp) return detail::standing::to_fetch;
  const detail::standing found = catalog_.facts(stream).standing_of(
      shard - stream.first, *stamp, files.can_check(), stream.adopted);
  if (found == detail::standing::to_fetch) remove_raw(stream, files, change);
  return found;
}

MDSTREAM_INLINE void cache_directory::remove_raw(const catalog_stream& stream,
                                                 const shard_files& files,
                                                 cache_ledger::transaction& change) {
  change.remove_file(shard_catalog::path(stream, files.raw_name));
  if (files.meta) change.remove_file(shard_catalog::path(stream, files.meta->raw_name));
}

MDSTREAM_INLINE void cache_directory::record(std::uint32_t shard, const detail::shard_facts& facts,
                                             cache_ledger::transaction& change) {
  const catalog_stream& stream = catalog_.stream_of(shard);
  const shard_files files = catalog_.files(shard);
  if (!facts.is_present()) {
    remove_raw(stream, files, change);
    change.note(shard, absent);
    detail::shard_facts::fail_replaced(stream.directory);
  }
  const std::optional<detail::shard_stamp> stamp = stamp_of(stream, files);
  if (!stamp) return;
  facts.record(shard - stream.first, *stamp, files.can_check(), detail::unflushed);
  if (!files.can_check()) flush_later(shard);
}

MDSTREAM_INLINE void cache_directory::flush_file(const catalog_stream& stream,
                                                 const shard_file& file) {
  const std::string path = shard_catalog::path(stream, file.raw_name);
  detail::make_durable(detail::open_file(path, O_RDONLY).get(), path);
  detail::make_directory_durable(detail::parent_of(path));
}

MDSTREAM_INLINE bool cache_directory::is_whole(const shard_file& file, const std::string& path,
                                               std::uint64_t bytes) {
  if (!file.is_made) return bytes == file.raw_bytes;
  const unique_fd fd = detail::open_if_there(path, O_RDONLY);
  return fd && detail::sealed_bytes(fd.get(), bytes, path);
}

MDSTREAM_INLINE bool cache_directory::file_is_there(const catalog_stream& stream,
                                                    const shard_file& file,
                                                    cache_ledger::transaction& change) {
  const std::string path = shard_catalog::path(stream, file.raw_name);
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return false;
  if (is_whole(file, path, static_cast<std::uint64_t>(info.st_size))) return true;
  change.remove_file(path);
  return false;
}

MDSTREAM_INLINE file_mapping cache_directory::name_files(std::uint32_t shard, fetched_shard fetched,
                                                         cache_ledger::transaction& change) const {
  const catalog_stream& stream = catalog_.stream_of(shard);
  const shard_files files = catalog_.files(shard);
  std::unique_ptr<fetched_shard> meta = std::move(fetched.meta);
  if (files.meta) (void)name_parts(stream, *files.meta, std::move(*meta), change);
  file_mapping mapping = name_parts(stream, files, std::move(fetched), change);
  const std::string zip_path = shard_catalog::path(stream, files.zip_name);
  const bool has_zip = files.zipped() && ::access(zip_path.c_str(), F_OK) == 0;
  change.note(shard, raw_there | (has_zip ? zip_there : absent));
  return files.meta ? map_two(stream, files) : std::move(mapping);
}

MDSTREAM_INLINE file_mapping cache_directory::name_parts(const catalog_stream& stream,
                                                         const shard_file& file,
                                                         fetched_shard fetched,
                                                         cache_ledger::transaction& change) {
  const std::string zip_path = shard_catalog::path(stream, file.zip_name);
  if (fetched.zip) {
    (void)name_file(*std::move(fetched.zip), zip_path, change);
  } else if (file.zipped() && stream.has_remote && !stream.keep_zip) {
    change.remove_file(zip_path);
  }
  const std::string path = shard_catalog::path(stream, file.raw_name);
  file_mapping whole = name_file(std::move(fetched.raw), path, change);
  return file.is_made ? detail::map_sealed(path) : std::move(whole);
}

MDSTREAM_INLINE file_mapping cache_directory::map_two(const catalog_stream& stream,
                                                      const shard_files& files) {
  const std::string path = shard_catalog::path(stream, files.raw_name);
  const unique_fd data = detail::open_file(path, O_RDONLY);
  const unique_fd meta =
      detail::open_file(shard_catalog::path(stream, files.meta->raw_name), O_RDONLY);
  return file_mapping::of_two(data.get(), static_cast<std::size_t>(files.raw_bytes), meta.get(),
                              static_cast<std::size_t>(files.meta->raw_bytes), path);
}

MDSTREAM_INLINE file_mapping cache_directory::name_file(temporary_file file,
                                                        const std::string& path,
                                                        cache_ledger::transaction& change) {
  make_cache_directory(detail::parent_of(path));
  change.remove_file(path);
  const std::uint64_t bytes = file.size();
  file_mapping mapping = std::move(file).publish(path);
  change.add_used(bytes);
  return mapping;
}

MDSTREAM_INLINE unique_fd cache_directory::pin_published(std::uint32_t shard,
                                                         unique_fd lock) const {
  const std::string path = ledger_.lock_path(shard);
  if (!lock) return {};
  if (!limited()) {
    ::unlink(path.c_str());
    return {};
  }
  return detail::try_lock_file(lock.get(), lock_kind::shared, path) ? std::move(lock) : unique_fd();
}

MDSTREAM_INLINE bool cache_directory::make_room_on_disk(std::uint32_t shard, std::uint64_t bytes,
                                                        urgency why) {
  cache_ledger::transaction change(ledger_);
  const std::uint64_t before = change.usage();
  (void)make_room(shard, why, change, [&] { return before - change.usage() >= bytes; });
  const bool made_some = change.usage() < before;
  change.finish();
  return made_some;
}

MDSTREAM_INLINE bool cache_directory::make_room(std::uint32_t shard, urgency why,
                                                cache_ledger::transaction& change,
                                                const enough_function& enough) {
  if (enough()) return true;
  change.look_for_dead();
  change.for_each_unused([&](const std::string& path) {
    if (enough()) return false;
    change.remove_file(path);
    return true;
  });
  if (enough()) return true;
  const std::uint64_t wanted_at = next_use(shard, 0);
  const std::uint64_t from = why == urgency::ahead && wanted_at != never ? wanted_at : 0;
  const std::vector<use_elsewhere> elsewhere =
      ledger_.others() != 0 ? change.uses_elsewhere() : std::vector<use_elsewhere>();
  survey seen{.now = wanted_at};
  if (evict_unneeded(shard, from, why == urgency::now || wanted_at != never, elsewhere, change,
                     enough, seen)) {
    return true;
  }
  count_elsewhere(seen.others, elsewhere, knows_order() ? seen.now : 0, from);
  eviction_queue queue(std::move(seen.others), why, wanted_at);
  while (const std::optional<eviction_candidate> victim = queue.next()) {
    if (try_evict(victim->shard, change) && enough()) return true;
  }
  return false;
}

MDSTREAM_INLINE bool cache_directory::evict_unneeded(std::uint32_t wanted, std::uint64_t from,
                                                     bool may_evict,
                                                     const std::vector<use_elsewhere>& elsewhere,
                                                     cache_ledger::transaction& change,
                                                     const enough_function& enough, survey& seen) {
  const std::uint32_t shards = catalog_.shards();
  const auto look = [&](std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t i = change.next_resident(first); i < last; i = change.next_resident(i + 1)) {
      const std::uint64_t first_use = next_use(i, 0);
      seen.now = std::min(seen.now, first_use);
      if (i == wanted || !catalog_.stream_of(i).has_remote) continue;
      const std::uint64_t use = from == 0 || first_use >= from ? first_use : next_use(i, from);
      if (may_evict && first_use == never &&
          !std::ranges::binary_search(elsewhere, i, {}, &use_elsewhere::shard)) {
        hand_ = i + 1;
        if (try_evict(i, change) && enough()) return true;
        continue;
      }
      seen.others.push_back({.shard = i, .next_use = use, .needed_before = first_use < from});
    }
    return false;
  };
  const std::uint32_t begin = hand_ < shards ? hand_ : 0;
  return look(begin, shards) || look(0, begin);
}

MDSTREAM_INLINE bool cache_directory::try_evict(std::uint32_t shard,
                                                cache_ledger::transaction& change) {
  if (hooks_.release && !hooks_.release(shard)) return false;
  const unique_fd lock = detail::try_lock_path(ledger_.lock_path(shard), lock_kind::exclusive);
  if (!lock) return false;
  remove(shard, change);
  evicted_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

MDSTREAM_INLINE void cache_directory::remove(std::uint32_t shard,
                                             cache_ledger::transaction& change) {
  const catalog_stream& stream = catalog_.stream_of(shard);
  const shard_files files = catalog_.files(shard);
  remove_parts(stream, files, change);
  if (files.meta) remove_parts(stream, *files.meta, change);
  change.note(shard, absent);
  ::unlink(ledger_.lock_path(shard).c_str());
}

MDSTREAM_INLINE void cache_directory::remove_parts(const catalog_stream& stream,
                                                   const shard_file& file,
                                                   cache_ledger::transaction& change) {
  change.remove_file(shard_catalog::path(stream, file.raw_name));
  if (file.zipped()) change.remove_file(shard_catalog::path(stream, file.zip_name));
}

}  // namespace mdstream::inline v0::detail
