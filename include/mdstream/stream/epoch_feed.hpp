#pragma once

/// The batches of one epoch on one rank: put together by who asks for them, or ahead on the pool.

#include <mdstream/async/runtime.hpp>
#include <mdstream/core/detail/mapped_files.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/core/unique_function.hpp>
#include <mdstream/stream/assembler.hpp>
#include <mdstream/stream/batch_ring.hpp>
#include <mdstream/stream/corpus.hpp>
#include <mdstream/stream/delivery.hpp>
#include <mdstream/stream/preparation.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// How far an epoch is fetched, and put together, ahead.
struct feed_limits {
  delivery_limits delivery{};
  std::uint64_t ahead_bytes = 0;  ///< of batches that are put together ahead
};

/// Batches are asked for one at a time. The destructor cancels and waits; never on a pool thread.
template <class Policies>
class epoch_feed {
 public:
  using preparation_type = preparation<typename Policies::schema, typename Policies::transform>;
  using batch_type =
      batch<batch_schema<Policies>, typename Policies::stager::slot, typename Policies::collator>;
  using corpus_type = corpus<Policies>;
  using assembler_type = assembler<Policies>;

  /// `from`, `batches` and `prepare` have to outlive this. `first_number` is that of the first
  /// global batch of `ahead`. `when_spent`: as that of `batch_ring`; `before_drop`: as that of
  /// `delivery`.
  epoch_feed(corpus_type& from, assembler_type& batches, const preparation_type& prepare,
             lookahead ahead, epoch_seed seed, std::uint64_t first_number, feed_limits limits,
             std::function<void()> when_spent = {},
             std::function<void(std::uint32_t)> before_drop = {})
      : corpus_(from),
        assembler_(batches),
        prepare_(prepare),
        seed_(seed),
        first_number_(first_number),
        delivery_(from, from.threads(), std::move(ahead), from.shards(), limits.delivery,
                  std::move(before_drop)) {
    if (prepares() || limits.ahead_bytes != 0)
      ring_.emplace(*this, from.threads(), from.threads().threads(),
                    ring_limits{.bytes = limits.ahead_bytes,
                                .batches = stage::batches_ahead<typename Policies::stager>,
                                .one_at_a_time = from.cache().limited()},
                    std::move(when_spent));
  }
  epoch_feed(const epoch_feed&) = delete;
  epoch_feed& operator=(const epoch_feed&) = delete;

  /// As `delivery::async_end`.
  void async_end(unique_function<void()> ended) {
    if (!ring_) return delivery_.async_end(std::move(ended));
    ring_->async_end(
        [this, ended = std::move(ended)]() mutable { delivery_.async_end(std::move(ended)); });
  }

  // Before the first batch is asked for; on any thread, one at a time.

  /// As those of `delivery`.
  void read_first() { delivery_.read_first(); }
  void fetch_first(const std::function<bool(std::uint32_t)>& needed_before) {
    delivery_.fetch_first(needed_before);
  }
  void fetch_on() { delivery_.fetch_on(); }
  void yield(std::uint32_t shard) { delivery_.yield(shard); }
  /// As that of `delivery`: the assembler serves one epoch at a time.
  void wait_for(std::stop_token others_gone) { delivery_.wait_for(std::move(others_gone)); }
  /// Begins to put batches together where that is done ahead. The epoch before has to be spent.
  void build_first() {
    if (ring_) ring_->start();
  }

  /// As `loader::epoch_type::next`.
  bool next(batch_type& into) {
    if (ring_) return ring_->next(into);
    while (delivery_.wait())
      if (build(into)) return true;
    return false;
  }

  /// As `next`, without blocking; `done` is called on the pool. This object may be gone then.
  void async_next(std::stop_token stop,
                  unique_function<void(std::exception_ptr, batch_type)> done) {
    if (ring_) return ring_->async_next(std::move(stop), std::move(done));
    auto built = std::make_shared<batch_type>();
    delivery_.async_next(
        std::move(stop), [this, built] { return build(*built); },
        [built, done = std::move(done)](std::exception_ptr failure) mutable {
          done(std::move(failure), std::move(*built));
        });
  }

