#pragma once

#include <mdstream/core/detail/handler_memory.hpp>
#include <mdstream/version.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

namespace mdstream::inline v0::detail {

/// 64 blocks, of which the bits of a word tell whether they are taken.
class handler_reserve {
 public:
  [[nodiscard]] void* take(std::size_t bytes) noexcept {
    if (bytes > block_bytes) return nullptr;
    std::uint64_t taken = taken_.load(std::memory_order_relaxed);
    while (~taken != 0) {
      const auto free = static_cast<std::size_t>(std::countr_one(taken));
      if (taken_.compare_exchange_weak(taken, taken | std::uint64_t{1} << free,
                                       std::memory_order_acquire, std::memory_order_relaxed))
        return &memory_[free * block_bytes];
    }
    return nullptr;
  }

  /// False for memory that is not its own.
  [[nodiscard]] bool give_back(void* memory) noexcept {
    const auto at =
        reinterpret_cast<std::uintptr_t>(memory) - reinterpret_cast<std::uintptr_t>(memory_.data());
    if (at >= memory_.size()) return false;
    taken_.fetch_and(~(std::uint64_t{1} << at / block_bytes), std::memory_order_release);
    return true;
  }

 private:
  static constexpr std::size_t block_bytes = 1024;

  alignas(std::max_align_t) std::array<std::byte, 64 * block_bytes> memory_{};
  std::atomic<std::uint64_t> taken_{0};
};

inline constinit handler_reserve reserve_for_handlers;

MDSTREAM_INLINE void* allocate_handler(std::size_t bytes) {
  if (void* const memory = ::operator new(bytes, std::nothrow)) return memory;
  if (void* const memory = reserve_for_handlers.take(bytes)) return memory;
  throw std::bad_alloc();
}

MDSTREAM_INLINE void free_handler(void* memory) noexcept {
  if (!reserve_for_handlers.give_back(memory)) ::operator delete(memory);
}

}  // namespace mdstream::inline v0::detail
