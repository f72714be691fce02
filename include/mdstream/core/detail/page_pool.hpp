#pragma once

/// Large buffers that the next piece of work of the same kind takes over.

#include <mdstream/core/detail/pages.hpp>

#include <cstddef>
#include <mutex>
#include <vector>

namespace mdstream::inline v0::detail {

/// Keeps buffers while anything that uses them is under way, two for each: in new ones the kernel
/// would have to clear every page first. Thread-safe; outlives its users.
class page_pool {
 public:
  /// One piece of work. When the last one goes, so do all buffers that are kept.
  class user {
   public:
    explicit user(page_pool& of);
    user(const user&) = delete;
    user& operator=(const user&) = delete;
    ~user();

    /// Of so many bytes; what another has left in them if it is a buffer that was kept. Throws
    /// `std::bad_alloc`.
    [[nodiscard]] pages take(std::size_t bytes) const;
    void give(pages used) const noexcept;

   private:
    page_pool& of_;
  };

 private:
  /// To take less over saves nothing.
  static constexpr std::size_t least = std::size_t{1} << 20;
  static constexpr std::size_t kept_for_each = 2;

  std::mutex mutex_;
  std::size_t users_ = 0;
  std::vector<pages> kept_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/core/detail/impl/page_pool.ipp>
#endif
