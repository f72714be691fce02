#pragma once

#include <mdstream/stream/detail/order_warnings.hpp>
#include <mdstream/stream/detail/run.hpp>
#include <mdstream/stream/detail/run_settings.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE run_engine::run_engine(const loader_options& given, run_policies policies,
                                       opened_streams* opened)
    : position_(detail::position_of(given)),
      ranks_here_(position_.ranks_per_node * given.replication),
      batch_size_(detail::batch_size_of(given, position_)),
      predownload_(given.predownload.value_or(std::max<std::uint64_t>(64 * batch_size_, 8192))),
      canonical_nodes_(given.num_canonical_nodes.value_or(0)),
      handed_out_(std::make_shared<hand_out>(std::move(policies.observer))),
      corpus_(dataset_part(given, handed_out_->hears_warnings()), policies.corpus, opened),
      memory_(policies.memory),
      disk_(corpus_.shard_bytes()),
      order_(detail::weighted_shards(given, corpus_.stream_shards()), detail::order_part(given),
             given.phases, global_batch_size(), policies.shuffler(given.shuffle_algo), given.subset,
             given.drop_last),
      plans_(corpus_.cache_root().empty() ? "" : corpus_.cache_root() + "/.mdstream/plans"),
      progress_(order_.begin_run()),
      bad_(corpus_.numbers()),
      substitute_(given.on_bad_shard == bad_shards::substitute),
      substitute_samples_(given.on_bad_sample == mdstream::bad_samples::substitute),
      given_predownload_(given.predownload),
      builder_(std::move(policies.builder)),
      prefetch_limit_(0),
      epochs_(std::make_shared<epoch_controller>(corpus_.threads())),
      held_(builder_->make()) {
  corpus_.select_common_columns();  // a batch has one set of them
  prefetch_limit_ = detail::prefetch_limit_of(
      given, builder_->about.transforms || corpus_.converts() || substitute_samples_);
  builder_->open(corpus_.layout());
  handed_out_->ranks = position_.num_ranks();
  detail::check_block_size(given);
  if (handed_out_->hears_warnings()) handed_out_->watched->hear(corpus_.warnings());
}

MDSTREAM_INLINE void run_engine::close(unique_function<void()> closed) {
  corpus_.cache().set_next_use(nullptr);
  epochs_->close(exchange_feed(nullptr), std::move(closed));
}

MDSTREAM_INLINE std::chrono::nanoseconds run_engine::stalled() const noexcept {
  return stalled_before_ + (feed_ ? feed_->stalled() : std::chrono::nanoseconds(0));
}

MDSTREAM_INLINE std::uint64_t run_engine::begin_epoch() {
  require_idle();
  if (ticket_ == 0) order_.check(position_, batch_size_, progress_);
  progress begun = progress_;  // kept only once the order is there: a failure begins nothing
  const epoch_start start = begun.begin_epoch(position_);
  substitutions bad = excluded();
  std::unique_ptr<epoch_feed> made(  // all of them are feeds
      static_cast<epoch_feed*>(epochs_->take({start, bad.bad()}).release()));
  if (!made) made = make_feed(start, bad);
  if (ticket_ == 0) warn_of_order(start);
  count_epoch(std::move(bad));
  ++ticket_;
  handed_out_->samples = 0;
  handed_out_->batches = 0;
  handed_out_->made_of_epoch = {};
  handed_out_->epoch = start.epoch;
  handed_out_->is_whole = start.sample_in_epoch == 0;
  progress_ = begun;
  std::unique_ptr<epoch_feed> ended = exchange_feed(std::move(made));
  corpus_.cache().set_next_use([this, &now = *feed_](std::uint32_t shard, std::uint64_t from) {
    return next_use(now, shard, from);
  });
  has_left_ = ended != nullptr;
  epochs_->leave(std::move(ended));
  clear_away();
  feed_->wait_for(epochs_->others_gone());
  feed_->fetch_on();  // until then its fetches went by no order, and may have found no room
  order_.prepare(plans_, corpus_.threads(), position_, batch_size_, begun);
  return ticket_;
}

MDSTREAM_INLINE epoch_start run_engine::whole_epoch() const {
  const bool at_hand = feed_ && !progress_.has_loaded();
  epoch_start whole = progress(progress_).begin_epoch(position_);
  if (at_hand) whole.epoch = static_cast<std::uint64_t>(progress_.epoch());
  whole.sample_in_epoch = 0;
  return whole;
}