  [[nodiscard]] std::chrono::nanoseconds stalled() const {
    return ring_ ? ring_->stalled() : delivery_.stalled();
  }
  /// Finished batches that wait to be taken.
  [[nodiscard]] std::size_t ready() const { return ring_ ? ring_->ready() : 0; }
  /// Whether nothing is under way that the destructor would wait for.
  [[nodiscard]] bool is_idle() const { return (!ring_ || ring_->is_idle()) && delivery_.is_idle(); }
  [[nodiscard]] epoch_outlook outlook() const noexcept { return delivery_.outlook(); }
  [[nodiscard]] std::uint64_t batches() const noexcept { return delivery_.batches(); }
  [[nodiscard]] shard_counters counters() const { return delivery_.counters(); }
  [[nodiscard]] std::vector<std::uint32_t> excluded() const { return delivery_.excluded(); }
  [[nodiscard]] bool has_copied() const noexcept { return delivery_.has_copied(); }
  /// As `delivery::next_use`. Any thread.
  [[nodiscard]] std::uint64_t next_use(std::uint32_t shard, std::uint64_t from) const {
    return delivery_.next_use(shard, from);
  }

 private:
  using parts = typename assembler_type::parts;
  using job = batch_job<batch_type>;
  friend class batch_ring<epoch_feed, batch_type>;

  /// Whether samples are changed on their way.
  [[nodiscard]] bool prepares() const noexcept {
    return preparation_type::changes || corpus_.has_rows();
  }

  // One batch, by who asks for it.

  /// Builds the batch that was announced and leaves it behind. False where it has to be waited for
  /// once more.
  bool build(batch_type& into) {
    const upcoming_batch& from = delivery_.front();
    parts made = std::move(into).release();
    try {
      detail::read_mapped([&] {
        if (found_of_ != from.number) find(from);
        found_of_.reset();  // what is built once more is looked up once more
        assembler_.build(from.ids, found_, made);
      });
    } catch (...) {
      into = batch_type(std::move(made));
      if (recovered(from)) return false;
      throw;
    }
    into = number(std::move(made), from);
    delivery_.pop();
    look_beyond();
    return true;
  }

  /// Looks up where the samples of a batch lie. Samples of a shuffled batch lie anywhere: all are
  /// asked for before the first is copied, so that their cache misses overlap.
  void find(const upcoming_batch& batch) {
    found_.resize(batch.locations.size());
    const copied_samples* const copied = delivery_.copied();
    for (std::size_t i = 0; i < found_.size(); ++i) {
      const bytes_view bytes = copied != nullptr ? (*copied)[i] : mapped(batch.locations[i]);
      found_[i] = {bytes.data(), bytes.size()};
      prefetch_lines(bytes);
    }
    found_of_ = batch.number;
  }

  /// Asks for the samples of the next batch, so that they are near when its turn comes; where they
  /// vary in size, for what says where they lie.
  void look_beyond() {
    const upcoming_batch* const next = delivery_.upcoming();
    if (next == nullptr) return;
    if (corpus_.sample_size() != 0) return find(*next);
    for (const sample_location at : next->locations) delivery_.shard(at.shard).prefetch(at.index);
  }

  [[nodiscard]] bytes_view mapped(sample_location at) const {
    return delivery_.shard(at.shard)[at.index];
  }

  [[nodiscard]] batch_type number(parts made, const upcoming_batch& from) const {
    made.epoch = seed_.epoch;
    made.number = first_number_ + from.number;
    return batch_type(std::move(made));
  }

  /// What to do about the exception at hand. True where the batch was changed for it; otherwise it
  /// is thrown again, with the place that it is about.
  bool recovered(const upcoming_batch& from) {
    try {
      throw;
    } catch (const collate::bad_sample& bad) {
      const sample_location at = from.locations[bad.index()];
      if (bad.code() == errc::corrupt && delivery_.recover(at.shard)) return true;
      throw error(
          bad.code(),
          corpus_.placed({.what = bad.what(), .sample = at.index, .byte = bad.byte()}, at.shard));
    } catch (const error& e) {
      const std::optional<std::uint32_t> shard = shard_of_bad_sample(from);
      if (!shard) throw;
      diagnostics where = corpus_.placed(e.where(), *shard);
      if (delivery_.recover(*shard)) return true;
      throw error(e.code(), std::move(where));
    }
  }

  /// The shard of the first sample whose place in its shard is bad, or whose bytes are lost.
  [[nodiscard]] std::optional<std::uint32_t> shard_of_bad_sample(const upcoming_batch& from) {
    if (delivery_.copied() != nullptr) return std::nullopt;  // then they were good
    for (const sample_location at : from.locations) {
      try {
        detail::read_mapped([&] { detail::touch_pages(mapped(at)); });
      } catch (const error&) {
        return at.shard;
      }
    }
    return std::nullopt;
  }

  // The source of the ring; on the pool.

