#pragma once

#include <mdstream/async/detail/event.hpp>
#include <mdstream/cache/detail/describe_streams.hpp>
#include <mdstream/cache/detail/shard_cache.hpp>
#include <mdstream/store/blocking.hpp>
#include <mdstream/store/retrying.hpp>
#include <mdstream/version.hpp>

#include <sys/resource.h>
#include <algorithm>
#include <string>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE shard_cache::shard_cache(runtime& threads, cache_options options,
                                         std::vector<cache_stream> streams,
                                         detail::codec_set codecs, detail::hash_set hashes)
    : threads_(threads),
      options_(std::move(options)),
      codecs_(codecs),
      hashes_(hashes),
      catalog_(detail::normal_path(options_.root), detail::describe_streams(streams, hashes),
               options_.boot.value_or(boot_identity::present())),
      here_(catalog_, options_.max_mappings),
      claims_(threads) {
  for (cache_stream& each : streams) adopt(std::move(each));
  open_directory();
  if (directory_) tick();
}

MDSTREAM_INLINE shard_cache::~shard_cache() {
  async_end([] {});
  work_.wait_idle();
}

MDSTREAM_INLINE void shard_cache::async_end(unique_function<void()> ended) {
  stop_.request_stop();
  requests_.stop_all();
  room_.wake_all();
  work_.when_idle(std::move(ended));
}

MDSTREAM_INLINE void shard_cache::async_acquire(std::uint32_t shard, std::stop_token stop,
                                                diagnostics& where, acquire_handler done) {
  request(shard, urgency::now, std::move(stop), where, std::move(done));
}

MDSTREAM_INLINE void shard_cache::async_prefetch(std::uint32_t shard, std::stop_token stop,
                                                 diagnostics& where, prefetch_handler done) {
  request(shard, urgency::ahead, std::move(stop), where,
          [done = std::move(done)](std::error_code code, shard_ref) mutable { done(code); });
}

MDSTREAM_INLINE shard_ref shard_cache::acquire(std::uint32_t shard) {
  if (shard < shards())
    if (std::optional<shard_ref> ready = try_acquire(shard)) return *std::move(ready);
  diagnostics where;
  std::error_code code;
  shard_ref ref;
  one_time_event finished;
  async_acquire(shard, {}, where, [&](std::error_code failure, shard_ref found) {
    code = failure;
    ref = std::move(found);
    finished.set();
  });
  finished.wait();
  if (code) throw error(code, std::move(where));
  return ref;
}

MDSTREAM_INLINE bool shard_cache::serves_ranges(std::uint32_t shard) const {
  const source& from = sources_[catalog_.stream_number(shard)];
  if (!from.remote || from.maker || from.rules.names_hash()) return false;
  const shard_files files = catalog_.files(shard);
  if (files.zipped() || files.meta) return false;
  return !here_.has_file(shard);
}

MDSTREAM_INLINE void shard_cache::async_read_remote(std::uint32_t shard, std::uint64_t offset,
                                                    mutable_bytes into, std::stop_token stop,
                                                    diagnostics& where,
                                                    store_handler<std::size_t> done) const {
  const source& from = sources_[catalog_.stream_number(shard)];
  const auto place = std::make_shared<detail::call_place>();
  place->now = true;
  retrying(threads_, from.rules.calls(threads_, *from.remote, place), from.rules.requests,
           from.rules.budget)
      .async_read(join_key(from.rules.prefix, catalog_.files(shard).raw_name), offset, into,
                  std::move(stop), where, std::move(done));
}

MDSTREAM_INLINE bool shard_cache::drop(std::uint32_t shard) {
  return directory_ && catalog_.stream_of(shard).has_remote && directory_->drop(shard);
}

MDSTREAM_INLINE bool shard_cache::evict(std::uint32_t shard) {
  return directory_ && catalog_.stream_of(shard).has_remote && directory_->evict(shard);
}

MDSTREAM_INLINE bool shard_cache::may_hold(std::uint64_t bytes) {
  const bool may = !directory_ || directory_->may_hold(bytes);
  tight_.store(!may, std::memory_order_relaxed);
  return may;
}

MDSTREAM_INLINE std::uint64_t shard_cache::limit_to_hold(std::uint64_t shards,
                                                         std::uint64_t processes) {
  return directory_ ? directory_->limit_to_hold(shards, processes) : 0;
}

