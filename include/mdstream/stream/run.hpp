#pragma once

/// What stands behind a loader: its streams, its order, its place in the run, and the epoch at
/// hand.

#include <mdstream/async/asio.hpp>
#include <mdstream/batch.hpp>
#include <mdstream/core/process.hpp>
#include <mdstream/policies.hpp>
#include <mdstream/stream/assembler.hpp>
#include <mdstream/stream/corpus.hpp>
#include <mdstream/stream/epoch_feed.hpp>
#include <mdstream/stream/next_epoch.hpp>
#include <mdstream/stream/options.hpp>
#include <mdstream/stream/plan_keeper.hpp>
#include <mdstream/stream/run_order.hpp>
#include <mdstream/stream/run_settings.hpp>
#include <mdstream/stream/state.hpp>
#include <mdstream/stream/watch.hpp>

#include <algorithm>
#include <array>
#include <asio/bind_executor.hpp>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// Not thread-safe, as the loader.
template <class Policies>
class batch_engine {
 public:
  using batch_type = typename epoch_feed<Policies>::batch_type;
  using options = loader_options<typename Policies::store>;
  using transform_type = typename Policies::transform;

  using observer_type = typename Policies::observer;

  using feed_type = epoch_feed<Policies>;

  /// The streams of these options, whose warnings are kept for an observer that hears of them.
  [[nodiscard]] static auto streams_of(const options& given) {
    auto out = detail::dataset_part(given);
    if constexpr (watch_type::hears_warnings) out.warn = {};
    return out;
  }

  /// `opened`: see `corpus`.
  batch_engine(options given, transform_type transform, observer_type observer,
               opened_streams<typename Policies::store>* opened = nullptr)
      : position_(detail::position_of(given)),
        ranks_here_(position_.ranks_per_node * given.replication),
        batch_size_(detail::batch_size_of(given, position_)),
        predownload_(given.predownload.value_or(std::max<std::uint64_t>(64 * batch_size_, 8192))),
        canonical_nodes_(given.num_canonical_nodes.value_or(0)),
        corpus_(streams_of(given), opened),
        order_(detail::weighted_shards(given, corpus_.stream_shards()), detail::order_part(given),
               given.phases, global_batch_size(),
               detail::shuffler_of<typename Policies::shuffler>(given.shuffle_algo)),
        plans_(corpus_.cache_root().empty() ? "" : corpus_.cache_root() + "/.mdstream/plans"),
        progress_(order_.begin_run()),
        bad_(corpus_.shards_of_streams()),
        substitute_(given.on_bad_shard == bad_shards::substitute),
        keeps_busy_(!given.predownload),
        ahead_(detail::ahead_of(
            given, epoch_feed<Policies>::preparation_type::changes || corpus_.has_rows())),
        prepare_(std::move(transform)),
        assembler_(prepare_.layout(corpus_.layout())),
        next_(corpus_.threads(),
              [this](std::uint32_t shard) { return feed_->next_use(shard, 0) != never; }),
        handed_out_(std::make_shared<hand_out>(std::move(observer))) {
    detail::check_block_size(given);
    corpus_.require_equal_columns();  // a batch has one set of them
    if constexpr (watch_type::hears_warnings) handed_out_->watched.hear(corpus_.warnings());
  }
  batch_engine(const batch_engine&) = delete;
  batch_engine& operator=(const batch_engine&) = delete;
  ~batch_engine() {
    corpus_.cache().set_next_use_from(nullptr);
    next_.take_any().reset();  // it asks the epoch at hand what that needs
  }

  /// In a forked child, which has none of the threads: unmaps what nobody there uses.
  void abandon() noexcept { corpus_.abandon(); }

  /// Cancels what is in progress and calls `ended`, which may destroy this, when nothing is left
  /// that the destructor would wait for. The last call of all.
  void async_end(unique_function<void()> ended) {
    corpus_.cache().set_next_use_from(nullptr);
    next_.retire(next_.take_any());  // first: it asks the epoch at hand what that needs
    next_.retire(std::move(feed_));
    next_.when_others_gone(std::move(ended));
  }

