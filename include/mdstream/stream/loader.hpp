#pragma once

/// The loader: batches of a weighted mix of streams, in a reproducible order that a saved state
/// continues.

#include <mdstream/async/detail/asio.hpp>
#include <mdstream/async/runtime.hpp>
#include <mdstream/batch.hpp>
#include <mdstream/core/detail/process.hpp>
#include <mdstream/policies.hpp>
#include <mdstream/stream/detail/batch_engine.hpp>
#include <mdstream/stream/detail/corpus.hpp>
#include <mdstream/stream/detail/policy_batches.hpp>
#include <mdstream/stream/detail/run_settings.hpp>
#include <mdstream/stream/detail/watch.hpp>
#include <mdstream/stream/options.hpp>
#include <mdstream/stream/state.hpp>
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

/// Streams batches to one rank. Thread safety: one thread at a time uses a loader and its epochs.
///
///     mds::loader<policies> loader({.streams = {...}, .local = "/nvme/cache", .batch_size = 32});
///     if (resuming) loader.load_state(text);
///     for (auto& batch : loader.epoch()) train_step(batch.get<"tokens">());
///
/// Every full global batch holds the same samples whatever the number of ranks, for a fixed seed,
/// epoch, number of canonical nodes and global batch size.
template <class Policies = mdstream::policies<>>
class loader {
  static_assert(detail::checked_reading<Policies>::value);
  static_assert(
      collate::detail::accepts_schema<typename Policies::collator, batch_schema<Policies>>,
      "mdstream: the collator does not take every column of the schema (dense "
      "takes values of one size only)");
  using batches = detail::policy_batches<Policies>;

 public:
  using policies = Policies;
  /// The schema of batches: that of the transform's output, if there is a transform.
  using schema = batch_schema<Policies>;
  using transform_type = typename Policies::transform;
  using observer_type = typename Policies::observer;
  using batch_type = typename batches::batch_type;
  using options = loader_options;

  /// One epoch, from its beginning or from the position of a loaded state. It begins with the call
  /// for its first batch. Beginning another epoch ends this one.
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

    /// Gets the first batch. The loop's batch is one object, which the next step fills again: move
    /// from it to keep a batch. `++` gets the next batch at once, so leave a loop by `break`:
    /// `std::views::take(3)` would take four batches from the epoch.
    [[nodiscard]] iterator begin() { return iterator(this); }
    [[nodiscard]] static std::default_sentinel_t end() noexcept { return {}; }

    /// Waits for the next batch and puts it into `into`, whose memory is used again. False at the
    /// end of the epoch. Throws an error that names the shard or sample. The next call then tries
    /// the same batch again, which helps if a store was unavailable, but not if the data is bad.
    /// Throws `errc::transform_failed` at the end of an epoch if the transform has vetoed all of
    /// its samples on this rank; with several ranks only if a million or more, because others
    /// may have results. Do not call it on a thread of the loader's own runtime: use `async_next`
    /// there.
    bool next(batch_type& into) {
      const std::uint64_t of = ticket();
      const lent memory(*engine_, into);
      return engine_->next(of);
    }

    /// The same for any completion token, with `void(std::exception_ptr, batch_type)`. The end of
    /// the epoch is `errc::end_of_epoch`, or `next`'s error for one without results; a call that
    /// its cancellation slot ended is `errc::canceled`. Neither consumes a batch. One call at a
    /// time: a second one completes with `errc::invalid_argument`. The handler runs on its
    /// associated executor, otherwise on the runtime's I/O thread. `state` counts the batch when
    /// the handler begins. The thread pool builds the batches.
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

  /// Opens the streams and fixes the order. Fetches indexes, but no shards. Throws
  /// `errc::invalid_argument` for wrong options, `errc::cache_too_small`, and the errors of stores
  /// and indexes.
  explicit loader(options given, transform_type transform = transform_type(),
                  observer_type observer = observer_type())
      : loader(nullptr, std::move(given), std::move(transform), std::move(observer)) {}

