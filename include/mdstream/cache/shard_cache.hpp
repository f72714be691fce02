#pragma once

/// One copy of each shard on a node, for all its processes.

#include <mdstream/async/event.hpp>
#include <mdstream/async/runtime.hpp>
#include <mdstream/cache/cache_directory.hpp>
#include <mdstream/cache/catalog.hpp>
#include <mdstream/cache/claims_in_order.hpp>
#include <mdstream/cache/describe_streams.hpp>
#include <mdstream/cache/next_use.hpp>
#include <mdstream/cache/options.hpp>
#include <mdstream/cache/resident_shards.hpp>
#include <mdstream/cache/shard_fetch.hpp>
#include <mdstream/cache/shard_requests.hpp>
#include <mdstream/cache/slots.hpp>
#include <mdstream/codec/codec.hpp>
#include <mdstream/core/descriptors.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/core/unique_function.hpp>
#include <mdstream/format/index.hpp>
#include <mdstream/hash/hash.hpp>
#include <mdstream/store/blocking.hpp>
#include <mdstream/store/retrying.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// The shards of several streams, numbered over all of them in order, as mapped bytes.
///
/// What is missing is fetched from the stream's remote, checked and decompressed on the runtime's
/// pool. With a limit, what is needed farthest in the future is evicted to make room; what is held
/// by a `shard_ref` of any process is not; what has no remote is never deleted. Processes that use
/// the same root share one copy of each shard and one limit, and may be killed at any time.
///
/// All members are thread-safe. References may outlive the cache; its destructor cancels what is in
/// progress and waits for it: on a thread of the runtime call `async_end` before. The runtime and
/// the indexes have to outlive the cache.
template <object_store Store, codec_policy Codec, hash_policy Hash>
class shard_cache {
 public:
  using stream = cache_stream<Store>;
  using acquire_handler = unique_function<void(std::error_code, shard_ref)>;
  using prefetch_handler = unique_function<void(std::error_code)>;

  /// Throws `errc::invalid_argument` for options that can not be right, `errc::cache_too_small` for
  /// a limit below the indexes and the largest shard, `errc::unsupported` when the root's file
  /// system has no locks.
  shard_cache(runtime& threads, cache_options options, std::vector<stream> streams)
      : threads_(threads),
        options_(std::move(options)),
        catalog_(detail::normal_path(options_.root), detail::describe_streams<Hash>(streams),
                 options_.boot.value_or(boot_identity::present())),
        here_(catalog_, options_.max_mappings),
        claims_(threads) {
    for (stream& each : streams) adopt(std::move(each));
    open_directory();
    if (directory_) tick();
  }
  shard_cache(const shard_cache&) = delete;
  shard_cache& operator=(const shard_cache&) = delete;

  ~shard_cache() {
    stop_.request_stop();
    requests_.stop_all();
    room_.wake_all();
    work_.wait_idle();
  }

  /// Cancels what is in progress and calls `ended`, which may destroy the cache, when that has come
  /// to its end: at once, or on the thread of the last of it. The last call of all.
  void async_end(unique_function<void()> ended) {
    stop_.request_stop();
    requests_.stop_all();
    room_.wake_all();
    work_.when_idle(std::move(ended));
  }

  /// In a forked child, which has none of the threads: unmaps what nobody there uses.
  void abandon() noexcept { here_.slots().abandon(); }

  /// Number of shards of all streams.
  [[nodiscard]] std::uint32_t shards() const noexcept { return catalog_.shards(); }

  /// Whether what is held counts against a limit, this process's or another's.
  [[nodiscard]] bool limited() const noexcept { return limit() != 0; }
  /// The smallest limit of the processes that use the root; 0: none has one.
  [[nodiscard]] std::uint64_t limit() const noexcept {
    return directory_ ? directory_->limit() : 0;
  }