MDSTREAM_INLINE std::uint64_t run_engine::batches_per_epoch() const {
  return order_.batches(position_, batch_size_, whole_epoch());
}

MDSTREAM_INLINE std::uint64_t run_engine::rank_epoch_size() const {
  return order_.samples_of_rank(position_, batch_size_, whole_epoch(),
                                builder_->about.in_stretches);
}

MDSTREAM_INLINE std::uint64_t run_engine::next_epoch() const {
  return progress(progress_).begin_epoch(position_).epoch;
}

MDSTREAM_INLINE std::uint64_t run_engine::batches_left() const {
  if (feed_ && !progress_.has_loaded()) return feed_->batches() - handed_out_->batches;
  return order_.batches(position_, batch_size_, progress(progress_).begin_epoch(position_));
}

MDSTREAM_INLINE std::uint64_t run_engine::estimated_results() const noexcept {
  const result_counts& made = handed_out_->made;
  if (made.samples == 0) return epoch_size();
  const double each = static_cast<double>(made.results) / static_cast<double>(made.samples);
  return static_cast<std::uint64_t>(std::llround(each * static_cast<double>(epoch_size())));
}

MDSTREAM_INLINE sample_origin run_engine::origin(std::int64_t id) const {
  if (id < 0 || static_cast<std::uint64_t>(id) >= corpus_.samples())
    throw error(errc::out_of_range, "sample " + std::to_string(id) + " of " +
                                        std::to_string(corpus_.samples()) + " in all streams");
  return corpus_.origin(static_cast<std::uint64_t>(id));
}

MDSTREAM_INLINE std::vector<stream_info> run_engine::streams() const {
  std::vector<stream_info> out = corpus_.streams();
  const auto& mix = engine().mix();
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].choose = mix.choose[i];
    out[i].proportion = mix.proportion[i];
    out[i].repeat = mix.repeat[i];
  }
  return out;
}

MDSTREAM_INLINE std::vector<node_info> run_engine::nodes() const {
  const auto part = order_.epoch(position_, batch_size_, whole_epoch());
  const std::uint64_t batches = std::min(part.order.filled_batches(), part.batches);
  const std::uint64_t of_node = position_.ranks_per_node * batch_size_;
  std::vector<node_info> out(position_.nodes);
  std::vector<bool> seen(position_.nodes * corpus_.shards());
  std::vector<std::int64_t> ids(global_batch_size());
  for (std::uint64_t batch = 0; batch < batches; ++batch) {
    part.order.ids(batch * ids.size(), ids);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] < 0) continue;
      const std::size_t node = i / of_node;
      const std::uint32_t shard = corpus_.locate()(static_cast<std::uint64_t>(ids[i])).shard;
      const std::size_t at = node * corpus_.shards() + shard;
      if (seen[at]) continue;
      seen[at] = true;
      ++out[node].shards;
      out[node].bytes += corpus_.cache().footprint(shard);
    }
  }
  return out;
}

MDSTREAM_INLINE std::unique_ptr<epoch_feed> run_engine::exchange_feed(
    std::unique_ptr<epoch_feed> next) {
  const std::lock_guard lock(feed_changes_);
  return std::exchange(feed_, std::move(next));
}

MDSTREAM_INLINE std::string run_engine::waits_for() const {
  const std::lock_guard lock(feed_changes_);
  if (!feed_) return "nothing: no epoch has begun";
  const std::uint64_t failed = counters().attempts_failed;
  return feed_->waits_for() +
         (failed == 0 ? "" : "; so far " + std::to_string(failed) + " attempts have failed");
}

MDSTREAM_INLINE bool run_engine::next(std::uint64_t ticket) {
  require_current(ticket);
  require_idle();
  const detail::watch::call began = begin_call();
  clear_away();
  look_beyond();
  if (!feed_->next(held_)) {
    if (const std::exception_ptr why = handed_out_->all_vetoed()) std::rethrow_exception(why);
    return false;
  }
  warn_of_limit();
  handed_out_->count(*held_);
  if (handed_out_->watched) handed_out_->tell(began, *held_, totals(), feed_->ready());
  return true;
}