  /// The streams of these options.
  [[nodiscard]] static dataset_options streams_of(const options& given) {
    return detail::dataset_part(given,
                                std::is_invocable_v<observer_type&, const observe::warning&>);
  }
  /// The same on streams that were opened from `streams_of(given)`, which are used up.
  loader(detail::opened_streams& opened, options given, transform_type transform = transform_type(),
         observer_type observer = observer_type())
      : loader(&opened, std::move(given), std::move(transform), std::move(observer)) {}

  /// The next epoch. It must not outlive the loader, which may be moved.
  [[nodiscard]] epoch_type epoch() & noexcept { return epoch_type(*engine_); }
  epoch_type epoch() && = delete;  // `for (auto& batch : open().epoch())` would dangle

  /// Number of samples that an epoch has over all ranks.
  [[nodiscard]] std::uint64_t epoch_size() const noexcept { return engine_->epoch_size(); }
  /// Number of batches of a whole epoch, the same on every rank, with the last and short one: of
  /// the current epoch, or of the next one before the first epoch and after `load_state`. Use it
  /// for a schedule of the learning rate. Throws the errors of the epoch. Cost: microseconds with
  /// `random` batching, otherwise the time to open an epoch.
  ///
  ///     const std::uint64_t steps = epochs * loader.batches_per_epoch();
  [[nodiscard]] std::uint64_t batches_per_epoch() const { return engine_->batches_per_epoch(); }
  /// How many of these batches are left; after a resume, fewer than an epoch has.
  [[nodiscard]] std::uint64_t batches_left() const { return engine_->batches_left(); }
  /// Number of samples that this rank gets in the same epoch; padding does not count. Throws the
  /// errors of the epoch. Cost: the time to open an epoch.
  [[nodiscard]] std::uint64_t rank_epoch_size() const { return engine_->rank_epoch_size(); }
  /// The number of the epoch that comes next, from 0: the one that a loaded state continues, or
  /// the one after it if the state was saved at its end. Count epochs by it, and a resumed run
  /// reads as many as one that was never interrupted.
  ///
  ///     while (loader.next_epoch() < epochs)
  ///       for (auto& batch : loader.epoch()) train_step(batch);
  [[nodiscard]] std::uint64_t next_epoch() const { return engine_->next_epoch(); }
  /// The streams in the order of the options, with their final weights in the current phase.
  /// O(shards).
  [[nodiscard]] std::vector<stream_info> streams() const { return engine_->streams(); }
  /// The directory whose shards and limit the processes of this node share; empty if no stream has
  /// a remote. The shards of a stream are in `streams()[i].directory`.
  [[nodiscard]] const std::string& cache_directory() const noexcept {
    return engine_->cache_directory();
  }
  /// What each node reads in a whole epoch, of the current one or the next as `batches_per_epoch`
  /// says: which size its cache should have. Reads the order of all samples, tens of nanoseconds
  /// each.
  [[nodiscard]] std::vector<node_info> nodes() const { return engine_->nodes(); }
  /// The stream, shard and sample of an id of `batch.ids()`, for example for a loss of each stream.
  /// Any thread. Throws `errc::out_of_range`, also for padding, -1. Cost: tens of nanoseconds.
  ///
  ///     for (std::size_t i = 0; i < batch.real_size(); ++i)
  ///       losses[loader.origin(batch.ids()[i]).stream] += loss[i];
  [[nodiscard]] sample_origin origin(std::int64_t id) const { return engine_->origin(id); }
  /// What the transform has made of samples on this rank: of the batches that were handed out since
  /// the loader was made. For a transform that makes any number of results
  /// (collate/transform.hpp).
  [[nodiscard]] result_counts results() const noexcept { return engine_->results(); }
  /// About how many results an epoch has over all ranks: `epoch_size()` times the mean of
  /// `results()`; `epoch_size()` before the first batch.
  [[nodiscard]] std::uint64_t estimated_results() const noexcept {
    return engine_->estimated_results();
  }
  /// The samples in whose place this rank has read others, with `bad_samples::substitute`, after
  /// those of the state that it loaded, which all ranks have. Of the batches that were handed out.
  [[nodiscard]] replaced_samples bad_samples() const { return engine_->bad_samples(); }
  /// The columns of the samples: those of the schema; without one, those that all streams have.
  [[nodiscard]] const sample_layout& layout() const noexcept { return engine_->layout(); }
  [[nodiscard]] const world& ranks() const noexcept { return engine_->position(); }
  [[nodiscard]] cache_counters counters() const noexcept { return engine_->counters(); }
  /// Number of threads that decompress, hash and transform: those of the options, or the default.
  [[nodiscard]] unsigned threads() const noexcept { return engine_->threads().threads(); }
  /// The total time that calls of `next` have waited for shards.
  [[nodiscard]] std::chrono::nanoseconds stalled() const noexcept { return engine_->stalled(); }