  /// A reference to a shard that is resident and mapped already: a few instructions, no lock.
  /// Precondition: `shard < shards()`.
  [[nodiscard]] std::optional<shard_ref> try_acquire(std::uint32_t shard) noexcept {
    return here_.slots().try_acquire(shard);
  }

  /// Makes the shard resident and mapped and gives a reference to it. Completes exactly once: on
  /// the calling thread, before this returns, when the shard is resident, else on any thread.
  /// `where` has to stay until then. Requests for the same shard share one fetch; a requested stop
  /// ends this request alone, with `errc::canceled`.
  void async_acquire(std::uint32_t shard, std::stop_token stop, diagnostics& where,
                     acquire_handler done) {
    request(shard, urgency::now, std::move(stop), where, std::move(done));
  }

  /// Makes the shard resident, for later; it is not pinned. `errc::cache_too_small` says that there
  /// is no room for it now that holds nothing needed sooner, or was none for one that was asked for
  /// before it: ask again later, in the order of need. Completes as `async_acquire` does.
  void async_prefetch(std::uint32_t shard, std::stop_token stop, diagnostics& where,
                      prefetch_handler done) {
    request(shard, urgency::ahead, std::move(stop), where,
            [done = std::move(done)](std::error_code code, shard_ref) mutable { done(code); });
  }

