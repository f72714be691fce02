#pragma once

/// What stands behind a loader: its streams, its order, its place in the run, and the epoch at
/// hand.

#include <mdstream/async/asio.hpp>
#include <mdstream/batch.hpp>
#include <mdstream/launch/environment.hpp>
#include <mdstream/order/fingerprint.hpp>
#include <mdstream/order/order_engine.hpp>
#include <mdstream/policies.hpp>
#include <mdstream/stream/assembler.hpp>
#include <mdstream/stream/corpus.hpp>
#include <mdstream/stream/delivery.hpp>
#include <mdstream/stream/options.hpp>
#include <mdstream/stream/state.hpp>

#include <algorithm>
#include <array>
#include <asio/bind_executor.hpp>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

namespace detail {

template <class Store>
[[nodiscard]] dataset_options<Store> dataset_part(const loader_options<Store>& from) {
  return {.streams = from.streams,
          .remote = from.remote,
          .local = from.local,
          .split = from.split,
          .cache_limit = from.cache_limit,
          .download_retry = from.download_retry,
          .download_timeout = from.download_timeout,
          .validate_hash = from.validate_hash,
          .keep_zip = from.keep_zip,
          .threads = from.threads,
          .shared_runtime = from.shared_runtime};
}

template <class Store>
[[nodiscard]] order_options order_part(const loader_options<Store>& from) {
  order_options out{.sampling = from.sampling,
                    .sampling_granularity = from.sampling_granularity,
                    .partition = from.partition,
                    .num_canonical_nodes = from.num_canonical_nodes,
                    .shuffle = from.shuffle,
                    .shuffle_seed = from.seed,
                    .shuffle_block_size = from.shuffle_block_size,
                    .batching = from.batching};
  if (from.epoch_size.value != 0) out.epoch_size = from.epoch_size.value;
  return out;
}

/// This rank's place among the distinct ones: the world that the order is made for.
template <class Store>
[[nodiscard]] world position_of(const loader_options<Store>& from) {
  world here = from.world ? *from.world : launch::from_environment([](const char* name) {
    return static_cast<const char*>(std::getenv(name));
  });
  if (from.num_workers) here.workers_per_rank = *from.num_workers;
  return here.replicate(from.replication);
}

template <class Store>
[[nodiscard]] std::uint64_t batch_size_of(const loader_options<Store>& from, const world& here) {
  if ((from.batch_size == 0) == (from.global_batch_size == 0))
    throw error(errc::invalid_argument,
                "give exactly one of batch_size and global_batch_size, at least 1");
  if (from.batch_size != 0) return from.batch_size;
  if (from.global_batch_size % here.num_ranks() != 0)
    throw error(errc::invalid_argument,
                "a global batch of " + std::to_string(from.global_batch_size) +
                    " samples is no multiple of the " + std::to_string(here.num_ranks()) +
                    " ranks that share it");
  return from.global_batch_size / here.num_ranks();
}

template <class Store>
void check_block_size(const loader_options<Store>& from) {
  if (from.shuffle_block_size == std::uint64_t{0})
    throw error(errc::invalid_argument, "shuffle_block_size is 0 samples: leave it unset instead");
}

template <class Shuffler>
[[nodiscard]] Shuffler shuffler_of(const std::string& name) {
  if constexpr (std::constructible_from<Shuffler, std::string_view>) {
    return name.empty() ? Shuffler{} : Shuffler(std::string_view(name));
  } else {
    const std::string_view own = Shuffler{}.name();
    if (!name.empty() && name != own)
      throw error(errc::invalid_argument, "shuffle_algo is \"" + name +
                                              "\", but the policies' shuffler is \"" +
                                              std::string(own) + '"');
    return Shuffler{};
  }
}

template <class Store>
[[nodiscard]] std::vector<stream_shards> weighted_shards(
    const loader_options<Store>& from, const std::vector<std::vector<std::uint64_t>>& shards) {
  std::vector<stream_shards> out;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    out.push_back({.samples = shards[i]});
    if (!from.streams.empty())
      out.back().weight = {.proportion = from.streams[i].proportion,
                           .repeat = from.streams[i].repeat,
                           .choose = from.streams[i].choose};
  }
  return out;
}

}  // namespace detail

/// Not thread-safe, as the loader.
template <class Policies>
class batch_engine {
 public:
  using batch_type = batch<typename Policies::schema, typename Policies::stager::slot,
                           typename Policies::collator>;
  using options = loader_options<typename Policies::store>;