MDSTREAM_INLINE std::size_t shard_cache::fetches_at_once() const {
  std::size_t most = 2;
  for (const source& each : sources_) {
    if (!each.remote) continue;
    const bool ranged = catalog_.largest() >= each.rules.ranged_from;
    const std::size_t requests = ranged ? ranged_read_options{}.at_once : 1;
    const std::size_t calls = each.rules.gate->most();
    most = std::max(most, (calls + calls / 4) / requests + 2);
  }
  return most;
}

MDSTREAM_INLINE cache_counters shard_cache::counters() const noexcept {
  return {.shards_fetched = fetched_.load(std::memory_order_relaxed),
          .bytes_fetched = bytes_.load(std::memory_order_relaxed),
          .shards_evicted = directory_ ? directory_->evicted() : 0,
          .attempts_failed = failed_.load(std::memory_order_relaxed),
          .requests_repeated = repeated()};
}

MDSTREAM_INLINE std::optional<std::uint64_t> shard_cache::usage() {
  if (!directory_) return std::nullopt;
  return directory_->usage();
}

MDSTREAM_INLINE void shard_cache::adopt(cache_stream each) {
  const catalog_stream& known = catalog_.streams()[sources_.size()];
  source from;
  if (known.has_remote) from.remote = each.remote->on(threads_);
  from.maker = std::move(each.maker);
  from.in_place = !known.in_place.empty();
  from.rules = {.prefix = std::move(each.prefix),
                .validate_hash = std::move(each.validate_hash),
                .keep_zip = known.keep_zip,
                .retry = {.attempts = each.download_retry, .pause = options_.retry_pause},
                .requests = requests_of(each),
                .budget = {retry_budget::of_many(),
                           detail::tells_of_trouble(options_.warn, known.name, each.patience)},
                .timeout = each.download_timeout};
  if (from.remote) from.rules.gate = detail::make_gate(threads_, *from.remote);
  sources_.push_back(std::move(from));
}

MDSTREAM_INLINE retry_policy shard_cache::requests_of(const cache_stream& each) const {
  retry_policy out = patient_requests(each.patience, each.patience.count() == 0 ? 1 : 4);
  out.pause = std::min(out.pause, options_.retry_pause);
  return out;
}

MDSTREAM_INLINE std::uint64_t shard_cache::repeated() const noexcept {
  std::uint64_t sum = 0;
  for (const source& each : sources_) sum += each.rules.budget.repeated();
  return sum;
}

MDSTREAM_INLINE void shard_cache::open_directory() {
  if (std::ranges::none_of(catalog_.streams(), &catalog_stream::has_remote)) return;
  const std::string root = detail::normal_path(options_.root);
  try {
    directory_.emplace(
        root, options_.limit, catalog_,
        cache_directory::hooks{
            .next_use =
                [this](std::uint32_t shard, std::uint64_t from) {
                  const auto known = next_use_.ask(shard, from);
                  return known ? *known : never - here_.slots().mapped_at(shard);
                },
            .knows_order = [this] { return next_use_.is_known(); },
            .release = [this](std::uint32_t shard) { return here_.slots().unmap(shard); },
            .is_dropped = [this](std::uint32_t shard) { return here_.slots().is_dropped(shard); }},
        ledger_rules{.peer_timeout = options_.peer_timeout});
  } catch (const error& e) {
    if (e.code() != errc::permission_denied) throw;
    not_writable_ = e.what();
    return;  // a complete dataset can be read without a word to other processes
  }
  here_.directory = &*directory_;
  directory_->check_limit();
}

MDSTREAM_INLINE void shard_cache::request(std::uint32_t shard, urgency why, std::stop_token stop,
                                          diagnostics& where, acquire_handler done) {
  if (shard >= shards()) {
    where = {.what = "shard " + std::to_string(shard) + " of " + std::to_string(shards())};
    return done(errc::out_of_range, {});
  }
  try {
    if (std::optional<shard_ref> ready = here_.find(shard)) return done({}, *std::move(ready));
  } catch (...) {
    const std::error_code code =
        detail::describe_failure(std::current_exception(), where, here_.path(shard));
    if (code != errc::unavailable) {
      catalog_.locate(shard, where);
      return done(code, {});
    }
  }
  if (stop.stop_requested()) {
    where = {.what = "the request was cancelled"};
    return done(errc::canceled, {});
  }
  const auto op = std::make_shared<fetch_operation>(fetch_operation{.shard = shard});
  op->ticket = claims_.ask();
  work_.begin();  // also of this call: another thread may complete it before it returns
  try {
    op->entry = requests_.add(shard, why, std::move(stop), where, std::move(done));
  } catch (...) {
    end(*op);
    throw;
  }
  op->entry ? go_on(op) : end(*op);
}