  /// The same, waiting. Throws. Never call it on a thread of the runtime.
  [[nodiscard]] shard_ref acquire(std::uint32_t shard) {
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

  /// Whether parts of the shard can be read from its remote as they lie in the raw shard: it has
  /// one file, which is not compressed, no hash was asked for by name, and it does not lie here.
  [[nodiscard]] bool serves_ranges(std::uint32_t shard) const {
    const source& from = sources_[catalog_.stream_number(shard)];
    if (!from.remote || from.rules.names_hash()) return false;
    const shard_files files = catalog_.files(shard);
    if (files.zipped() || files.meta) return false;
    return !here_.has_file(shard);
  }

  /// Reads bytes of a shard from its remote into memory; the cache takes no part in it. Failures
  /// that may pass are tried again as downloads are; the store's own time limits hold. Completes
  /// exactly once, on any thread, with how many bytes there were. Precondition: `serves_ranges`.
  void async_read_remote(std::uint32_t shard, std::uint64_t offset, mutable_bytes into,
                         std::stop_token stop, diagnostics& where,
                         store_handler<std::size_t> done) const {
    const source& from = sources_[catalog_.stream_number(shard)];
    const auto place = std::make_shared<detail::call_place>();
    place->now = true;
    const std::shared_ptr<const remote_store> remote(std::shared_ptr<const void>(), &*from.remote);
    retrying(threads_, from.rules.calls(threads_, remote, place), from.rules.requests,
             from.rules.budget)
        .async_read(join_key(from.rules.prefix, catalog_.files(shard).raw_name), offset, into,
                    std::move(stop), where, std::move(done));
  }

  /// Forgets a resident shard whose bytes turned out to be bad, so that it is fetched again. False,
  /// and it stays, where it has no remote, and while anybody holds it.
  bool drop(std::uint32_t shard) {
    return directory_ && catalog_.stream_of(shard).has_remote && directory_->drop(shard);
  }

  /// Tells when a shard is needed next: the number of a batch, smaller is sooner, `never` when it
  /// is not. Called from any thread, often; it must not call the cache. Without it the shard that
  /// was mapped first goes first. Processes with a limit tell each other, twenty times a second,
  /// and what one reads soon another evicts last. When this returns, the function that was set
  /// before is no longer called.
  void set_next_use(std::function<std::uint64_t(std::uint32_t)> next_use) {
    if (!next_use) return set_next_use_from(nullptr);
    set_next_use_from([next_use = std::move(next_use)](std::uint32_t shard, std::uint64_t) {
      return next_use(shard);
    });
  }

  /// The same with the first use at or after a given place, 0 being now. Who can tell that gets as
  /// few downloads as is possible at all: what is fetched ahead then waits until what has to go for
  /// it is no longer needed.
  void set_next_use_from(next_use_rule::function next_use) { next_use_.set(std::move(next_use)); }

  /// Whether shards of so many bytes (see `footprint`) may be held while others of them are waited
  /// for. Where not, a process that waits for a shard holds no other: so processes never wait in a
  /// circle, and every limit that was accepted is enough. From then on until it may, shards are
  /// unmapped as soon as nobody holds them, so that others find room.
  [[nodiscard]] bool may_hold(std::uint64_t bytes) {
    const bool may = !directory_ || directory_->may_hold(bytes);
    tight_.store(!may, std::memory_order_relaxed);
    return may;
  }
  /// A limit with which `may_hold` allows any `shards` to each of so many processes, or as many as
  /// there are: no more than the whole dataset takes.
  [[nodiscard]] std::uint64_t limit_to_hold(std::uint64_t shards, std::uint64_t processes) {
    return directory_ ? directory_->limit_to_hold(shards, processes) : 0;
  }
  /// Unmaps a shard that nobody holds, so that other processes can evict it at once.
  void unpin(std::uint32_t shard) {
    if (here_.slots().unmap(shard)) room_.wake_first();
  }

  /// Bytes that the shard takes of the limit.
  [[nodiscard]] std::uint64_t footprint(std::uint32_t shard) const {
    return catalog_.footprint(shard);
  }

  /// Shards that are worth fetching at a time: as many as the stores bear and the lines carry, and
  /// some that wait, so that no line is idle while a shard is put in its place. Each takes room.
  [[nodiscard]] std::size_t fetches_at_once() const {
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

  [[nodiscard]] cache_counters counters() const noexcept {
    return {.shards_fetched = fetched_.load(std::memory_order_relaxed),
            .bytes_fetched = bytes_.load(std::memory_order_relaxed),
            .shards_evicted = directory_ ? directory_->evicted() : 0,
            .attempts_failed = failed_.load(std::memory_order_relaxed),
            .requests_repeated = repeated()};
  }

  /// Bytes in use and reserved by all processes; none where nothing can be written.
  [[nodiscard]] std::optional<std::uint64_t> usage() {
    if (!directory_) return std::nullopt;
    return directory_->usage();
  }

 private:
  using remote_store = async_store_t<Store>;
  using fetcher = shard_fetch<remote_store, Codec, Hash>;

  static constexpr std::chrono::milliseconds sweep_every{50};
  static constexpr std::chrono::milliseconds poll_first{2};
  static constexpr std::chrono::milliseconds poll_longest{20};
  static constexpr unsigned publish_attempts = 3;

  struct source {
    std::optional<remote_store> remote;
    fetch_rules rules;
  };

  /// One way from a request to a mapped shard; its steps run one after the other on the pool.
  struct journey {
    std::uint32_t shard;
    std::shared_ptr<shard_requests::entry> entry;
    claims_in_order::turn turn;
    diagnostics where{};
    std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
    std::chrono::steady_clock::time_point looked{};  // who holds its lock
    std::chrono::milliseconds pause = poll_first;
    unsigned publishes = 0;
    std::optional<fetched_shard> data{};  // while the file beside it is fetched
  };

  // Making.

  // Datasets without a remote have no root: nothing is cached.
  void adopt(stream each) {
    const catalog_stream& known = catalog_.streams()[sources_.size()];
    source from;
    if (known.has_remote) from.remote.emplace(make_async(threads_, *std::move(each.remote)));
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

  /// How the requests of a stream are repeated; its user waits no longer than for its downloads.
  [[nodiscard]] retry_policy requests_of(const stream& each) const {
    retry_policy out = patient_requests(each.patience, each.patience.count() == 0 ? 1 : 4);
    out.pause = std::min(out.pause, options_.retry_pause);
    return out;
  }

  [[nodiscard]] std::uint64_t repeated() const noexcept {
    std::uint64_t sum = 0;
    for (const source& each : sources_) sum += each.rules.budget.repeated();
    return sum;
  }

  void open_directory() {
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
              .release = [this](std::uint32_t shard) { return here_.slots().unmap(shard); }},
          ledger_rules{.peer_timeout = options_.peer_timeout});
    } catch (const error& e) {
      if (e.code() != errc::permission_denied) throw;
      return;  // a complete dataset can be read without a word to other processes
    }
    here_.directory = &*directory_;
    directory_->check_limit();
  }

