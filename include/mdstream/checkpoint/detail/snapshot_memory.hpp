#pragma once

/// The bounded memory in which snapshots wait for their upload.

#include <mdstream/stage/device_copies.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// Memory for one file; pinned where there is a device.
struct snapshot_block {
  std::shared_ptr<std::byte> data{};
  std::size_t size = 0;
};

/// Blocks, each for one file. They are kept for the next save, whose files are the same: pages that
/// are touched for the first time cost as much as the copy. Thread-safe.
class snapshot_memory {
 public:
  /// Blocks that are taken at a time have `limit` bytes in all, or there is only one.
  snapshot_memory(std::uint64_t limit, stage::device_copies device)
      : limit_(limit), device_(std::move(device)) {}

  /// Waits for room. Throws `errc::canceled` after `stop`; `std::bad_alloc`, or
  /// `errc::device_error`, where there is no memory.
  [[nodiscard]] snapshot_block take(std::size_t bytes);

  void give_back(snapshot_block block);

  void stop();

 private:
  [[nodiscard]] snapshot_block make(std::size_t bytes) const;

  const std::uint64_t limit_;
  const stage::device_copies device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<snapshot_block> free_;
  std::uint64_t held_ = 0;  // by blocks that are taken or free
  std::size_t taken_ = 0;
  bool stopped_ = false;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/checkpoint/detail/impl/snapshot_memory.ipp>
#endif