  explicit batch_engine(options given)
      : position_(detail::position_of(given)),
        batch_size_(detail::batch_size_of(given, position_)),
        predownload_(given.predownload.value_or(std::max<std::uint64_t>(64 * batch_size_, 8192))),
        canonical_nodes_(given.num_canonical_nodes.value_or(0)),
        corpus_(detail::dataset_part(given)),
        order_(detail::weighted_shards(given, corpus_.stream_shards()), detail::order_part(given),
               detail::shuffler_of<typename Policies::shuffler>(given.shuffle_algo)),
        dataset_print_(fingerprint(order_.shards())),
        mix_print_(fingerprint(order_.mix())),
        progress_(order_.begin_run()),
        assembler_(corpus_.layout()) {
    detail::check_block_size(given);
    require_equal_columns();
  }
  batch_engine(const batch_engine&) = delete;
  batch_engine& operator=(const batch_engine&) = delete;
  ~batch_engine() { corpus_.cache().set_next_use(nullptr); }

  [[nodiscard]] std::uint64_t epoch_size() const noexcept { return order_.epoch_size(); }
  [[nodiscard]] const sample_layout& layout() const noexcept { return corpus_.layout(); }
  [[nodiscard]] const world& position() const noexcept { return position_; }
  [[nodiscard]] bool runs_here() const noexcept { return corpus_.threads().runs_here(); }
  [[nodiscard]] cache_counters counters() const noexcept { return corpus_.cache().counters(); }
  [[nodiscard]] std::chrono::nanoseconds stalled() const noexcept {
    return stalled_before_ + (delivery_ ? delivery_->stalled() : std::chrono::nanoseconds(0));
  }

  /// Begins the next epoch and returns its ticket; an epoch at hand ends.
  std::uint64_t begin_epoch() {
    require_idle();
    progress begun = progress_;  // kept only once the order is there: a failure begins nothing
    const epoch_start start = begun.begin_epoch(position_);
    epoch_order order = order_.epoch(position_, batch_size_, start);
    corpus_.cache().set_next_use(nullptr);
    stalled_before_ = stalled();
    delivery_.reset();
    ++ticket_;
    handed_out_->samples = 0;
    progress_ = begun;
    epoch_ = start.epoch;
    first_number_ = start.sample_in_epoch / global_batch_size();
    delivery_.emplace(
        corpus_, corpus_.threads(),
        lookahead(corpus_.locate(), corpus_.shards(), std::move(order), position_, batch_size_,
                  {.in_stretches = collate::packs_groups<typename Policies::collator>}),
        corpus_.shards(), limits());
    corpus_.cache().set_next_use(
        [this](std::uint32_t shard) { return delivery_->next_use(shard); });
    return ticket_;
  }

  bool next(std::uint64_t ticket, batch_type& into) {
    require_current(ticket);
    require_idle();
    if (!delivery_->wait()) return false;
    build(into);
    handed_out_->samples += into.size();
    return true;
  }

