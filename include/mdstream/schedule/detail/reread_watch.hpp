#pragma once

/// Whether memory holds the files that are read at random places. Pure.

#include <cstdint>

namespace mdstream::inline v0::detail {

/// Decides whether samples are to be asked for before they are copied, by what is read from disks
/// beyond their bytes.
///
/// The kernel reads more of a file than was touched. That is well if it is needed later and stays
/// in memory until then. But if more was read and not needed yet than memory holds, some of it was
/// dropped unused. So samples are asked for from then on: never with files that fit into memory,
/// nor where the samples of a shuffle block do. An eighth more than is needed may be read for good.
///
/// It ends when a sixteenth of the samples at most came from a disk while as many bytes of them
/// were needed as memory holds. Not thread-safe.
class reread_watch {
 public:
  /// Bytes of files that memory holds; may change. 0 at first.
  void set_memory(std::uint64_t bytes) noexcept { memory_ = bytes; }

  /// Samples of `needed` bytes were copied, for which `read` bytes came from disks.
  void add(std::uint64_t needed, std::uint64_t read) noexcept;

  /// Whether to ask for samples.
  [[nodiscard]] bool asks() const noexcept { return asks_; }

 private:
  static constexpr std::uint64_t little = 8, rare = 16;

  std::uint64_t memory_ = 0;
  std::uint64_t unneeded_ = 0;           // bytes that were read and not needed yet
  std::uint64_t needed_ = 0, read_ = 0;  // while it asks: since it last decided
  bool asks_ = false;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/schedule/detail/impl/reread_watch.ipp>
#endif
