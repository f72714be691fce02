#pragma once

/// Reads an order while the training loop is at work.

#include <mdstream/core/detail/unique_function.hpp>
#include <mdstream/stream/detail/batch_reader.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace mdstream::inline v0::detail {

/// The batches of a reader, in blocks of some thousand samples: while one is handed out, the next
/// is read elsewhere. A block that nobody has begun when it is wanted is read by its consumer, so
/// that busy threads are not waited for. One consumer at a time; the destructor waits where a block
/// is being read.
class read_ahead {
 public:
  /// Runs work on another thread.
  using executor = std::function<void(unique_function<void()>)>;

  /// Without an executor batches are read when they are asked for.
  explicit read_ahead(batch_reader reader, executor elsewhere = {});
  read_ahead(read_ahead&&) noexcept = default;
  read_ahead& operator=(read_ahead&&) = delete;
  ~read_ahead();

  /// Batches of the epoch.
  [[nodiscard]] std::uint64_t batches() const noexcept { return batches_; }

  /// As `batch_reader::read`, and what it throws; the next call tries again then.
  bool read(upcoming_batch& into);

 private:
  struct block {
    std::vector<upcoming_batch> batches;
    std::size_t count = 0;
  };

  /// Shared with the thread elsewhere, which may come to it when this object is gone.
  struct work {
    explicit work(batch_reader from);

    /// Under the lock.
    void make();

    std::mutex mutex;
    batch_reader reader;
    block made;
    bool is_due = true;  // `made` is to be read
  };

  static constexpr std::uint64_t block_samples = 8192;

  bool next_block();

  executor elsewhere_;
  std::uint64_t batches_;
  std::shared_ptr<work> work_;
  block block_;
  std::size_t used_ = 0;  // batches of `block_` that were handed out
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/read_ahead.ipp>
#endif