  /// What the next batch waits for, as a text for a log: which shards are being fetched, from
  /// where, or why it waits for nothing. Another thread may call it during a call of `next`, such
  /// as that of a `launch::watchdog`. Cost: microseconds.
  [[nodiscard]] std::string waits_for() const { return engine_->waits_for(); }

  /// The position of the run: one line of JSON below 4,096 bytes. It counts the batches that were
  /// handed out; after `load_state` it is the loaded state until the next epoch begins. After the
  /// same number of full batches it is the same on every rank, except with `device_per_stream`
  /// batching, and for the bad shards and samples that a rank has met. Cost: microseconds.
  [[nodiscard]] std::string state() const { return to_text(engine_->state()); }
  /// The same for MosaicML Streaming, with its five keys alone. Throws `errc::unsupported` if these
  /// are not enough: for an order that Python does not have.
  [[nodiscard]] std::string python_state() const { return engine_->python_state(); }
  /// Continues from a state when the next epoch begins. Accepts states of Python, too. A state that
  /// was saved at the end of an epoch continues with the next one.
  ///
  /// `accepted` names what may differ from the run that saved the state:
  /// - `accept::global_batch_size`: with `random` and `once` batching the rest of the epoch is read
  ///   in batches of the new size. No sample is left out. Up to as many as there are nodes are read
  ///   twice if the nodes do not divide the samples that were read.
  /// - `accept::dataset`, `accept::mix`, and another global batch size with the other batching
  ///   methods: seed, canonical nodes and the number of the epoch are kept, but the order differs.
  ///   A state from the middle of an epoch continues with the next epoch, and `warn` says so.
  ///   Bad shards of another dataset are forgotten.
  ///
  ///     loader.load_state(text, mds::accept::global_batch_size | mds::accept::mix);
  ///
  /// If it throws, nothing changes: `errc::corrupt` for text that is no state;
  /// `errc::state_mismatch`, which says what differs, for a state of another dataset,
  /// mix, order or global batch size that is not accepted. It throws that, too, for a state of an
  /// epoch that this loader has already begun: to go back, create a new loader.
  /// `errc::unsupported` if something else is accepted and differs, and the options have `phases`.
  /// `errc::invalid_argument` while a call of `async_next` has not completed.
  void load_state(std::string_view text, accept accepted = accept::nothing) {
    engine_->load_state(parse_state(text), accepted);
  }

 private:
  // By value: a store that is moved in here goes with the loader.
  loader(detail::opened_streams* opened, options given, transform_type transform,
         observer_type observer)
      : engine_(detail::open_engine(
                    given,
                    {.corpus = detail::corpus_policies::of<Policies>(),
                     .shuffler = [](const std::string& name) -> detail::erased_shuffler {
                       return detail::shuffler_of<typename Policies::shuffler>(name);
                     },
                     .builder = std::make_unique<batches>(std::move(transform)),
                     .observer = detail::watch::of(std::move(observer))},
                    opened)
                    .release()) {}

  detail::unique_where_made<detail::batch_engine, detail::ends_anywhere>
      engine_;  // stays where it is when a loader is moved
};

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/loader.ipp>
#endif
