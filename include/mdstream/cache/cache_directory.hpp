#pragma once

/// The directory in which the processes of a node share one copy of each shard: who may fetch one,
/// what goes to make room, what is pinned.

#include <mdstream/cache/cache_ledger.hpp>
#include <mdstream/cache/catalog.hpp>
#include <mdstream/cache/file_lock.hpp>
#include <mdstream/cache/ledger_transaction.hpp>
#include <mdstream/cache/mapping.hpp>
#include <mdstream/cache/shard_fetch.hpp>
#include <mdstream/schedule/eviction.hpp>
#include <mdstream/store/file.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
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
  check,    ///< it lies there, and this process is to check it: see `checked`
  there,    ///< it is complete
  busy,     ///< another process fetches or evicts it
  no_room,  ///< what could be evicted is pinned, or is needed sooner than what is asked for
};

/// All calls are thread-safe.
class cache_directory {
 public:
  /// Of a shard whose files lie there; none where one is missing.
  [[nodiscard]] static std::optional<detail::shard_stamp> stamp_of(const catalog_stream& stream,
                                                                   const shard_files& files) {
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

  struct hooks {
    /// The first use of a shard at or after a place in the order, 0 being now; `never` when there
    /// is none.
    std::function<std::uint64_t(std::uint32_t, std::uint64_t)> next_use{};
    /// Whether those places are batches of an order, and not mere guesses.
    std::function<bool()> knows_order{};
    /// Unmaps a shard that nobody in this process holds; false when somebody does.
    std::function<bool(std::uint32_t)> release{};
  };

  /// As `cache_ledger`.
  cache_directory(std::string root, std::uint64_t limit, const shard_catalog& catalog, hooks calls,
                  ledger_rules rules = {})
      : ledger_(std::move(root), limit, catalog, std::move(rules)),
        catalog_(catalog),
        hooks_(std::move(calls)) {}

  [[nodiscard]] cache_ledger& ledger() noexcept { return ledger_; }

  /// Whether shards in use have to be pinned: some process has a limit.
  [[nodiscard]] bool limited() const noexcept { return ledger_.limit() != 0; }
  [[nodiscard]] std::uint64_t limit() const noexcept { return ledger_.limit(); }

  /// Shards that this process has evicted.
  [[nodiscard]] std::uint64_t evicted() const noexcept {
    return evicted_.load(std::memory_order_relaxed);
  }

  /// A shared lock that pins the shard against eviction; an empty one when no process has a limit;
  /// none when another process holds it to fetch or evict it.
  [[nodiscard]] std::optional<unique_fd> try_pin(std::uint32_t shard) const {
    if (!limited()) return unique_fd();
    unique_fd lock = detail::try_lock_path(ledger_.lock_path(shard), lock_kind::shared);
    if (!lock) return std::nullopt;
    return lock;
  }

  /// Asks to make a shard that will take `bytes` on the disk; evicts what has to go for it.
  [[nodiscard]] claim_result claim(std::uint32_t shard, std::uint64_t bytes, urgency why,
                                   shard_claim& out) {
    cache_ledger::transaction change(ledger_);
    const claim_result result = try_claim(shard, bytes, why, change, out);
    change.finish();
    return result;
  }

  /// Gives a fetched shard its names. Returns its mapping and the lock that pins it from now on.
  /// Throws `errc::not_found` when the directory was deleted meanwhile.
  [[nodiscard]] std::pair<file_mapping, unique_fd> publish(std::uint32_t shard, shard_claim claim,
                                                           fetched_shard fetched) {
    cache_ledger::transaction change(ledger_);
    change.unreserve(claim.reserved);
    try {
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

  /// Gives up a claim.
  void abandon(std::uint32_t shard, shard_claim claim) {
    cache_ledger::transaction change(ledger_);
    change.unreserve(claim.reserved);
    if (claim.lock) ::unlink(ledger_.lock_path(shard).c_str());
    change.finish();
  }

  /// Ends a claim to check a shard. `stamp`: of the files when their contents were read. What is
  /// not right is deleted.
  void checked(std::uint32_t shard, shard_claim claim, const detail::shard_stamp& stamp,
               bool is_right) {
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

  /// Has a shard flushed when `flush_due` is called so much later.
  void flush_later(std::uint32_t shard) {
    const std::lock_guard guard(flush_mutex_);
    if (to_flush_.empty() || to_flush_.back().shard != shard)
      to_flush_.push_back({shard, std::chrono::steady_clock::now()});
  }

  /// Whether `flush_due` has something to do.
  [[nodiscard]] bool has_due(std::chrono::nanoseconds after) const {
    const std::lock_guard guard(flush_mutex_);
    return !to_flush_.empty() &&
           to_flush_.front().since + after <= std::chrono::steady_clock::now();
  }

  /// Flushes one shard of those that have waited so long, and writes that down. Waits for the disk.
  void flush_due(std::chrono::nanoseconds after) {
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

  /// Whether a stopped process holds the shard to fetch or evict it. Then it may be fetched with an
  /// empty claim: without that lock, and without room for it.
  [[nodiscard]] bool is_held_by_stopped(std::uint32_t shard) const {
    const unique_fd fd = detail::try_open(ledger_.lock_path(shard), O_RDONLY);
    const auto holder = fd ? detail::lock_holder::of(fd.get()) : std::nullopt;
    return holder && holder->is_stopped();
  }

  /// Deletes a damaged file of a stream that has a remote.
  void discard(const std::string& path) {
    cache_ledger::transaction change(ledger_);
    change.remove_file(path);
    change.finish();
  }

  /// Deletes a shard whose bytes are bad, unless some process uses it; false then. The stream has a
  /// remote.
  bool drop(std::uint32_t shard) {
    cache_ledger::transaction change(ledger_);
    const bool gone = try_remove(shard, change);
    change.finish();
    return gone;
  }

  /// Throws `errc::cache_too_small`, naming the smallest limit that works, when the limit does not
  /// hold the indexes and the largest shard of any process. That much is enough for all of them:
  /// see `may_hold`.
  void check_limit() {
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

  /// Whether this process may hold shards of so many bytes while it waits for room for more of
  /// them; then the room is set aside for it. Where not, it may hold none while it waits for one.
  /// So nobody waits in a circle: what is held while others are waited for fits beneath the limit,
  /// and all else is given back in finite time. Where all that the processes read fits, nobody
  /// waits, and everything may be held.
  [[nodiscard]] bool may_hold(std::uint64_t bytes) {
    if (!limited()) return true;
    const std::lock_guard guard(holding_mutex_);
    const holding known{.limit = limit(), .others = ledger_.others()};
    if (holding_.limit != known.limit) holding_ = known;
    if (bytes <= holding_.granted) return true;
    if (bytes >= holding_.refused && holding_.others == known.others) return false;
    cache_ledger::transaction change(ledger_);
    change.look_for_dead();
    const std::uint64_t of_all = bytes + change.needs_of_others();
    const std::uint64_t smallest =
        change.index_bytes() +
        (change.others_share_streams() ? std::min(of_all, catalog_.bytes()) : of_all);
    const bool fits = smallest <= limit();
    (fits ? holding_.granted : holding_.refused) = bytes;
    holding_.others = known.others;
    change.set_need(holding_.granted);
    change.finish();
    return fits;
  }

  /// A limit with which so many processes, or as many as there are, may each hold any `shards`.
  [[nodiscard]] std::uint64_t limit_to_hold(std::uint64_t shards, std::uint64_t processes) {
    cache_ledger::transaction change(ledger_);
    const std::uint64_t indexes = change.index_bytes();
    change.finish();
    processes = std::max<std::uint64_t>(processes, ledger_.others() + 1);
    const std::uint64_t each = catalog_.most_bytes_of(shards);
    return indexes + (each > catalog_.bytes() / processes ? catalog_.bytes() : processes * each);
  }

  /// Tells other processes which of the shards that lie there this one reads soon, so that they do
  /// not evict them if anything else can go. O(shards). To be called now and then.
  void publish_uses() {
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

  /// Bytes in use and reserved, over all processes.
  [[nodiscard]] std::uint64_t usage() {
    cache_ledger::transaction change(ledger_);
    const std::uint64_t bytes = change.usage();
    change.finish();
    return bytes;
  }

 private:
  [[nodiscard]] claim_result try_claim(std::uint32_t shard, std::uint64_t bytes, urgency why,
                                       cache_ledger::transaction& change, shard_claim& out) {
    unique_fd lock = detail::try_lock_path(ledger_.lock_path(shard), lock_kind::exclusive);
    if (!lock) return claim_result::busy;
    const detail::standing found = standing_of(shard, change);
    if (found == detail::standing::trusted) return claim_result::there;
    if (found == detail::standing::to_check) {
      out = {.lock = std::move(lock)};
      return claim_result::check;
    }
    if (!make_room(shard, bytes, why, change)) {
      ::unlink(ledger_.lock_path(shard).c_str());
      return claim_result::no_room;
    }
    change.reserve(bytes);
    out = {.lock = std::move(lock), .reserved = bytes};
    return claim_result::claimed;
  }

  /// What of a shard lies there is worth. Files of another size, and those that nothing vouches
  /// for, are deleted.
  [[nodiscard]] detail::standing standing_of(std::uint32_t shard,
                                             cache_ledger::transaction& change) const {
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

  static void remove_raw(const catalog_stream& stream, const shard_files& files,
                         cache_ledger::transaction& change) {
    change.remove_file(shard_catalog::path(stream, files.raw_name));
    if (files.meta) change.remove_file(shard_catalog::path(stream, files.meta->raw_name));
  }

  /// Writes down that a shard was fetched. It goes again where the directory has got another
  /// version of the dataset meanwhile.
  void record(std::uint32_t shard, const detail::shard_facts& facts,
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

  static void flush_file(const catalog_stream& stream, const shard_file& file) {
    const std::string path = shard_catalog::path(stream, file.raw_name);
    detail::make_durable(detail::open_file(path, O_RDONLY).get(), path);
    detail::make_directory_durable(detail::parent_of(path));
  }

  [[nodiscard]] static bool file_is_there(const catalog_stream& stream, const shard_file& file,
                                          cache_ledger::transaction& change) {
    const std::string path = shard_catalog::path(stream, file.raw_name);
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0) return false;
    if (static_cast<std::uint64_t>(info.st_size) == file.raw_bytes) return true;
    change.remove_file(path);
    return false;
  }

  // Publishing.

  [[nodiscard]] file_mapping name_files(std::uint32_t shard, fetched_shard fetched,
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

  [[nodiscard]] static file_mapping name_parts(const catalog_stream& stream, const shard_file& file,
                                               fetched_shard fetched,
                                               cache_ledger::transaction& change) {
    const std::string zip_path = shard_catalog::path(stream, file.zip_name);
    if (fetched.zip) {
      (void)name_file(*std::move(fetched.zip), zip_path, file.zip_bytes, change);
    } else if (file.zipped() && stream.has_remote && !stream.keep_zip) {
      change.remove_file(zip_path);
    }
    return name_file(std::move(fetched.raw), shard_catalog::path(stream, file.raw_name),
                     file.raw_bytes, change);
  }

  [[nodiscard]] static file_mapping map_two(const catalog_stream& stream,
                                            const shard_files& files) {
    const std::string path = shard_catalog::path(stream, files.raw_name);
    const unique_fd data = detail::open_file(path, O_RDONLY);
    const unique_fd meta =
        detail::open_file(shard_catalog::path(stream, files.meta->raw_name), O_RDONLY);
    return file_mapping::of_two(data.get(), static_cast<std::size_t>(files.raw_bytes), meta.get(),
                                static_cast<std::size_t>(files.meta->raw_bytes), path);
  }

  [[nodiscard]] static file_mapping name_file(temporary_file file, const std::string& path,
                                              std::uint64_t bytes,
                                              cache_ledger::transaction& change) {
    const std::string directory = detail::parent_of(path);
    if (const int failure = detail::make_shared_directories(directory); failure != 0) {
      throw system_failure(failure, "cannot make the directory", directory);
    }
    change.remove_file(path);
    file_mapping mapping = std::move(file).publish(path);
    change.add_used(bytes);
    return mapping;
  }

  /// Turns the exclusive lock into a pin. Nobody can come between: exclusive locks are only tried
  /// under the directory lock.
  [[nodiscard]] unique_fd pin_published(std::uint32_t shard, unique_fd lock) const {
    const std::string path = ledger_.lock_path(shard);
    if (!lock) return {};
    if (!limited()) {
      ::unlink(path.c_str());
      return {};
    }
    return detail::try_lock_file(lock.get(), lock_kind::shared, path) ? std::move(lock)
                                                                      : unique_fd();
  }

  // Room.

  [[nodiscard]] bool make_room(std::uint32_t shard, std::uint64_t bytes, urgency why,
                               cache_ledger::transaction& change) {
    if (change.fits(bytes)) return true;
    change.look_for_dead();
    change.for_each_unused([&](const std::string& path) {
      if (change.fits(bytes)) return false;
      change.remove_file(path);
      return true;
    });
    if (change.fits(bytes)) return true;
    const std::uint64_t wanted_at = next_use(shard, 0);
    const std::uint64_t from = why == urgency::ahead && wanted_at != never ? wanted_at : 0;
    const std::vector<use_elsewhere> elsewhere =
        ledger_.others() != 0 ? change.uses_elsewhere() : std::vector<use_elsewhere>();
    survey seen{.now = wanted_at};
    if (evict_unneeded(shard, bytes, from, why == urgency::now || wanted_at != never, elsewhere,
                       change, seen)) {
      return true;
    }
    count_elsewhere(seen.others, elsewhere, knows_order() ? seen.now : 0, from);
    eviction_queue queue(std::move(seen.others), why, wanted_at);
    while (const std::optional<eviction_candidate> victim = queue.next()) {
      if (try_evict(victim->shard, change) && change.fits(bytes)) return true;
    }
    return false;
  }

  /// What a walk over the shards that lie there has found.
  struct survey {
    std::vector<eviction_candidate> others{};  ///< that some process may need
    std::uint64_t now = 0;  ///< where this process is in its order: at what it reads first
  };

  /// Evicts shards that nobody is known to need, which are the first to go, until there is room:
  /// mostly one of the first that are looked at. The walk goes on where the last one ended. What
  /// has no remote is never among them.
  bool evict_unneeded(std::uint32_t wanted, std::uint64_t bytes, std::uint64_t from, bool may_evict,
                      const std::vector<use_elsewhere>& elsewhere,
                      cache_ledger::transaction& change, survey& seen) {
    const std::uint32_t shards = catalog_.shards();
    const auto look = [&](std::uint32_t first, std::uint32_t last) {
      for (std::uint32_t i = change.next_resident(first); i < last;
           i = change.next_resident(i + 1)) {
        const std::uint64_t first_use = next_use(i, 0);
        seen.now = std::min(seen.now, first_use);
        if (i == wanted || !catalog_.stream_of(i).has_remote) continue;
        const std::uint64_t use = from == 0 || first_use >= from ? first_use : next_use(i, from);
        if (may_evict && first_use == never &&
            !std::ranges::binary_search(elsewhere, i, {}, &use_elsewhere::shard)) {
          hand_ = i + 1;
          if (try_evict(i, change) && change.fits(bytes)) return true;
          continue;
        }
        seen.others.push_back({.shard = i, .next_use = use, .needed_before = first_use < from});
      }
      return false;
    };
    const std::uint32_t begin = hand_ < shards ? hand_ : 0;
    return look(begin, shards) || look(0, begin);
  }

  [[nodiscard]] std::uint64_t next_use(std::uint32_t shard, std::uint64_t from) const {
    return hooks_.next_use ? hooks_.next_use(shard, from) : never;
  }
  [[nodiscard]] bool knows_order() const { return hooks_.knows_order && hooks_.knows_order(); }

  /// Evicts a shard unless some process pins it.
  bool try_evict(std::uint32_t shard, cache_ledger::transaction& change) {
    if (!try_remove(shard, change)) return false;
    evicted_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }

  bool try_remove(std::uint32_t shard, cache_ledger::transaction& change) {
    if (hooks_.release && !hooks_.release(shard)) return false;
    const std::string lock_path = ledger_.lock_path(shard);
    const unique_fd lock = detail::try_lock_path(lock_path, lock_kind::exclusive);
    if (!lock) return false;
    const catalog_stream& stream = catalog_.stream_of(shard);
    const shard_files files = catalog_.files(shard);
    remove_parts(stream, files, change);
    if (files.meta) remove_parts(stream, *files.meta, change);
    change.note(shard, absent);
    ::unlink(lock_path.c_str());
    return true;
  }

  static void remove_parts(const catalog_stream& stream, const shard_file& file,
                           cache_ledger::transaction& change) {
    change.remove_file(shard_catalog::path(stream, file.raw_name));
    if (file.zipped()) change.remove_file(shard_catalog::path(stream, file.zip_name));
  }

  static constexpr std::size_t most_published = 4096;

  struct waiting_flush {
    std::uint32_t shard;
    std::chrono::steady_clock::time_point since;
  };
  /// What was answered last by `may_hold`, and what that depends on.
  struct holding {
    std::uint64_t limit = 0;
    std::size_t others = 0;
    std::uint64_t granted = 0;
    std::uint64_t refused = never;
  };

  cache_ledger ledger_;
  const shard_catalog& catalog_;
  hooks hooks_;
  std::atomic<std::uint64_t> evicted_{0};
  mutable std::mutex flush_mutex_;
  std::deque<waiting_flush> to_flush_;
  std::uint32_t hand_ = 0;  // where the next walk over the shards begins; under the directory lock
  std::mutex holding_mutex_;
  holding holding_;
};

}  // namespace mdstream::inline v0
