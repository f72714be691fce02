#pragma once

/// Reads an order while the training loop is at work.

#include <mdstream/core/unique_function.hpp>
#include <mdstream/stream/batch_reader.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// The batches of a reader, in blocks of some thousand samples: while one is handed out, the next
/// is read elsewhere. A block that nobody has begun when it is wanted is read by who wants it, so
/// that busy threads are not waited for. One consumer at a time; the destructor waits where a block
/// is being read.
class read_ahead {
 public:
  /// Runs work on another thread.
  using executor = std::function<void(unique_function<void()>)>;

  /// Without an executor batches are read when they are asked for.
  explicit read_ahead(batch_reader reader, executor elsewhere = {})
      : elsewhere_(std::move(elsewhere)),
        batches_(reader.batches()),
        work_(std::make_shared<work>(std::move(reader))) {}
  read_ahead(read_ahead&&) noexcept = default;
  read_ahead& operator=(read_ahead&&) = delete;
  ~read_ahead() {
    if (!work_) return;
    const std::lock_guard lock(work_->mutex);
    work_->is_due = false;
  }

  /// Batches of the epoch.
  [[nodiscard]] std::uint64_t batches() const noexcept { return batches_; }

  /// As `batch_reader::read`, and what it throws; the next call tries again then.
  bool read(upcoming_batch& into) {
    if (!elsewhere_) return work_->reader.read(into);
    if (used_ == block_.count && !next_block()) return false;
    std::swap(into, block_.batches[used_++]);
    return true;
  }

 private:
  struct block {
    std::vector<upcoming_batch> batches;
    std::size_t count = 0;
  };

  /// Shared with the thread elsewhere, which may come to it when this object is gone.
  struct work {
    explicit work(batch_reader from) : reader(std::move(from)) {
      const std::uint64_t samples = std::max<std::uint64_t>(reader.samples_read(), 1);
      made.batches.resize(
          static_cast<std::size_t>(std::max<std::uint64_t>(block_samples / samples, 1)));
    }

    /// Under the lock.
    void make() {
      while (made.count < made.batches.size() && reader.read(made.batches[made.count]))
        ++made.count;
      is_due = false;
    }

    std::mutex mutex;
    batch_reader reader;
    block made;
    bool is_due = true;  // `made` is to be read
  };

  static constexpr std::uint64_t block_samples = 8192;

  bool next_block() {
    {
      const std::lock_guard lock(work_->mutex);
      if (work_->is_due) work_->make();
      std::swap(block_, work_->made);
      work_->made.batches.resize(block_.batches.size());
      work_->made.count = 0;
      work_->is_due = true;
    }
    used_ = 0;
    if (block_.count == 0) return false;
    elsewhere_([shared = work_] {
      const std::lock_guard lock(shared->mutex);
      try {
        if (shared->is_due) shared->make();
      } catch (...) {
        // It is still due: who wants the block meets the same failure.
      }
    });
    return true;
  }

  executor elsewhere_;
  std::uint64_t batches_;
  std::shared_ptr<work> work_;
  block block_;
  std::size_t used_ = 0;  // batches of `block_` that were handed out
};

}  // namespace mdstream::inline v0
