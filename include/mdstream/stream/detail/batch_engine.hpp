#pragma once

/// What a loader knows of what stands behind it: `run_engine`.

#include <mdstream/async/runtime.hpp>
#include <mdstream/core/detail/unique_function.hpp>
#include <mdstream/core/detail/usable_memory.hpp>
#include <mdstream/core/observe.hpp>
#include <mdstream/order/detail/erased_shuffler.hpp>
#include <mdstream/order/world.hpp>
#include <mdstream/stream/detail/batch_builder.hpp>
#include <mdstream/stream/detail/corpus.hpp>
#include <mdstream/stream/detail/watch.hpp>
#include <mdstream/stream/options.hpp>
#include <mdstream/stream/state.hpp>
#include <mdstream/stream/stream_info.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace mdstream::inline v0::detail {

struct hand_out;

/// What a run takes of the policies.
struct run_policies {
  corpus_policies corpus;
  detail::erased_shuffler (*shuffler)(const std::string& name);  ///< as `detail::shuffler_of`
  std::unique_ptr<detail::batch_builder> builder;
  std::unique_ptr<detail::watch> observer;  ///< null: nobody is told
  /// Bytes of files that memory holds; asked at each epoch, on any thread.
  std::uint64_t (*memory)() = [] { return usable_memory(); };
};

/// Not thread-safe, as the loader. A few calls a batch.
class batch_engine {
 public:
  using batch_pointer = std::unique_ptr<untyped_batch>;

  batch_engine() = default;
  batch_engine(const batch_engine&) = delete;
  batch_engine& operator=(const batch_engine&) = delete;
  virtual ~batch_engine() = default;

  /// In a forked child, which has none of the threads: unmaps what nobody there uses.
  virtual void abandon() noexcept = 0;

  /// Cancels what is in progress and calls `closed`, which may destroy this, when nothing of any
  /// epoch is under way: here, or on the thread where that ends. To be called once before the
  /// destructor, and last.
  virtual void close(unique_function<void()> closed) = 0;

  // As those of `loader`.

  [[nodiscard]] virtual std::uint64_t epoch_size() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t batches_per_epoch() const = 0;
  [[nodiscard]] virtual std::uint64_t batches_left() const = 0;
  [[nodiscard]] virtual std::uint64_t rank_epoch_size() const = 0;
  [[nodiscard]] virtual std::uint64_t next_epoch() const = 0;
  [[nodiscard]] virtual sample_origin origin(std::int64_t id) const = 0;
  [[nodiscard]] virtual std::vector<stream_info> streams() const = 0;
  [[nodiscard]] virtual const std::string& cache_directory() const noexcept = 0;
  [[nodiscard]] virtual std::vector<node_info> nodes() const = 0;
  [[nodiscard]] virtual result_counts results() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t estimated_results() const noexcept = 0;
  [[nodiscard]] virtual const replaced_samples& bad_samples() const noexcept = 0;
  [[nodiscard]] virtual const sample_layout& layout() const noexcept = 0;
  [[nodiscard]] virtual const world& position() const noexcept = 0;
  [[nodiscard]] virtual cache_counters counters() const noexcept = 0;
  [[nodiscard]] virtual std::chrono::nanoseconds stalled() const noexcept = 0;
  [[nodiscard]] virtual run_state state() const = 0;
  [[nodiscard]] virtual std::string python_state() const = 0;
  virtual void load_state(const run_state& saved, accept accepted) = 0;
  /// Any thread, while this lives.
  [[nodiscard]] virtual std::string waits_for() const = 0;

  [[nodiscard]] virtual runtime& threads() const noexcept = 0;
  /// Whether they end with this.
  [[nodiscard]] virtual bool owns_threads() const noexcept = 0;

  /// Begins the next epoch and returns its ticket; an epoch at hand ends.
  virtual std::uint64_t begin_epoch() = 0;

  /// The batch that `next` fills, whose memory is used again; another object after each call.
  [[nodiscard]] virtual untyped_batch& batch() noexcept = 0;

  virtual bool next(std::uint64_t ticket) = 0;

  /// A call without blocking. Handlers share it, and it outlives the loader.
  class next_call {
   public:
    std::stop_source stop{};

    /// To be called before the handler, on its executor: a batch counts when it is handed out, not
    /// when it is built.
    void complete(const std::exception_ptr& failure, const untyped_batch* got);

   private:
    friend class run_engine;
    std::shared_ptr<hand_out> count_{};
    bool admitted_ = false;  // it became the outstanding call
    watch::call began_{};
    observe::totals sum_{};
  };

  [[nodiscard]] virtual std::shared_ptr<next_call> begin_async_next() const = 0;

  /// As `next`; `done` is called on the pool, and never before this returns.
  virtual void async_next(std::uint64_t ticket, next_call& call,
                          unique_function<void(std::exception_ptr, batch_pointer)> done) = 0;
};

/// `opened`: see `corpus`.
[[nodiscard]] std::unique_ptr<batch_engine> open_engine(const loader_options& given,
                                                        run_policies policies,
                                                        opened_streams* opened = nullptr);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/batch_engine.ipp>
#endif
