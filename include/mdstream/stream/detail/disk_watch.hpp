#pragma once

/// Counts what the batches of a loader read from disks, and says whether to ask for samples before
/// they are copied.

#include <mdstream/cache/detail/read_soon.hpp>
#include <mdstream/schedule/detail/reread_watch.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>

namespace mdstream::inline v0::detail {

/// One for all epochs of a loader. Thread-safe.
class disk_watch {
 public:
  /// `shards`: bytes of all shards.
  explicit disk_watch(std::uint64_t shards) noexcept : shards_(shards) {}

  /// To be called as an epoch begins, with the bytes of files that memory holds. True if the epoch
  /// is to be watched: not where memory holds all shards, and held them before.
  [[nodiscard]] bool begin(std::uint64_t memory);

  /// Whether to ask for samples.
  [[nodiscard]] bool asks() const noexcept { return asks_.load(std::memory_order_relaxed); }
  /// Whether that was ever so: then mappings may have to be told that it is over.
  [[nodiscard]] bool has_asked() const noexcept {
    return has_asked_.load(std::memory_order_relaxed);
  }
  /// Bytes that may be asked for at a time, so that they are still in memory when they are copied.
  [[nodiscard]] std::uint64_t most() const noexcept {
    return most_.load(std::memory_order_relaxed);
  }

  /// Whether the batch of this number is counted. One counts for those after it, since to count
  /// takes longer than to build a batch of a few small samples.
  [[nodiscard]] static bool counts(std::uint64_t batch) noexcept { return batch % each == 0; }
  /// Of a batch that counts, `needed` bytes of samples were copied, or `read` bytes came from
  /// disks.
  void add(std::uint64_t needed, std::uint64_t read);

 private:
  static constexpr std::uint64_t each = 16;

  std::uint64_t shards_;
  std::mutex mutex_;
  reread_watch watch_;
  bool begun_ = false;
  std::atomic<std::uint64_t> most_{0};
  std::atomic<bool> asks_{false}, has_asked_{false};
};

/// Counts a part of the work on a batch: what its thread reads from disks while this lives.
class disk_count {
 public:
  /// Null: nothing is counted.
  explicit disk_count(disk_watch* watch) noexcept
      : watch_(watch), before_(watch == nullptr ? 0 : bytes_from_disk()) {}
  disk_count(const disk_count&) = delete;
  disk_count& operator=(const disk_count&) = delete;
  ~disk_count() {
    if (watch_ != nullptr) watch_->add(needed_, bytes_from_disk() - before_);
  }

  /// Whether it counts.
  [[nodiscard]] explicit operator bool() const noexcept { return watch_ != nullptr; }
  /// A sample of the batch has so many bytes.
  void needs(std::uint64_t bytes) noexcept { needed_ += bytes; }

 private:
  disk_watch* watch_;
  std::uint64_t before_;
  std::uint64_t needed_ = 0;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/disk_watch.ipp>
#endif