MDSTREAM_INLINE std::shared_ptr<batch_engine::next_call> run_engine::begin_async_next() const {
  made_.require_here("loader");  // the failure could not be posted either
  auto call = std::make_shared<next_call>();
  call->count_ = handed_out_;
  call->began_ = begin_call();
  if (handed_out_->watched) call->sum_ = totals();
  return call;
}

MDSTREAM_INLINE void run_engine::async_next(std::uint64_t ticket, next_call& call,
                                            batch_ring::handler done) {
  const auto last = std::make_shared<batch_ring::handler>(std::move(done));
  try {
    require_current(ticket);
    require_idle();
    handed_out_->outstanding = call.admitted_ = true;
    warn_of_limit();
    clear_away();
    look_beyond();
    feed_->async_next(call.stop.get_token(),
                      [last, counted = handed_out_](std::exception_ptr failure, batch_pointer got) {
                        if (failure && code_of(failure) == errc::end_of_epoch)
                          if (std::exception_ptr why = counted->all_vetoed())
                            failure = std::move(why);
                        (*last)(std::move(failure), std::move(got));
                      });
  } catch (...) {
    // Not on the caller's stack: a handler never runs inside its own initiation.
    corpus_.threads().post([last, failure = std::current_exception()] { (*last)(failure, {}); });
  }
}

MDSTREAM_INLINE run_state run_engine::state() const {
  made_.require_here("loader");
  // Packed batches of the last global batch differ in size, but all of it is what a state counts.
  const std::uint64_t samples = order_.reads_once() ? handed_out_->batches * global_batch_size()
                                                    : handed_out_->samples * position_.num_ranks();
  const resume_point at = progress_.state(samples, position_);
  return {.at = at,
          .identity = identity(at),
          .substituted = excluded().bad(),
          .bad_samples = handed_out_->bad};
}

MDSTREAM_INLINE std::string run_engine::python_state() const {
  const run_state now = state();
  static constexpr std::array<std::string_view, 6> python{"none", "naive", "py1s",
                                                          "py2s", "py1br", "py1e"};
  if (std::ranges::find(python, now.identity->shuffle) == python.end())
    throw error(errc::unsupported, "Python has no shuffler \"" + now.identity->shuffle +
                                       "\": it would go on in another order");
  if (order_.reads_once()) throw error(errc::unsupported, "Python has no batching method \"once\"");
  if (order_.has_subset()) throw error(errc::unsupported, "Python can not read a subset");
  if (!now.substituted.empty())
    throw error(errc::unsupported, "Python can not read other shards in place of bad ones");
  if (now.identity->phase != 0) throw error(errc::unsupported, "Python has no mix schedule");
  return to_text(run_state{.at = now.at});
}

MDSTREAM_INLINE void run_engine::load_state(const run_state& saved, accept accepted) {
  require_idle();
  resume_point at = saved.at;
  bool same_samples = true;
  std::uint64_t largest_batch = global_batch_size();
  if (saved.identity) {
    const run_identity here = identity(saved.at);
    require_same_run(*saved.identity, here, accepted);
    at = order_.place_of(saved, here);
    same_samples = detail::same_samples(*saved.identity, here);
    largest_batch = std::max(largest_batch, saved.identity->global_batch_size);
    require_same("seed", saved.at.shuffle_seed, engine().options().shuffle_seed);
    if (canonical_nodes_ != 0)
      require_same("num_canonical_nodes", saved.at.num_canonical_nodes, canonical_nodes_);
  }
  progress loaded = progress_;
  loaded.load(at, saved.identity && order_.is_finished(at, largest_batch));
  if (loaded.loaded_is_stale())
    throw error(errc::state_mismatch,
                "the state is of epoch " + std::to_string(at.epoch) +
                    ", which this loader has begun already: to go back, make a new loader");
  order_.check(position_, batch_size_, loaded);
  if (saved.identity && at.sample_in_epoch != 0 &&
      order_.is_spent(position_, batch_size_, progress(loaded).begin_epoch(position_)))
    loaded.load(at, true);  // also where samples are left that make no batch
  substitutions bad = excluded();
  if (same_samples)
    for (const std::uint32_t shard : saved.substituted) bad.add(shard);
  progress_ = loaded;
  bad_ = std::move(bad);
  handed_out_->bad = saved.bad_samples;
  if (!same_samples) handed_out_->bad.first.clear();  // ids of the other samples
  if (saved.identity && at.epoch != std::max<std::int64_t>(saved.at.epoch, 0) &&
      saved.at.sample_in_epoch < saved.identity->epoch_size)
    corpus_.warn("the state is of epoch " + std::to_string(saved.at.epoch) + ", of which " +
                 std::to_string(saved.at.sample_in_epoch) +
                 " samples were read in an order that this run does not have: epoch " +
                 std::to_string(at.epoch) + " begins, and what was left of that one is not read");
}