MDSTREAM_INLINE void shard_cache::go_on(const std::shared_ptr<fetch_operation>& op) {
  claims_.post(limited() && !requests_.wanted_now(*op->entry), [this, op] { step(op); });
}

MDSTREAM_INLINE void shard_cache::step(const std::shared_ptr<fetch_operation>& op) {
  try {
    if (op->entry->stop.stop_requested()) throw error(errc::canceled, "the request was cancelled");
    if (std::optional<shard_ref> ready = here_.find(op->shard)) {
      return finish(*op, {}, *std::move(ready));
    }
    if (const source& from = sources_[catalog_.stream_number(op->shard)]; from.in_place)
      return finish(*op, {}, here_.map_in_place(op->shard, *from.maker));
    if (!directory_ || !catalog_.stream_of(op->shard).has_remote) {
      return fetch(op, std::nullopt);
    }
    if (under_way_.load(std::memory_order_relaxed) >= most_under_way_) {
      op->pause = std::chrono::milliseconds(250);  // the end of each wakes one of those
      return again(op, room_.wait(op->ticket));
    }
    shard_claim claim;
    const urgency why = requests_.wanted_now(*op->entry) ? urgency::now : urgency::ahead;
    const auto claim_room = [&] {
      return directory_->claim(op->shard, footprint(op->shard), why, claim);
    };
    switch (claims_.claim(op->ticket, why, claim_room)) {
      case claim_result::claimed: return fetch(op, std::move(claim));
      case claim_result::check: return check(op, std::move(claim));
      case claim_result::there:
      case claim_result::busy:
        if (waits_for_stopped(*op)) return fetch(op, shard_claim{});
        return again(op, op->entry->stop.get_token());
      case claim_result::no_room:
        if (waited_long(*op)) throw error(errc::cache_too_small, no_room_text());
        if (why == urgency::ahead && dismiss_ahead(*op)) return end(*op);
        return again(op, room_.wait(op->ticket));
    }
  } catch (...) {
    if (!waits_for_descriptors(op)) fail(*op, std::current_exception());
  }
}

MDSTREAM_INLINE bool shard_cache::waits_for_stopped(fetch_operation& op) const {
  const auto now = std::chrono::steady_clock::now();
  if (now < std::max(op.began + options_.peer_timeout, op.looked + std::chrono::seconds(1)))
    return false;
  op.looked = now;
  return directory_->is_held_by_stopped(op.shard);
}

MDSTREAM_INLINE bool shard_cache::waits_for_descriptors(
    const std::shared_ptr<fetch_operation>& op) {
  if (code_of(std::current_exception()) != errc::unavailable) return false;
  if (options_.warn && !told_of_descriptors_.exchange(true)) {
    struct rlimit most{};
    (void)::getrlimit(RLIMIT_NOFILE, &most);
    options_.warn("all " + std::to_string(most.rlim_cur) +
                  " file descriptors of this process are in use: shards wait for free ones, "
                  "which is slow; raise the limit (ulimit -n)");
  }
  if (waited_long(*op)) return false;
  here_.unmap_idle();
  again(op, op->entry->stop.get_token());
  return true;
}

MDSTREAM_INLINE bool shard_cache::waited_long(const fetch_operation& op) const {
  return std::chrono::steady_clock::now() - op.began > options_.room_timeout;
}

MDSTREAM_INLINE diagnostics shard_cache::no_room_text() const {
  return {.what = "there is no room in the cache of " + std::to_string(directory_->limit()) +
                  " bytes: what it holds is in use or needed sooner",
          .url = options_.root};
}

MDSTREAM_INLINE void shard_cache::check(const std::shared_ptr<fetch_operation>& op,
                                        shard_claim claim) {
  const catalog_stream& owner = catalog_.stream_of(op->shard);
  const shard_files files = catalog_.files(op->shard);
  const std::optional<detail::shard_stamp> stamp = cache_directory::stamp_of(owner, files);
  const bool is_right = stamp && has_right_bytes(owner, files) &&
                        (!files.meta || has_right_bytes(owner, *files.meta));
  directory_->checked(op->shard, std::move(claim), stamp.value_or(detail::shard_stamp{}), is_right);
  if (!is_right) failed_.fetch_add(1, std::memory_order_relaxed);
  if (is_right)
    if (std::optional<shard_ref> ready = here_.find(op->shard, true))
      return finish(*op, {}, *std::move(ready));
  go_on(op);
}

