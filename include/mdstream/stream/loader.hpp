#pragma once

/// The loader: batches of a weighted mix of streams, in a reproducible order that a saved state
/// continues.

#include <mdstream/async/detail/asio.hpp>
#include <mdstream/batch.hpp>
#include <mdstream/core/detail/process.hpp>
#include <mdstream/policies.hpp>
#include <mdstream/stream/detail/corpus.hpp>
#include <mdstream/stream/detail/policy_batches.hpp>
#include <mdstream/stream/detail/run.hpp>
#include <mdstream/stream/detail/run_settings.hpp>
#include <mdstream/stream/detail/watch.hpp>
#include <mdstream/stream/options.hpp>
#include <mdstream/stream/stream_info.hpp>

#include <asio/associated_executor.hpp>
#include <asio/bind_executor.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

namespace detail {

/// A handler that holds the last reference to a loader destroys it on one of the threads that it
/// would wait for: on its own, which cannot end themselves, or on shared ones.
struct ends_anywhere {
  void operator()(batch_engine* gone) const;
};

}  // namespace detail

/// Streams batches to one rank. Not thread-safe: one thread at a time uses a loader and its epochs.
///
///     mds::loader<policies> loader({.streams = {...}, .local = "/nvme/cache", .batch_size = 32});
///     if (resuming) loader.load_state(text);
///     for (auto& batch : loader.epoch()) train_step(batch.get<"tokens">());
///
/// Every full global batch holds the same samples whatever the number of ranks, for a fixed seed,
/// epoch, number of canonical nodes and global batch size.
template <class Policies = default_policies>
class loader {
  static_assert(detail::checked_policies<Policies>::value);
  static_assert(
      collate::detail::accepts_schema<typename Policies::collator, batch_schema<Policies>>,
      "mdstream: the collator does not take every column of policies::schema (dense "
      "takes values of one size only)");
  using batches = detail::policy_batches<Policies>;

 public:
  using policies = Policies;
  /// The schema of batches: the transform's, where there is one.
  using schema = batch_schema<Policies>;
  using transform_type = typename Policies::transform;
  using observer_type = typename Policies::observer;
  using batch_type = typename batches::batch_type;
  using options = loader_options;

  /// The rest of one epoch: from its beginning, or from where a loaded state left off. It begins,
  /// and counts, with the first batch that is asked for. Beginning another epoch ends this one.
  class epoch_type {
   public:
    class iterator {
     public:
      using value_type = batch_type;
      using difference_type = std::ptrdiff_t;
      using iterator_concept = std::input_iterator_tag;

      iterator() = default;
      explicit iterator(epoch_type* epoch) : epoch_(epoch) { ++*this; }
      batch_type& operator*() const noexcept { return epoch_->current_; }
      batch_type* operator->() const noexcept { return &epoch_->current_; }
      iterator& operator++() {
        if (!epoch_->next(epoch_->current_)) epoch_ = nullptr;
        return *this;
      }
      void operator++(int) { ++*this; }
      friend bool operator==(const iterator& i, std::default_sentinel_t) noexcept {
        return i.epoch_ == nullptr;
      }

     private:
      epoch_type* epoch_ = nullptr;
    };

    /// Asks for the first batch. The loop's batch is one object that the next step refills: move
    /// from it to keep a batch. A step asks for the next batch at once, so leave a loop by `break`:
    /// `std::views::take(3)` would take four from the epoch.
    [[nodiscard]] iterator begin() { return iterator(this); }
    [[nodiscard]] static std::default_sentinel_t end() noexcept { return {}; }

    /// Waits for the next batch and puts it into `into`, whose memory is used again. False at the
    /// end of the epoch. Throws what went wrong with a shard or sample, naming it; the next call
    /// tries the same batch again, which helps where a store was down, not where the data is bad.
    /// On a thread of the loader's own runtime it would wait for itself: use `async_next` there.
    bool next(batch_type& into) {
      const std::uint64_t of = ticket();
      const lent memory(*engine_, into);
      return engine_->next(of);
    }

    /// The same for any completion token, with `void(std::exception_ptr, batch_type)`. The end of
    /// the epoch is `errc::end_of_epoch`, a call that its cancellation slot ended
    /// `errc::canceled`; neither consumes a batch. One call at a time: a second one completes with
    /// `errc::invalid_argument`. The handler runs on its associated executor, else on the runtime's
    /// io thread, and the batch counts for `state` when it begins; batches are built on the pool.
    template <class Token>
    auto async_next(Token&& token) {
      using signature = void(std::exception_ptr, batch_type);
      using untyped = void(std::exception_ptr, detail::batch_engine::batch_pointer);
      const auto initiation = [from = engine_, of = ticket()](auto handler) {
        const std::shared_ptr<detail::batch_engine::next_call> call = from->begin_async_next();
        detail::stop_on_cancel(handler, call->stop);
        const auto io = from->threads().get_executor();
        const auto executor = asio::get_associated_executor(handler, io);  // before it is moved
        auto counted = [handler = std::move(handler), call](
                           std::exception_ptr failure,
                           detail::batch_engine::batch_pointer got) mutable {
          call->complete(failure, got.get());
          batch_type batch;
          if (!failure) batch = batch_type(std::move(batches::parts_of(*got)));
          std::move(handler)(std::move(failure), std::move(batch));
        };
        from->async_next(
            of, *call,
            detail::deliver_on<untyped>(io, asio::bind_executor(executor, std::move(counted))));
      };
      return detail::initiate<signature>(std::forward<Token>(token), initiation);
    }

   private:
    friend class loader;
    explicit epoch_type(detail::batch_engine& from) noexcept : engine_(&from) {}

