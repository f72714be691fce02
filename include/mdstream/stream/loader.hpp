#pragma once

/// The loader: batches of a weighted mix of streams, in a reproducible order that a saved state
/// continues.

#include <mdstream/async/asio.hpp>
#include <mdstream/batch.hpp>
#include <mdstream/launch/environment.hpp>
#include <mdstream/order/order_engine.hpp>
#include <mdstream/policies.hpp>
#include <mdstream/stream/assembler.hpp>
#include <mdstream/stream/corpus.hpp>
#include <mdstream/stream/delivery.hpp>
#include <mdstream/stream/options.hpp>
#include <mdstream/stream/run.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace mdstream::inline v0 {

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
  static_assert(collate::accepts_schema<typename Policies::collator, typename Policies::schema>,
                "mdstream: the collator does not take every column of policies::schema (dense "
                "takes values of one size only)");
  using engine = batch_engine<Policies>;

 public:
  using policies = Policies;
  using schema = typename Policies::schema;
  using batch_type = typename engine::batch_type;
  using options = loader_options<typename Policies::store>;

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
    /// from it to keep a batch.
    [[nodiscard]] iterator begin() { return iterator(this); }
    [[nodiscard]] static std::default_sentinel_t end() noexcept { return {}; }

    /// Waits for the next batch and puts it into `into`, whose memory is used again. False at the
    /// end of the epoch. Throws what went wrong with a shard or sample, naming it; the next call
    /// tries the same batch again.
    bool next(batch_type& into) { return loader_->engine_->next(ticket(), into); }

    /// The same for any completion token, with `void(std::exception_ptr, batch_type)`. The end of
    /// the epoch is `errc::end_of_epoch`, a call that its cancellation slot ended
    /// `errc::canceled`; neither consumes a batch. One call at a time. The handler runs on its
    /// associated executor, else on the runtime's io thread; batches are built on its pool.
    template <class Token>
    auto async_next(Token&& token) {
      return loader_->engine_->async_next(ticket(), std::forward<Token>(token));
    }

   private:
    friend class loader;
    explicit epoch_type(loader& from) noexcept : loader_(&from) {}

    [[nodiscard]] std::uint64_t ticket() {
      if (ticket_ == 0) ticket_ = loader_->engine_->begin_epoch();
      return ticket_;
    }

    loader* loader_;
    std::uint64_t ticket_ = 0;
    batch_type current_;
  };

  /// Opens the streams (see `corpus`) and settles the order; fetches indexes, no shards.
  /// Throws `errc::invalid_argument` for options that can not be right, `errc::cache_too_small`,
  /// and what opening the streams throws.
  explicit loader(options given) : engine_(std::make_unique<engine>(std::move(given))) {}

  [[nodiscard]] epoch_type epoch() noexcept { return epoch_type(*this); }

  /// Number of samples that an epoch has over all ranks.
  [[nodiscard]] std::uint64_t epoch_size() const noexcept { return engine_->epoch_size(); }
  /// The columns of the streams.
  [[nodiscard]] const sample_layout& layout() const noexcept { return engine_->layout(); }
  [[nodiscard]] const world& ranks() const noexcept { return engine_->position(); }
  [[nodiscard]] cache_counters counters() const noexcept { return engine_->counters(); }
  /// Time that calls of `next` have waited for shards, in total.
  [[nodiscard]] std::chrono::nanoseconds stalled() const noexcept { return engine_->stalled(); }

  /// Where the run is, counting the batches that were handed out: one line of JSON below 4,096
  /// bytes, the same on every rank. Microseconds.
  [[nodiscard]] std::string state() { return to_text(engine_->state()); }
  /// The same for MosaicML Streaming, its five keys alone. Throws `errc::unsupported` where they
  /// would not say all that matters.
  [[nodiscard]] std::string python_state() { return engine_->python_state(); }
  /// Goes on from a state at the next epoch that is begun; a state of an earlier epoch than that is
  /// stale and ignored, see `progress`. States of Python are taken as they are. Throws
  /// `errc::corrupt` for text that is no state, `errc::state_mismatch`, naming the field and both
  /// values, for a state of another dataset, mix, order or global batch size.
  void load_state(std::string_view text) { engine_->load_state(parse_state(text)); }

 private:
  std::unique_ptr<engine> engine_;  // stays where it is when a loader is moved
};

}  // namespace mdstream::inline v0