  template <class Token>
  auto async_next(std::uint64_t ticket, Token&& token) {
    using signature = void(std::exception_ptr, batch_type);
    return initiate<signature>(std::forward<Token>(token), [this, ticket](auto handler) {
      auto call = std::make_shared<next_call>();
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
    const resume_point at =
        progress_.state(handed_out_->samples * position_.num_ranks(), position_);
    return {.at = at, .identity = identity(at)};
  }

  [[nodiscard]] std::string python_state() const {
    const run_state now = state();
    static constexpr std::array<std::string_view, 6> python{"none", "naive", "py1s",
                                                            "py2s", "py1br", "py1e"};
    if (std::ranges::find(python, now.identity->shuffle) == python.end())
      throw error(errc::unsupported, "Python has no shuffler \"" + now.identity->shuffle +
                                         "\": it would go on in another order");
    return to_text(run_state{.at = now.at});
  }

  bool load_state(const run_state& saved) {
    if (saved.identity) {
      require_same_run(*saved.identity, identity(saved.at));
      require_same("seed", saved.at.shuffle_seed, order_.options().shuffle_seed);
      if (canonical_nodes_ != 0)
        require_same("num_canonical_nodes", saved.at.num_canonical_nodes, canonical_nodes_);
    }
    resume_point at = saved.at;
    if (saved.identity && at.epoch < 0) at.epoch = 0;  // saved before the first batch
    progress loaded = progress_;
    loaded.load(at);
    if (loaded.loaded_is_stale()) return false;
    progress_ = loaded;
    return true;
  }

 private:
  /// What the consumer has had of the epoch at hand. Handlers share it, because they may run when
  /// the loader is gone.
  struct hand_out {
    std::uint64_t samples = 0;             // on this rank; touched where batches are handed out
    std::atomic<bool> outstanding{false};  // an async call has not completed yet
  };

  struct next_call {
    std::stop_source stop;
    batch_type built;
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

  [[nodiscard]] delivery_limits limits() const noexcept {
    return {.predownload = predownload_,
            .horizon = std::max<std::uint64_t>(8 * predownload_, 65536),
            .requests = std::max<std::size_t>(2 * corpus_.threads().threads(), 4)};
  }

  /// A batch has one set of columns, so the streams have too.
  void require_equal_columns() const {
    const sample_layout& first = corpus_.layout();
    for (std::uint32_t shard = 1; shard < corpus_.shards(); ++shard) {
      const sample_layout& other = corpus_.layout(shard);
      if (&other == &first || other == first) continue;
      throw error(
          errc::schema_mismatch,
          corpus_.placed({.what = "its columns (" + other.describe() +
                                  ") are not those of the first stream (" + first.describe() + ")"},
                         shard));
    }
  }

  void require_idle() const {
    if (handed_out_->outstanding)
      throw error(errc::invalid_argument, "another call for a batch has not completed yet");
  }

  /// `handler`, on the same executor, which first counts the batch: it counts when it is handed
  /// out, not when it is built.
  template <class Handler>
  [[nodiscard]] auto counted(Handler handler, const next_call& call) {
    const auto executor = asio::get_associated_executor(handler, corpus_.threads().get_executor());
    return asio::bind_executor(
        executor, [handler = std::move(handler), count = handed_out_, admitted = call.admitted](
                      std::exception_ptr failure, batch_type got) mutable {
          if (*admitted) count->outstanding = false;
          if (!failure) count->samples += got.size();
          std::move(handler)(std::move(failure), std::move(got));
        });
  }

  void require_current(std::uint64_t ticket) const {
    if (ticket != ticket_)
      throw error(errc::invalid_argument, "another epoch has begun since this one");
  }

  void start(const std::shared_ptr<next_call>& call) {
    delivery_->async_next(
        call->stop.get_token(), [this, call] { build(call->built); },
        [call](std::exception_ptr failure) {
          call->done(std::move(failure), std::move(call->built));
        });
  }

  /// Builds the batch that was announced and leaves it behind.
  void build(batch_type& into) {
    const upcoming_batch& from = delivery_->front();
    batch_parts<typename Policies::stager::slot> parts = std::move(into).release();
    try {
      assembler_.build(from, [this](sample_location at) { return bytes_of(at); }, parts);
    } catch (const collate::bad_sample& bad) {
      into = batch_type(std::move(parts));
      const sample_location at = from.locations[bad.index()];
      throw error(
          bad.code(),
          corpus_.placed({.what = bad.what(), .sample = at.index, .byte = bad.byte()}, at.shard));
    } catch (...) {
      into = batch_type(std::move(parts));
      throw;
    }
    if (const upcoming_batch* next = delivery_->second())
      for (const sample_location at : next->locations)
        delivery_->shard(at.shard).prefetch(at.index);
    parts.epoch = epoch_;
    parts.number = first_number_ + from.number;
    into = batch_type(std::move(parts));
    delivery_->pop();
  }

  [[nodiscard]] bytes_view bytes_of(sample_location at) const {
    try {
      return delivery_->shard(at.shard)[at.index];
    } catch (const error& e) {
      throw error(e.code(), corpus_.placed(e.where(), at.shard));
    }
  }

  [[nodiscard]] run_identity identity(const resume_point& at) const {
    const order_options& order = order_.options();
    return {.dataset = dataset_print_,
            .mix = mix_print_,
            .epoch_size = order_.epoch_size(),
            .global_batch_size = global_batch_size(),
            .batching = std::string(to_string(order.batching)),
            .sampling = std::string(to_string(order.sampling)),
            .sampling_granularity = order.sampling_granularity,
            .shuffle = order.shuffle ? std::string(order_.shuffler_model().name()) : "none",
            .shuffle_block_size = progress_.block_size(at.num_canonical_nodes)};
  }

  world position_;
  std::uint64_t batch_size_;
  std::uint64_t predownload_;
  std::uint64_t canonical_nodes_;  // as the user set them; 0: not
  corpus<Policies> corpus_;
  order_engine<typename Policies::shuffler> order_;
  std::uint64_t dataset_print_;
  std::uint64_t mix_print_;
  progress progress_;
  assembler<Policies> assembler_;
  std::optional<delivery<corpus<Policies>>> delivery_;
  std::uint64_t ticket_ = 0;
  std::uint64_t epoch_ = 0;
  std::uint64_t first_number_ = 0;  // of the global batch that the epoch at hand began with
  std::shared_ptr<hand_out> handed_out_ = std::make_shared<hand_out>();
  std::chrono::nanoseconds stalled_before_{0};  // in epochs before the one at hand
};

}  // namespace mdstream::inline v0