MDSTREAM_INLINE bool shard_cache::has_right_bytes(const catalog_stream& owner,
                                                  const shard_file& file) const {
  const std::string path = shard_catalog::path(owner, file.raw_name);
  try {
    const unique_fd fd = detail::open_file(path, O_RDONLY);
    if (file.is_made) return detail::fits_seal(fd.get(), path);
    return detail::hash_of_file(hashes_, file.raw_digest.hash, fd.get(), path) ==
           file.raw_digest.hex;
  } catch (const error& e) {
    if (e.code() == errc::unavailable) throw;  // descriptors are lacking, which says nothing of it
    return false;
  }
}

MDSTREAM_INLINE void shard_cache::again(const std::shared_ptr<fetch_operation>& op,
                                        std::stop_token something) {
  const std::chrono::milliseconds pause = op->pause;
  op->pause = std::min<std::chrono::milliseconds>(pause * 2, poll_longest);
  // From here on it may go on in another thread.
  threads_.after(pause, std::move(something), [this, op](std::error_code) {
    room_.leave(op->ticket);
    go_on(op);
  });
}

MDSTREAM_INLINE void shard_cache::fetch(const std::shared_ptr<fetch_operation>& op,
                                        std::optional<shard_claim> claim) {
  const std::size_t number = catalog_.stream_number(op->shard);
  const source& from = sources_[number];
  const shard_files files = catalog_.files(op->shard);
  auto held = std::make_shared<std::optional<shard_claim>>(std::move(claim));
  if (!op->data) under_way_.fetch_add(1, std::memory_order_relaxed);
  try {
    shard_fetch::start(
        threads_,
        {.remote = from.remote ? &*from.remote : nullptr,
         .rules = &from.rules,
         .codecs = codecs_,
         .hashes = hashes_,
         .files = op->data ? *files.meta : files,
         .maker = from.maker.get(),
         .number = op->shard - catalog_.streams()[number].first,
         .directory = catalog_.streams()[number].directory,
         .temporary_name = [this, number] { return here_.temporary_name(number); },
         .discard = [this](const std::string& path) { here_.discard(path); },
         .on_failed_attempt = [this] { failed_.fetch_add(1, std::memory_order_relaxed); },
         .place = op->entry->place},
        op->entry->stop.get_token(), op->where,
        [this, op, held, more = files.meta && !op->data](std::error_code code,
                                                         std::optional<fetched_shard> got) {
          if (code || !more)
            return fetched(op, std::move(*held), code, joined(*op, std::move(got)));
          op->data = std::move(got);
          try {
            fetch(op, std::move(*held));
          } catch (...) {
            fail(*op, std::current_exception());
          }
        });
  } catch (...) {
    under_way_.fetch_sub(1, std::memory_order_relaxed);
    throw;
  }
}

MDSTREAM_INLINE std::optional<fetched_shard> shard_cache::joined(fetch_operation& op,
                                                                 std::optional<fetched_shard> got) {
  std::optional<fetched_shard> data = std::exchange(op.data, std::nullopt);
  if (!got || !data) return got;
  data->bytes_fetched += got->bytes_fetched;
  data->meta = std::make_unique<fetched_shard>(*std::move(got));
  return data;
}

MDSTREAM_INLINE void shard_cache::fetched(const std::shared_ptr<fetch_operation>& op,
                                          std::optional<shard_claim> claim, std::error_code code,
                                          std::optional<fetched_shard> got) {
  under_way_.fetch_sub(1, std::memory_order_relaxed);
  try {
    if (code) {
      if (claim) directory_->abandon(op->shard, *std::move(claim));
      if (code == errc::no_space && made_room_on_disk(*op)) return go_on(op);
      return fail(*op, detail::exception_of(code, op->where));
    }
    if (got->bytes_fetched > 0) {
      fetched_.fetch_add(1, std::memory_order_relaxed);
      bytes_.fetch_add(got->bytes_fetched, std::memory_order_relaxed);
    }
    if (!claim) {
      return finish(*op, {}, here_.hold(op->shard, here_.publish(op->shard, *std::move(got)), {}));
    }
    auto [mapping, pin] = directory_->publish(op->shard, *std::move(claim), *std::move(got));
    finish(*op, {}, here_.hold(op->shard, std::move(mapping), std::move(pin)));
  } catch (const error& e) {
    // Somebody deleted the cache while the shard was on its way.
    if (e.code() == errc::not_found && ++op->publishes < publish_attempts)
      return again(op, op->entry->stop.get_token());
    if (!waits_for_descriptors(op)) fail(*op, std::current_exception());
  } catch (...) {
    fail(*op, std::current_exception());
  }
}