    /// Lends a batch's memory to the engine, for a call, and takes what it holds after that.
    struct lent {
      lent(detail::batch_engine& to, batch_type& from) : engine(to), batch(from) {
        batches::parts_of(engine.batch()) = std::move(batch).release();
      }
      lent(const lent&) = delete;
      lent& operator=(const lent&) = delete;
      ~lent() { batch = batch_type(std::move(batches::parts_of(engine.batch()))); }
      detail::batch_engine& engine;
      batch_type& batch;
    };

    [[nodiscard]] std::uint64_t ticket() {
      if (ticket_ == 0) ticket_ = engine_->begin_epoch();
      return ticket_;
    }

    detail::batch_engine* engine_;
    std::uint64_t ticket_ = 0;
    batch_type current_;
  };

  /// Opens the streams (see `corpus`) and settles the order; fetches indexes, no shards.
  /// Throws `errc::invalid_argument` for options that cannot be right, `errc::cache_too_small`,
  /// and what opening the streams throws.
  explicit loader(options given, transform_type transform = {}, observer_type observer = {})
      : loader(nullptr, std::move(given), std::move(transform), std::move(observer)) {}

  /// The streams of these options.
  [[nodiscard]] static dataset_options streams_of(const options& given) {
    return detail::batch_engine::streams_of(
        given, std::is_invocable_v<observer_type&, const observe::warning&>);
  }
  /// The same on streams that were opened from `streams_of(given)`, which are used up.
  loader(detail::opened_streams& opened, options given, transform_type transform = {},
         observer_type observer = {})
      : loader(&opened, std::move(given), std::move(transform), std::move(observer)) {}

  /// The next epoch, which must not outlive the loader; moving the loader is no harm.
  [[nodiscard]] epoch_type epoch() & noexcept { return epoch_type(*engine_); }
  epoch_type epoch() && = delete;  // `for (auto& batch : open().epoch())` would dangle

  /// Number of samples that an epoch has over all ranks.
  [[nodiscard]] std::uint64_t epoch_size() const noexcept { return engine_->epoch_size(); }
  /// Batches of a whole epoch on every rank, the last and short one too: of the current epoch, or,
  /// before the first one and after `load_state`, of the next. What a schedule of the learning rate
  /// is made from. Microseconds; with other batching methods than `random` as long as an epoch
  /// takes to open. Throws as the epoch would.
  ///
  ///     const std::uint64_t steps = epochs * loader.batches_per_epoch();
  [[nodiscard]] std::uint64_t batches_per_epoch() const { return engine_->batches_per_epoch(); }
  /// Those of them that have not been handed out: after a resume fewer than an epoch has.
  [[nodiscard]] std::uint64_t batches_left() const { return engine_->batches_left(); }
  /// The streams in the order of the options, with the mix that was settled: of the current phase.
  /// O(shards).
  [[nodiscard]] std::vector<stream_info> streams() const { return engine_->streams(); }
  /// Which stream, shard and sample of it an id of `batch.ids()` is: for a loss by stream, say.
  /// Tens of nanoseconds; any thread. Throws `errc::out_of_range`.
  ///
  ///     for (std::size_t i = 0; i < batch.size(); ++i)
  ///       losses[loader.origin(batch.ids()[i]).stream] += loss[i];
  [[nodiscard]] sample_origin origin(std::int64_t id) const { return engine_->origin(id); }
  /// The columns of the streams.
  [[nodiscard]] const sample_layout& layout() const noexcept { return engine_->layout(); }
  [[nodiscard]] const world& ranks() const noexcept { return engine_->position(); }
  [[nodiscard]] cache_counters counters() const noexcept { return engine_->counters(); }
  /// Time that calls of `next` have waited for shards, in total.
  [[nodiscard]] std::chrono::nanoseconds stalled() const noexcept { return engine_->stalled(); }

  /// What the next batch waits for, in words for a log: which shards are on their way, from where,
  /// or why nothing is waited for. Any thread may ask while another waits for a batch, such as a
  /// `launch::watchdog`'s. Microseconds.
  [[nodiscard]] std::string waits_for() const { return engine_->waits_for(); }

  /// Where the run is, counting the batches that were handed out, or the state that was loaded for
  /// the next epoch: one line of JSON below 4,096 bytes. After the same number of full batches it
  /// is the same on every rank, but for `device_per_stream` batching. Microseconds.
  [[nodiscard]] std::string state() const { return to_text(engine_->state()); }
  /// The same for MosaicML Streaming, its five keys alone. Throws `errc::unsupported` where they
  /// would not say all that matters: an order that Python does not have.
  [[nodiscard]] std::string python_state() const { return engine_->python_state(); }
  /// Goes on from a state at the next epoch that is begun. States of Python are taken as they are.
  /// Throws, and nothing changes: `errc::corrupt` for text that is no state,
  /// `errc::state_mismatch`, naming the field and both values, for a state of another dataset, mix,
  /// order or global batch size, and for one of an epoch that this loader has begun already, which
  /// Python ignores: to go back, make a new loader.
  void load_state(std::string_view text) { engine_->load_state(parse_state(text)); }

 private:
  // By value: a store that is moved in here goes with the loader.
  loader(detail::opened_streams* opened, options given, transform_type transform,
         observer_type observer)
      : engine_(new detail::batch_engine(
            given,
            {.corpus = detail::corpus_policies::of<Policies>(),
             .shuffler = [](const std::string& name) -> detail::erased_shuffler {
               return detail::shuffler_of<typename Policies::shuffler>(name);
             },
             .builder = std::make_unique<batches>(std::move(transform)),
             .observer = detail::watch::of(std::move(observer))},
            opened)) {}

  detail::unique_where_made<detail::batch_engine, detail::ends_anywhere>
      engine_;  // stays where it is when a loader is moved
};

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/loader.ipp>
#endif