  // Requests.

  void request(std::uint32_t shard, urgency why, std::stop_token stop, diagnostics& where,
               acquire_handler done) {
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
    std::shared_ptr<shard_requests::entry> begun =
        requests_.add(shard, why, std::move(stop), where, std::move(done));
    if (!begun) return;
    work_.begin();
    go_on(std::make_shared<journey>(
        journey{.shard = shard, .entry = std::move(begun), .turn = claims_.ask()}));
  }

  // The way of one shard.

  void go_on(const std::shared_ptr<journey>& trip) {
    claims_.post(limited() && !requests_.wanted_now(*trip->entry), [this, trip] { step(trip); });
  }

  void step(const std::shared_ptr<journey>& trip) {
    try {
      if (trip->entry->stop.stop_requested())
        throw error(errc::canceled, "the request was cancelled");
      if (std::optional<shard_ref> ready = here_.find(trip->shard)) {
        return finish(*trip, {}, *std::move(ready));
      }
      if (!directory_ || !catalog_.stream_of(trip->shard).has_remote) {
        return fetch(trip, std::nullopt);
      }
      if (under_way_.load(std::memory_order_relaxed) >= most_under_way_) {
        trip->pause = std::chrono::milliseconds(250);  // the end of each wakes one of those
        return again(trip, room_.wait(trip->turn));
      }
      shard_claim claim;
      const urgency why = requests_.wanted_now(*trip->entry) ? urgency::now : urgency::ahead;
      const auto claim_room = [&] {
        return directory_->claim(trip->shard, footprint(trip->shard), why, claim);
      };
      switch (claims_.claim(trip->turn, why, claim_room)) {
        case claim_result::claimed: return fetch(trip, std::move(claim));
        case claim_result::check: return check(trip, std::move(claim));
        case claim_result::there:
        case claim_result::busy:
          if (waits_for_stopped(*trip)) return fetch(trip, shard_claim{});
          return again(trip, trip->entry->stop.get_token());
        case claim_result::no_room:
          if (waited_long(*trip)) throw error(errc::cache_too_small, no_room_text());
          if (why == urgency::ahead && dismiss_ahead(*trip)) return end(*trip);
          return again(trip, room_.wait(trip->turn));
      }
    } catch (...) {
      if (!waits_for_descriptors(trip)) fail(*trip, std::current_exception());
    }
  }

  /// Whether it has waited long for a process that is stopped; looked at once a second.
  [[nodiscard]] bool waits_for_stopped(journey& trip) const {
    const auto now = std::chrono::steady_clock::now();
    if (now < std::max(trip.began + options_.peer_timeout, trip.looked + std::chrono::seconds(1)))
      return false;
    trip.looked = now;
    return directory_->is_held_by_stopped(trip.shard);
  }

  /// Within a handler of an exception: whether that was a want of descriptors, which are waited
  /// for.
  [[nodiscard]] bool waits_for_descriptors(const std::shared_ptr<journey>& trip) {
    if (code_of(std::current_exception()) != errc::unavailable) return false;
    if (options_.warn && !told_of_descriptors_.exchange(true)) {
      struct rlimit most{};
      (void)::getrlimit(RLIMIT_NOFILE, &most);
      options_.warn("all " + std::to_string(most.rlim_cur) +
                    " file descriptors of this process are in use: shards wait for free ones, "
                    "which is slow; raise the limit (ulimit -n)");
    }
    if (waited_long(*trip)) return false;
    here_.unmap_idle();
    again(trip, trip->entry->stop.get_token());
    return true;
  }