  [[nodiscard]] std::uint64_t epoch_size() const noexcept { return engine().epoch_size(); }
  [[nodiscard]] const sample_layout& layout() const noexcept { return corpus_.layout(); }
  [[nodiscard]] const world& position() const noexcept { return position_; }
  [[nodiscard]] runtime& threads() const noexcept { return corpus_.threads(); }
  /// Whether they end with this.
  [[nodiscard]] bool owns_threads() const noexcept { return corpus_.owns_threads(); }
  [[nodiscard]] cache_counters counters() const noexcept { return corpus_.cache().counters(); }
  [[nodiscard]] std::chrono::nanoseconds stalled() const noexcept {
    return stalled_before_ + (feed_ ? feed_->stalled() : std::chrono::nanoseconds(0));
  }

  /// Begins the next epoch and returns its ticket; an epoch at hand ends.
  std::uint64_t begin_epoch() {
    require_idle();
    if (ticket_ == 0) order_.check(position_, batch_size_, progress_);
    progress begun = progress_;  // kept only once the order is there: a failure begins nothing
    const epoch_start start = begun.begin_epoch(position_);
    const substitutions bad = excluded();
    std::unique_ptr<feed_type> made = next_.take({start, bad.bad()});
    if (!made) made = make_feed(start, bad);
    count_epoch();
    ++ticket_;
    handed_out_->samples = 0;
    progress_ = begun;
    std::unique_ptr<feed_type> ended = std::exchange(feed_, std::move(made));
    corpus_.cache().set_next_use_from(
        [this, &now = *feed_](std::uint32_t shard, std::uint64_t from) {
          return next_use(now, shard, from);
        });
    lies_aside_ = !corpus_.cache().limited();  // there, what it holds may be in this one's way
    lies_aside_ ? next_.lay_aside(std::move(ended)) : next_.retire(std::move(ended));
    feed_->wait_for(next_.others_gone());
    feed_->fetch_on();  // until then its fetches went by no order, and may have found no room
    order_.prepare(plans_, corpus_.threads(), position_, batch_size_, begun);
    return ticket_;
  }

  bool next(std::uint64_t ticket, batch_type& into) {
    require_current(ticket);
    require_idle();
    const auto call = begin_call();
    clear_away();
    look_beyond();
    if (!feed_->next(into)) return false;
    warn_of_limit();
    handed_out_->samples += into.size();
    end_call(*handed_out_, call, into, [this] { return totals(); }, feed_->ready());
    return true;
  }

  template <class Token>
  auto async_next(std::uint64_t ticket, Token&& token) {
    using signature = void(std::exception_ptr, batch_type);
    return initiate<signature>(std::forward<Token>(token), [this, ticket](auto handler) {
      auto call = std::make_shared<next_call>();
      made_.require_here("loader");  // the failure could not be posted either
      stop_on_cancel(handler, call->stop);
      call->done = deliver_on<signature>(corpus_.threads().get_executor(),
                                         counted(std::move(handler), *call));
      try {
        require_current(ticket);
        require_idle();
        handed_out_->outstanding = true;
        *call->admitted = true;
        start(call);
      } catch (...) {
        // Not on the caller's stack: a handler never runs inside its own initiation.
        corpus_.threads().post([call, failure = std::current_exception()]() mutable {
          call->done(std::move(failure), {});
        });
      }
    });
  }

  [[nodiscard]] run_state state() const {
    made_.require_here("loader");
    const resume_point at =
        progress_.state(handed_out_->samples * position_.num_ranks(), position_);
    return {.at = at, .identity = identity(at), .substituted = excluded().bad()};
  }

  [[nodiscard]] std::string python_state() const {
    const run_state now = state();
    static constexpr std::array<std::string_view, 6> python{"none", "naive", "py1s",
                                                            "py2s", "py1br", "py1e"};
    if (std::ranges::find(python, now.identity->shuffle) == python.end())
      throw error(errc::unsupported, "Python has no shuffler \"" + now.identity->shuffle +
                                         "\": it would go on in another order");
    if (!now.substituted.empty())
      throw error(errc::unsupported, "Python can not read other shards in place of bad ones");
    if (now.identity->phase != 0) throw error(errc::unsupported, "Python has no mix schedule");
    return to_text(run_state{.at = now.at});
  }