  void announce(std::stop_token stop, unique_function<bool()> take,
                unique_function<void(std::exception_ptr)> done) {
    delivery_.async_next(std::move(stop), std::move(take), std::move(done));
  }

  /// Takes the announced batch over. False where it has to be announced once more.
  bool take(job& into) {
    const upcoming_batch& from = delivery_.front();
    try {
      into.samples.clear();
      const copied_samples* const copied = delivery_.copied();
      detail::read_mapped([&] {
        for (std::size_t i = 0; i < from.locations.size(); ++i) {
          into.samples.push_back(copied != nullptr ? (*copied)[i] : mapped(from.locations[i]));
          check_sample(from, i, into.samples.back());
        }
      });
    } catch (...) {
      if (recovered(from)) return false;
      throw;
    }
    into.from = from;
    delivery_.share_front(into.shards);
    if (copied_samples* const copied = delivery_.copied()) into.copied = std::move(*copied);
    delivery_.pop();
    return true;
  }

  /// A transform gets samples that hold what their size headers say.
  void check_sample(const upcoming_batch& from, std::size_t i, bytes_view sample) const {
    const std::uint32_t shard = from.locations[i].shard;
    if (corpus_.row_config(shard) != nullptr) return;  // its text is checked as it is read
    try {
      corpus_.layout(shard).check(sample);
    } catch (const error& e) {
      throw collate::bad_sample(i, e.where().byte.value_or(0), e.where().what);
    }
  }

  void prepare(job& of, std::size_t worker) const {
    if (!prepares()) return;
    of.prepared.work(worker,
                     [&](std::size_t i, std::vector<std::byte>& memory,
                         std::vector<std::byte>& scratch) { prepare_one(of, i, memory, scratch); });
  }

  void prepare_one(const job& of, std::size_t i, std::vector<std::byte>& memory,
                   std::vector<std::byte>& scratch) const {
    const std::uint64_t place =
        preparation_type::changes
            ? seed_.first_place + of.from.number * seed_.global_batch_size + of.from.places[i]
            : 0;
    const std::uint32_t shard = of.from.locations[i].shard;
    try {
      detail::read_mapped([&] {
        prepare_(of.samples[i], corpus_.layout(shard), corpus_.row_config(shard),
                 sample_generator(seed_.seed, seed_.epoch, place), memory, scratch);
      });
    } catch (const error& e) {
      std::throw_with_nested(transform_error(e.code(), e.what(), of.from, i, e.where().column));
    } catch (const std::exception& e) {
      std::throw_with_nested(transform_error(errc::transform_failed, e.what(), of.from, i, {}));
    } catch (...) {
      std::throw_with_nested(
          transform_error(errc::transform_failed, "an exception of unknown type", of.from, i, {}));
    }
  }

  [[nodiscard]] error transform_error(std::error_code code, const char* cause,
                                      const upcoming_batch& from, std::size_t i,
                                      std::string column) const {
    const sample_location at = from.locations[i];
    return {code,
            corpus_.placed({.what = (preparation_type::changes ? "the transform failed on sample "
                                                               : "can not read sample ") +
                                    std::to_string(from.ids[i]),
                            .column = std::move(column),
                            .sample = at.index,
                            .cause = cause},
                           at.shard)};
  }

  std::uint64_t finish(job& of) {
    parts made;
    found_.resize(of.from.ids.size());
    for (std::size_t i = 0; i < found_.size(); ++i) {
      const bytes_view bytes = prepares() ? of.prepared[i] : of.samples[i];
      found_[i] = {bytes.data(), bytes.size()};
      prefetch_lines(bytes);
    }
    try {
      detail::read_mapped([&] { assembler_.build(of.from.ids, found_, made); });
    } catch (const collate::bad_sample& bad) {
      const sample_location at = of.from.locations[bad.index()];
      throw error(bad.code(), corpus_.placed({.what = bad.what(), .sample = at.index}, at.shard));
    }
    of.batch = number(std::move(made), of.from);
    return assembler_.slab_bytes();
  }

  corpus_type& corpus_;
  assembler_type& assembler_;
  const preparation_type& prepare_;
  epoch_seed seed_;
  std::uint64_t first_number_;
  std::vector<collate::sample_bytes> found_;  // where the samples of a batch lie
  std::optional<std::uint64_t> found_of_{};   // the number of that batch, if it was not built yet
  delivery<corpus_type> delivery_;
  std::optional<batch_ring<epoch_feed, batch_type>> ring_;  // goes first: it uses the delivery
};

}  // namespace mdstream::inline v0