MDSTREAM_INLINE void run_engine::require_same(std::string_view field, std::uint64_t saved,
                                              std::uint64_t here) {
  if (saved != here) detail::state_differs(field, std::to_string(saved), std::to_string(here));
}

MDSTREAM_INLINE feed_limits run_engine::limits() const noexcept {
  constexpr std::size_t requests = detail::most_calls + detail::most_calls / 4;
  const std::uint64_t fetched =
      given_predownload_ ? predownload_ : std::max(predownload_, samples_of(requests));
  return {.delivery = {.predownload = fetched,
                       .horizon = std::max<std::uint64_t>({8 * predownload_, fetched, 65536}),
                       .requests = requests,
                       .substitute = substitute_},
          .prefetch_limit = prefetch_limit_,
          .substitute_samples = substitute_samples_};
}

MDSTREAM_INLINE std::uint64_t run_engine::samples_of(std::uint64_t shards) const noexcept {
  const std::uint64_t samples = shards * (corpus_.samples() / corpus_.shards());
  return std::min<std::uint64_t>(samples / position_.ranks_per_node, 262'144);
}

MDSTREAM_INLINE read_ahead::executor run_engine::elsewhere() const {
  if (corpus_.threads().threads() < 2) return {};
  return [&threads = corpus_.threads()](unique_function<void()> work) {
    threads.post(std::move(work));
  };
}

MDSTREAM_INLINE const run_order::engine_type& run_engine::engine() const noexcept {
  return order_.engine(
      order_.phase_of(static_cast<std::uint64_t>(std::max<std::int64_t>(progress_.epoch(), 0))));
}

MDSTREAM_INLINE substitutions run_engine::excluded() const {
  substitutions out = bad_;
  if (feed_)
    for (const std::uint32_t shard : feed_->excluded()) out.add(shard);
  return out;
}

MDSTREAM_INLINE void run_engine::warn_of_order(const epoch_start& first) const {
  if (position_.rank != 0) return;
  const auto& engine = order_.engine(order_.phase_of(first.epoch));
  for (const std::string& each :
       order_warnings(engine, position_, batch_size_, first, given_predownload_))
    corpus_.warn(each);
}

MDSTREAM_INLINE std::unique_ptr<epoch_feed> run_engine::make_feed(const epoch_start& start,
                                                                  const substitutions& bad) {
  auto part = order_.epoch(position_, batch_size_, start, plans_);
  feed_limits how = limits();
  if (disk_.begin(memory_())) how.disk = &disk_;
  return std::make_unique<epoch_feed>(
      corpus_, *builder_,
      lookahead(corpus_.locate(), corpus_.shards(), std::move(part.order), position_, batch_size_,
                {.in_stretches = builder_->about.in_stretches,
                 .places = builder_->about.transforms,
                 .pads = order_.reads_once(),
                 .most_batches = part.batches},
                bad, elsewhere()),
      epoch_seed{.seed = start.shuffle_seed,
                 .epoch = start.epoch,
                 .first_place = start.sample_in_epoch,
                 .global_batch_size = global_batch_size()},
      start.sample_in_epoch / global_batch_size(), how, [this] { epochs_->want(readiness::built); },
      [this](std::uint32_t shard) { epochs_->yield(shard); });
}

MDSTREAM_INLINE void run_engine::look_beyond() {
  const epoch_outlook now = feed_->outlook();
  if (now == epoch_outlook::far) [[likely]]
    return;
  if (!epochs_->has_begun()) {
    // A single worker is left to what this epoch still fetches.
    if (now != epoch_outlook::all_fetched && corpus_.threads().threads() < 2) return;
    begin_next();
  }
  if (now != epoch_outlook::all_fetched) return;
  epochs_->want(readiness::fetched);
  if (corpus_.cache().limited()) epochs_->fetch_on();
}

MDSTREAM_INLINE void run_engine::warn_of_limit() {
  if (warned_of_limit_ || !feed_->has_copied()) return;
  warned_of_limit_ = true;
  auto& cache = corpus_.cache();
  corpus_.warn("the cache limit of " + std::to_string(cache.limit()) +
               " bytes does not hold the shards of one batch: they are read one by one, and may "
               "be fetched again and again; raise it to " +
               std::to_string(cache.limit_to_hold(batch_size_, ranks_here_)));
}

MDSTREAM_INLINE void run_engine::clear_away() {
  if (!has_left_ || (handed_out_->samples == 0 && !corpus_.cache().limited())) return;
  has_left_ = false;
  epochs_->clear();
}

MDSTREAM_INLINE void run_engine::begin_next() {
  try {
    progress after = progress_;
    const epoch_start start = after.begin_epoch(position_);
    substitutions bad = excluded();
    epoch_key key{start, bad.bad()};
    epochs_->begin(
        std::move(key), [this, start, bad = std::move(bad)] { return make_feed(start, bad); },
        [&now = *feed_](std::uint32_t shard) { return now.next_use(shard, 0) != never; });
  } catch (const error&) {
    // begin_epoch throws it again.
  }
}

MDSTREAM_INLINE std::uint64_t run_engine::next_use(const epoch_feed& now, std::uint32_t shard,
                                                   std::uint64_t from) const {
  const std::uint64_t use = now.next_use(shard, from);
  if (use != never) return use;
  const std::uint64_t batches = now.batches();
  const std::uint64_t later = epochs_->next_use(shard, from - std::min(from, batches));
  return later == never ? never : batches + later;
}

MDSTREAM_INLINE void run_engine::count_epoch(substitutions bad) {
  stalled_before_ = stalled();
  if (feed_) {
    shards_before_.needed += feed_->counters().needed;
    shards_before_.missed += feed_->counters().missed;
  }
  bad_ = std::move(bad);
}

MDSTREAM_INLINE void run_engine::require_idle() const {
  made_.require_here("loader");
  if (handed_out_->outstanding)
    throw error(errc::invalid_argument, "another call for a batch has not completed yet");
}

MDSTREAM_INLINE detail::watch::call run_engine::begin_call() const {
  return handed_out_->watched ? detail::watch::begin(stalled()) : detail::watch::call{};
}

MDSTREAM_INLINE observe::totals run_engine::totals() const {
  const cache_counters cache = counters();
  const shard_counters shards = feed_->counters();
  return {.bytes_fetched = cache.bytes_fetched,
          .requests = cache.shards_fetched + cache.attempts_failed,
          .failures = cache.attempts_failed,
          .evictions = cache.shards_evicted,
          .needs = shards_before_.needed + shards.needed,
          .misses = shards_before_.missed + shards.missed,
          .stalled = stalled()};
}

MDSTREAM_INLINE void run_engine::require_current(std::uint64_t ticket) const {
  if (ticket != ticket_)
    throw error(errc::invalid_argument, "another epoch has begun since this one");
}

MDSTREAM_INLINE run_identity run_engine::identity(const resume_point& at) const {
  const std::size_t phase =
      order_.phase_of(static_cast<std::uint64_t>(std::max<std::int64_t>(at.epoch, 0)));
  const auto& engine = order_.engine(phase);
  const order_options& order = engine.options();
  return {.dataset = order_.dataset_fingerprint(),
          .mix = order_.mix_fingerprint(phase),
          .epoch_size = engine.epoch_size(),
          .global_batch_size = global_batch_size(),
          .batching = std::string(mdstream::to_string(order.batching)),
          .sampling = std::string(mdstream::to_string(order.sampling)),
          .sampling_granularity = order.sampling_granularity,
          .shuffle = order.shuffle ? std::string(engine.shuffler_model().name()) : "none",
          .shuffle_block_size = progress_.block_size(at.num_canonical_nodes),
          .source = corpus_.source(),
          .phase = phase};
}

MDSTREAM_INLINE std::unique_ptr<batch_engine> open_engine(const loader_options& given,
                                                          run_policies policies,
                                                          opened_streams* opened) {
  return std::make_unique<run_engine>(given, std::move(policies), opened);
}

}  // namespace mdstream::inline v0::detail