  [[nodiscard]] bool waited_long(const journey& trip) const {
    return std::chrono::steady_clock::now() - trip.began > options_.room_timeout;
  }

  [[nodiscard]] diagnostics no_room_text() const {
    return {.what = "there is no room in the cache of " + std::to_string(directory_->limit()) +
                    " bytes: what it holds is in use or needed sooner",
            .url = options_.root};
  }

  /// Checks what lies there from before. What is not right is fetched again.
  void check(const std::shared_ptr<journey>& trip, shard_claim claim) {
    const catalog_stream& owner = catalog_.stream_of(trip->shard);
    const shard_files files = catalog_.files(trip->shard);
    const std::optional<detail::shard_stamp> stamp = cache_directory::stamp_of(owner, files);
    const bool is_right = stamp && has_right_bytes(owner, files) &&
                          (!files.meta || has_right_bytes(owner, *files.meta));
    directory_->checked(trip->shard, std::move(claim), stamp.value_or(detail::shard_stamp{}),
                        is_right);
    if (!is_right) failed_.fetch_add(1, std::memory_order_relaxed);
    if (is_right)
      if (std::optional<shard_ref> ready = here_.find(trip->shard, true))
        return finish(*trip, {}, *std::move(ready));
    go_on(trip);
  }

  /// Whether a raw file holds what the index says. A disk that does not give it is as bad.
  [[nodiscard]] static bool has_right_bytes(const catalog_stream& owner, const shard_file& file) {
    const std::string path = shard_catalog::path(owner, file.raw_name);
    try {
      const unique_fd fd = detail::open_file(path, O_RDONLY);
      return detail::hash_of_file<Hash>(file.raw_digest.hash, fd.get(), path) ==
             file.raw_digest.hex;
    } catch (const error& e) {
      if (e.code() == errc::unavailable)
        throw;  // descriptors are lacking, which says nothing of it
      return false;
    }
  }

  /// Looks again after a pause, because another process may have changed something, or at once when
  /// something happens here.
  void again(const std::shared_ptr<journey>& trip, std::stop_token something) {
    threads_.after(trip->pause, std::move(something), [this, trip](std::error_code) {
      room_.leave(trip->turn);
      go_on(trip);
    });
    trip->pause = std::min<std::chrono::milliseconds>(trip->pause * 2, poll_longest);
  }

  void fetch(const std::shared_ptr<journey>& trip, std::optional<shard_claim> claim) {
    const std::size_t number = catalog_.stream_number(trip->shard);
    const source& from = sources_[number];
    const shard_files files = catalog_.files(trip->shard);
    auto held = std::make_shared<std::optional<shard_claim>>(std::move(claim));
    if (!trip->data) under_way_.fetch_add(1, std::memory_order_relaxed);
    fetcher::start(
        threads_,
        {.remote = from.remote ? &*from.remote : nullptr,
         .rules = &from.rules,
         .files = trip->data ? *files.meta : files,
         .directory = catalog_.streams()[number].directory,
         .temporary_name = [this, number] { return here_.temporary_name(number); },
         .discard = [this](const std::string& path) { here_.discard(path); },
         .on_failed_attempt = [this] { failed_.fetch_add(1, std::memory_order_relaxed); },
         .place = trip->entry->place},
        trip->entry->stop.get_token(), trip->where,
        [this, trip, held, more = files.meta && !trip->data](std::error_code code,
                                                             std::optional<fetched_shard> got) {
          if (code || !more)
            return fetched(trip, std::move(*held), code, joined(*trip, std::move(got)));
          trip->data = std::move(got);
          fetch(trip, std::move(*held));
        });
  }