MDSTREAM_INLINE void shard_cache::fail(fetch_operation& op, const std::exception_ptr& failure) {
  const std::error_code code = code_of(failure);
  try {
    describe(op, failure);
  } catch (const std::bad_alloc&) {
    op.where = {};
  }
  finish(op, code, {});
}

MDSTREAM_INLINE void shard_cache::describe(fetch_operation& op, const std::exception_ptr& failure) {
  const std::error_code code = detail::describe_failure(failure, op.where, here_.path(op.shard));
  catalog_.locate(op.shard, op.where);
  const auto explain = [&](std::string what) {
    if (!op.where.cause.empty()) what += "\n";
    op.where.cause = op.where.what + std::exchange(op.where.cause, {});
    op.where.what = std::move(what);
  };
  if (code == errc::no_space) {
    explain(
        "the cache's disk is full, and nothing that this library put there can go now: free "
        "some of it, or choose a local with more");
  } else if (!not_writable_.empty() && catalog_.stream_of(op.shard).has_remote &&
             (code == errc::not_found || code == errc::permission_denied)) {
    op.where.what = "the cache directory cannot be written, and does not have this shard";
    op.where.cause = not_writable_;
    op.where.url = options_.root;
  }
}

MDSTREAM_INLINE bool shard_cache::made_room_on_disk(const fetch_operation& op) {
  if (!directory_ || waited_long(op)) return false;
  const urgency why = requests_.wanted_now(*op.entry) ? urgency::now : urgency::ahead;
  if (!directory_->make_room_on_disk(op.shard, footprint(op.shard), why)) return false;
  if (options_.warn && !told_of_disk_.exchange(true)) {
    options_.warn("the disk of " + options_.root +
                  " is full: shards are evicted before the cache's limit is reached, and may be "
                  "fetched again; a smaller cache_limit leaves other programs room");
  }
  return true;
}

MDSTREAM_INLINE void shard_cache::finish(const fetch_operation& op, std::error_code code,
                                         shard_ref ref) {
  requests_.finish(op.shard, op.entry, code, op.where, std::move(ref));
  if (tight_.load(std::memory_order_relaxed)) unpin(op.shard);
  room_.wake_first();
  end(op);
}

MDSTREAM_INLINE void shard_cache::end(const fetch_operation& op) {
  claims_.leave(op.ticket);
  work_.end();
}

MDSTREAM_INLINE bool shard_cache::dismiss_ahead(fetch_operation& op) {
  op.where = no_room_text();
  catalog_.locate(op.shard, op.where);
  return requests_.dismiss_ahead(op.shard, op.entry, errc::cache_too_small, op.where);
}

MDSTREAM_INLINE void shard_cache::tick(std::chrono::nanoseconds pause) {
  work_.begin();
  threads_.after(pause, stop_.get_token(), [this](std::error_code canceled) {
    if (canceled) return work_.end();
    threads_.post([this] {
      const auto began = std::chrono::steady_clock::now();
      flush();
      try {
        directory_->ledger().notice_members();
        if (directory_->limited() && directory_->ledger().others() > 0) {
          here_.slots().sweep();
          directory_->publish_uses();
        }
      } catch (...) {
        // The directory can not be read now; the next request that needs it says so.
      }
      if (!stop_.stop_requested())
        tick(std::max<std::chrono::nanoseconds>(sweep_every,
                                                19 * (std::chrono::steady_clock::now() - began)));
      work_.end();
    });
  });
}

MDSTREAM_INLINE void shard_cache::flush() {
  if (stop_.stop_requested() || !directory_->has_due(options_.flush_after)) return;
  if (flushing_.exchange(true)) return;
  work_.begin();
  threads_.post([this] {
    try {
      directory_->flush_due(options_.flush_after);
    } catch (...) {
      // After another boot it counts as lost, and is fetched again.
    }
    flushing_ = false;
    work_.end();
  });
}

}  // namespace mdstream::inline v0::detail
