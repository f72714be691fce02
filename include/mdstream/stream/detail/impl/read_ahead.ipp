#pragma once

#include <mdstream/stream/detail/read_ahead.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE read_ahead::read_ahead(batch_reader reader, executor elsewhere)
    : elsewhere_(std::move(elsewhere)),
      batches_(reader.batches()),
      work_(std::make_shared<work>(std::move(reader))) {}

MDSTREAM_INLINE read_ahead::~read_ahead() {
  if (!work_) return;
  const std::lock_guard lock(work_->mutex);
  work_->is_due = false;
}

MDSTREAM_INLINE bool read_ahead::read(upcoming_batch& into) {
  if (!elsewhere_) return work_->reader.read(into);
  if (used_ == block_.count && !next_block()) return false;
  std::swap(into, block_.batches[used_++]);
  return true;
}

MDSTREAM_INLINE read_ahead::work::work(batch_reader from) : reader(std::move(from)) {
  const std::uint64_t samples = std::max<std::uint64_t>(reader.samples_read(), 1);
  made.batches.resize(
      static_cast<std::size_t>(std::max<std::uint64_t>(block_samples / samples, 1)));
}

MDSTREAM_INLINE void read_ahead::work::make() {
  while (made.count < made.batches.size() && reader.read(made.batches[made.count])) ++made.count;
  is_due = false;
}

MDSTREAM_INLINE bool read_ahead::next_block() {
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
      // It is still due: its consumer meets the same failure.
    }
  });
  return true;
}

}  // namespace mdstream::inline v0::detail