  /// What was fetched for a shard in one or two files.
  [[nodiscard]] static std::optional<fetched_shard> joined(journey& trip,
                                                           std::optional<fetched_shard> got) {
    std::optional<fetched_shard> data = std::exchange(trip.data, std::nullopt);
    if (!got || !data) return got;
    data->bytes_fetched += got->bytes_fetched;
    data->meta = std::make_unique<fetched_shard>(*std::move(got));
    return data;
  }

  void fetched(const std::shared_ptr<journey>& trip, std::optional<shard_claim> claim,
               std::error_code code, std::optional<fetched_shard> got) {
    under_way_.fetch_sub(1, std::memory_order_relaxed);
    try {
      if (code) {
        if (claim) directory_->abandon(trip->shard, *std::move(claim));
        return fail(*trip, std::make_exception_ptr(error(code, trip->where)));
      }
      if (got->bytes_fetched > 0) {
        fetched_.fetch_add(1, std::memory_order_relaxed);
        bytes_.fetch_add(got->bytes_fetched, std::memory_order_relaxed);
      }
      if (!claim) {
        return finish(*trip, {},
                      here_.hold(trip->shard, here_.publish(trip->shard, *std::move(got)), {}));
      }
      auto [mapping, pin] = directory_->publish(trip->shard, *std::move(claim), *std::move(got));
      finish(*trip, {}, here_.hold(trip->shard, std::move(mapping), std::move(pin)));
    } catch (const error& e) {
      // Somebody deleted the cache while the shard was on its way.
      if (e.code() == errc::not_found && ++trip->publishes < publish_attempts)
        return again(trip, trip->entry->stop.get_token());
      if (!waits_for_descriptors(trip)) fail(*trip, std::current_exception());
    } catch (...) {
      fail(*trip, std::current_exception());
    }
  }

  void fail(journey& trip, const std::exception_ptr& failure) {
    const std::error_code code =
        detail::describe_failure(failure, trip.where, here_.path(trip.shard));
    catalog_.locate(trip.shard, trip.where);
    finish(trip, code, {});
  }

  /// Completes everybody who waits.
  void finish(const journey& trip, std::error_code code, shard_ref ref) {
    requests_.finish(trip.shard, trip.entry, code, trip.where, ref);
    ref = {};
    if (tight_.load(std::memory_order_relaxed)) unpin(trip.shard);
    room_.wake_first();
    end(trip);
  }

  /// Nothing of the cache is touched after the last line: its destructor waits for exactly that.
  void end(const journey& trip) {
    claims_.leave(trip.turn);
    work_.end();
  }

  [[nodiscard]] bool dismiss_ahead(journey& trip) {
    trip.where = no_room_text();
    catalog_.locate(trip.shard, trip.where);
    return requests_.dismiss_ahead(trip.shard, trip.entry, errc::cache_too_small, trip.where);
  }

  /// Unpins what nobody has used for a while, so that other processes can evict it, and tells them
  /// what will be. Takes a twentieth of a thread's time at most.
  void tick(std::chrono::nanoseconds pause = sweep_every) {
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

  /// Flushes one shard that nothing could check after a power loss, if one waits for that.
  void flush() {
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

  runtime& threads_;
  cache_options options_;
  shard_catalog catalog_;
  std::vector<source> sources_;
  resident_shards here_;
  std::optional<cache_directory> directory_;

  next_use_rule next_use_;
  claims_in_order claims_;
  waits_for_room room_;
  shard_requests requests_;
  work_count work_;
  std::stop_source stop_;

  std::atomic<bool> flushing_{false};
  // A fetch takes up to four descriptors: two of files, and two of its connection.
  const std::size_t most_under_way_ = detail::most_at_once();
  std::atomic<std::size_t> under_way_{0};  // fetches
  std::atomic<bool> told_of_descriptors_{false};
  std::atomic<bool> tight_{false};  // what a batch needs can not be held
  std::atomic<std::uint64_t> fetched_{0};
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<std::uint64_t> failed_{0};
};

}  // namespace mdstream::inline v0
