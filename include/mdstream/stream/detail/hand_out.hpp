#pragma once

/// What a loader has handed out, and what is told of it.

#include <mdstream/core/observe.hpp>
#include <mdstream/stream/detail/batch_builder.hpp>
#include <mdstream/stream/detail/watch.hpp>
#include <mdstream/stream/stream_info.hpp>

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>

namespace mdstream::inline v0::detail {

/// What the consumer has had of the epoch at hand. Handlers share it, because they may run when
/// the loader is gone.
struct hand_out {
  explicit hand_out(std::unique_ptr<watch> observer) : watched(std::move(observer)) {}

  [[nodiscard]] bool hears_warnings() const noexcept {
    return watched && watched->hears_warnings();
  }
  void count(const untyped_batch& got);
  /// What to tell in place of the end of the epoch: that its samples were all vetoed. Null where
  /// they were not.
  [[nodiscard]] std::exception_ptr all_vetoed() const;
  /// Precondition: it is watched.
  void tell(const watch::call& began, const untyped_batch& got, const observe::totals& sum,
            std::uint64_t queued);

  std::unique_ptr<watch> watched;  // null: nobody is told
  std::uint64_t samples = 0;       // on this rank; touched where batches are handed out
  std::uint64_t batches = 0;       // likewise
  result_counts made{};            // likewise; since the loader was made
  result_counts made_of_epoch{};   // likewise
  std::uint64_t epoch = 0;
  std::uint64_t ranks = 1;
  bool is_whole = false;                 // the epoch was not resumed in the middle
  replaced_samples bad{};                // since the run began
  std::atomic<bool> outstanding{false};  // an async call has not completed yet
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/hand_out.ipp>
#endif