  bool load_state(const run_state& saved) {
    made_.require_here("loader");
    if (saved.identity) {
      require_same_run(*saved.identity, identity(saved.at));
      require_same("seed", saved.at.shuffle_seed, engine().options().shuffle_seed);
      if (canonical_nodes_ != 0)
        require_same("num_canonical_nodes", saved.at.num_canonical_nodes, canonical_nodes_);
    }
    resume_point at = saved.at;
    if (saved.identity && at.epoch < 0) at.epoch = 0;  // saved before the first batch
    progress loaded = progress_;
    loaded.load(at, saved.identity && order_.is_finished(at));
    if (loaded.loaded_is_stale()) {
      handed_out_->watched.tell(
          observe::stale_state{.epoch = at.epoch, .next_epoch = progress_.next_epoch()});
      return false;
    }
    order_.check(position_, batch_size_, loaded);
    substitutions bad = excluded();
    for (const std::uint32_t shard : saved.substituted) bad.add(shard);
    progress_ = loaded;
    bad_ = std::move(bad);
    return true;
  }

 private:
  /// What the consumer has had of the epoch at hand. Handlers share it, because they may run when
  /// the loader is gone.
  struct hand_out {
    explicit hand_out(observer_type observer) : watched(std::move(observer)) {}
    [[no_unique_address]] watch<observer_type> watched;
    std::uint64_t samples = 0;             // on this rank; touched where batches are handed out
    std::atomic<bool> outstanding{false};  // an async call has not completed yet
  };

  struct next_call {
    std::stop_source stop;
    /// Whether it became the outstanding call; shared with the handler, which outlives this.
    std::shared_ptr<bool> admitted = std::make_shared<bool>(false);
    unique_function<void(std::exception_ptr, batch_type)> done;
  };

  static void require_same(std::string_view field, std::uint64_t saved, std::uint64_t here) {
    if (saved != here) detail::state_differs(field, std::to_string(saved), std::to_string(here));
  }

  [[nodiscard]] std::uint64_t global_batch_size() const noexcept {
    return batch_size_ * position_.num_ranks();
  }

  [[nodiscard]] feed_limits limits() const noexcept {
    constexpr std::size_t requests = detail::most_calls + detail::most_calls / 4;
    const std::uint64_t fetched =
        keeps_busy_ ? std::max(predownload_, samples_of(requests)) : predownload_;
    return {.delivery = {.predownload = fetched,
                         .horizon = std::max<std::uint64_t>({8 * predownload_, fetched, 65536}),
                         .requests = requests,
                         .substitute = substitute_},
            .ahead_bytes = ahead_};
  }

  /// Samples of this rank in which about so many new shards turn up, within what it costs to know
  /// them: so far ahead no request lacks a shard to fetch.
  [[nodiscard]] std::uint64_t samples_of(std::uint64_t shards) const noexcept {
    const std::uint64_t samples = shards * (corpus_.samples() / corpus_.shards());
    return std::min<std::uint64_t>(samples / position_.ranks_per_node, 262'144);
  }

  /// Where the order is read ahead: a single worker is left to fetches, which batches wait for.
  [[nodiscard]] read_ahead::executor elsewhere() const {
    if (corpus_.threads().threads() < 2) return {};
    return [&threads = corpus_.threads()](unique_function<void()> work) {
      threads.post(std::move(work));
    };
  }

  /// The order of the phase at hand.
  [[nodiscard]] const auto& engine() const noexcept {
    return order_.engine(
        order_.phase_of(static_cast<std::uint64_t>(std::max<std::int64_t>(progress_.epoch(), 0))));
  }

  /// The shards that are known to be bad.
  [[nodiscard]] substitutions excluded() const {
    substitutions out = bad_;
    if (feed_)
      for (const std::uint32_t shard : feed_->excluded()) out.add(shard);
    return out;
  }

  /// Any thread: only reads what does not change.
  [[nodiscard]] std::unique_ptr<feed_type> make_feed(const epoch_start& start,
                                                     const substitutions& bad) {
    auto part = order_.epoch(position_, batch_size_, start, plans_);
    return std::make_unique<feed_type>(
        corpus_, assembler_, prepare_,
        lookahead(corpus_.locate(), corpus_.shards(), std::move(part.order), position_, batch_size_,
                  {.in_stretches = collate::packs_groups<typename Policies::collator>,
                   .places = feed_type::preparation_type::changes,
                   .most_batches = part.batches},
                  bad, elsewhere()),
        epoch_seed{.seed = start.shuffle_seed,
                   .epoch = start.epoch,
                   .first_place = start.sample_in_epoch,
                   .global_batch_size = global_batch_size()},
        start.sample_in_epoch / global_batch_size(), limits(),
        [this] { next_.want(readiness::built); },
        [this](std::uint32_t shard) { next_.yield(shard); });
  }

  /// Gets the next epoch ready while this one is read to its end: its order when this one nears it,
  /// its first shards when those of this one have all been asked for, so that the fetching goes on.
  void look_beyond() {
    const epoch_outlook now = feed_->outlook();
    if (now == epoch_outlook::far) [[likely]]
      return;
    if (!next_.has_begun()) {
      // A single worker is left to what this epoch still fetches.
      if (now != epoch_outlook::all_fetched && corpus_.threads().threads() < 2) return;
      begin_next();
    }
    if (now != epoch_outlook::all_fetched) return;
    next_.want(readiness::fetched);
    if (corpus_.cache().limited()) next_.fetch_on();
  }

  /// Says once that a batch did not fit beneath the cache limit, and what limit suits any batch.
  void warn_of_limit() {
    if (warned_of_limit_ || !feed_->has_copied()) return;
    warned_of_limit_ = true;
    auto& cache = corpus_.cache();
    corpus_.warn("the cache limit of " + std::to_string(cache.limit()) +
                 " bytes does not hold the shards of one batch: they are read one by one, and may "
                 "be fetched again and again; raise it to " +
                 std::to_string(cache.limit_to_hold(batch_size_, ranks_here_)));
  }

  /// Lets the epoch before go once a batch of this one was handed out: the step into an epoch is to
  /// take no longer than others.
  void clear_away() {
    if (!lies_aside_ || handed_out_->samples == 0) return;
    lies_aside_ = false;
    next_.clear();
  }

  void begin_next() {
    try {
      progress after = progress_;
      const epoch_start start = after.begin_epoch(position_);
      substitutions bad = excluded();
      epoch_key key{start, bad.bad()};
      next_.begin(std::move(key),
                  [this, start, bad = std::move(bad)] { return make_feed(start, bad); });
    } catch (const error&) {
      // Who begins that epoch meets the same failure.
    }
  }

  /// Any thread.
  [[nodiscard]] std::uint64_t next_use(const feed_type& now, std::uint32_t shard,
                                       std::uint64_t from) const {
    const std::uint64_t use = now.next_use(shard, from);
    if (use != never) return use;
    const std::uint64_t batches = now.batches();
    const std::uint64_t later = next_.next_use(shard, from - std::min(from, batches));
    return later == never ? never : batches + later;
  }

  /// Takes over what there is to tell of the epoch at hand, which ends.
  void count_epoch() {
    stalled_before_ = stalled();
    if (feed_) {
      shards_before_.needed += feed_->counters().needed;
      shards_before_.missed += feed_->counters().missed;
    }
    bad_ = excluded();
  }

  void require_idle() const {
    made_.require_here("loader");
    if (handed_out_->outstanding)
      throw error(errc::invalid_argument, "another call for a batch has not completed yet");
  }

  // Nothing of the next four is there without an observer.

  using watch_type = watch<observer_type>;

  [[nodiscard]] auto begin_call() const {
    if constexpr (watch_type::active)
      return handed_out_->watched.begin(stalled());
    else
      return typename watch_type::call{};
  }

  template <class Totals>
  static void end_call(hand_out& to, const typename watch_type::call& call, const batch_type& got,
                       const Totals& sum, std::uint64_t queued) {
    if constexpr (watch_type::active)
      to.watched.end(
          call,
          {.epoch = got.epoch(), .batch = got.number(), .samples = got.size(), .queued = queued},
          sum());
  }

  [[nodiscard]] observe::totals totals() const {
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

  /// What a call without blocking tells when it completes, perhaps after the loader is gone.
  [[nodiscard]] auto totals_now() const {
    if constexpr (watch_type::active)
      return [sum = totals()] { return sum; };
    else
      return [] { return observe::totals{}; };
  }

  /// `handler`, on the same executor, which first counts the batch: it counts when it is handed
  /// out, not when it is built.
  template <class Handler>
  [[nodiscard]] auto counted(Handler handler, const next_call& call) {
    const auto executor = asio::get_associated_executor(handler, corpus_.threads().get_executor());
    return asio::bind_executor(
        executor, [handler = std::move(handler), count = handed_out_, admitted = call.admitted,
                   began = begin_call(),
                   sum = totals_now()](std::exception_ptr failure, batch_type got) mutable {
          if (*admitted) count->outstanding = false;
          if (!failure) {
            count->samples += got.size();
            end_call(*count, began, got, sum, 0);
          }
          std::move(handler)(std::move(failure), std::move(got));
        });
  }

  void require_current(std::uint64_t ticket) const {
    if (ticket != ticket_)
      throw error(errc::invalid_argument, "another epoch has begun since this one");
  }

  void start(const std::shared_ptr<next_call>& call) {
    warn_of_limit();
    clear_away();
    look_beyond();
    feed_->async_next(call->stop.get_token(), [call](std::exception_ptr failure, batch_type got) {
      call->done(std::move(failure), std::move(got));
    });
  }

  [[nodiscard]] run_identity identity(const resume_point& at) const {
    const std::size_t phase =
        order_.phase_of(static_cast<std::uint64_t>(std::max<std::int64_t>(at.epoch, 0)));
    const auto& engine = order_.engine(phase);
    const order_options& order = engine.options();
    return {.dataset = order_.dataset_fingerprint(),
            .mix = order_.mix_fingerprint(phase),
            .epoch_size = engine.epoch_size(),
            .global_batch_size = global_batch_size(),
            .batching = std::string(to_string(order.batching)),
            .sampling = std::string(to_string(order.sampling)),
            .sampling_granularity = order.sampling_granularity,
            .shuffle = order.shuffle ? std::string(engine.shuffler_model().name()) : "none",
            .shuffle_block_size = progress_.block_size(at.num_canonical_nodes),
            .phase = phase};
  }

  detail::maker made_;
  world position_;
  std::uint64_t ranks_here_;  // of this node, distinct or not
  std::uint64_t batch_size_;
  std::uint64_t predownload_;
  std::uint64_t canonical_nodes_;  // as the user set them; 0: not
  corpus<Policies> corpus_;
  run_order<typename Policies::shuffler> order_;
  plan_keeper plans_;
  progress progress_;
  substitutions bad_;  // what epochs before the one at hand found
  bool substitute_;
  bool keeps_busy_;  // by its predownload, which the user left to it
  std::uint64_t ahead_;
  typename epoch_feed<Policies>::preparation_type prepare_;
  assembler<Policies> assembler_;
  next_epoch<feed_type> next_;
  std::unique_ptr<feed_type> feed_;  // the epoch at hand; goes first, because it tells `next_`
  bool lies_aside_ = false;          // perhaps, the epoch before
  bool warned_of_limit_ = false;
  std::uint64_t ticket_ = 0;
  std::shared_ptr<hand_out> handed_out_;
  std::chrono::nanoseconds stalled_before_{0};  // in epochs before the one at hand
  shard_counters shards_before_{};              // likewise
};

}  // namespace mdstream::inline v0
