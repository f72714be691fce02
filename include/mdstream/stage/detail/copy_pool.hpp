#pragma once

/// Threads that copy the parts of one batch side by side: one thread moves a tenth of what the bus
/// to a device does.

#include <mdstream/collate/detail/parts.hpp>
#include <mdstream/core/detail/mapped_files.hpp>
#include <mdstream/core/detail/processors.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <system_error>
#include <thread>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace mdstream::inline v0::stage::detail {

/// How many threads copy a batch for one of `devices`: `wanted`, or for 0 half of the processors
/// that are there for it, eight at most.
[[nodiscard]] inline std::size_t copy_threads(std::size_t wanted, int devices) {
  if (wanted != 0) return wanted;
  const std::size_t each =
      v0::detail::usable_cores() / static_cast<std::size_t>(std::max(devices, 1));
  return std::clamp<std::size_t>(each / 2, 1, 8);
}

/// Copies to memory that a device reads next, and this processor not: past the caches, which would
/// first have to get the lines back that the device read last. Other threads, and devices that are
/// told of it, see the bytes as those of any store.
inline void copy_past_caches(std::byte* to, const std::byte* from, std::uint64_t bytes) noexcept {
#if defined(__SSE2__)
  constexpr std::uint64_t line = 64, worth_it = 16 * line;
  if (bytes >= worth_it) {
    const std::uint64_t head = (line - reinterpret_cast<std::uintptr_t>(to) % line) % line;
    std::memcpy(to, from, head);
    for (to += head, from += head, bytes -= head; bytes >= line;
         to += line, from += line, bytes -= line) {
      __m128i words[line / sizeof(__m128i)];
      std::memcpy(words, from, line);
      for (std::size_t i = 0; i < std::size(words); ++i)
        _mm_stream_si128(reinterpret_cast<__m128i*>(to) + i, words[i]);
    }
    _mm_sfence();  // such stores are not ordered before those that follow
  }
#endif
  if (bytes != 0) std::memcpy(to, from, bytes);
}

/// A model of `collate::detail::thread_pool`: the calling thread and `threads - 1` of its own,
/// which begin with the first work there is, on the processors that its giver may run on. They look
/// for more for some microseconds after each piece, then sleep.
///
/// One thread at a time gives work. The destructor waits for the threads.
class copy_pool {
 public:
  explicit copy_pool(std::size_t threads) : size_(std::max<std::size_t>(threads, 1)) {}
  copy_pool(const copy_pool&) = delete;
  copy_pool& operator=(const copy_pool&) = delete;
  ~copy_pool() {
    open_.store(ended);
    open_.notify_all();
    for (std::thread& one : threads_) one.join();
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  static void copy(std::byte* to, const std::byte* from, std::uint64_t bytes) noexcept {
    copy_past_caches(to, from, bytes);
  }

  /// Calls `work(part)` for parts 0 … count - 1, each once, and returns when all are done. The
  /// calling thread takes part. `work` must not throw. What the caller wrote before, the parts see;
  /// what they wrote, the caller sees after it. Where the system gives no more threads, those that
  /// there are do it all.
  template <class Work>
  void for_each_part(std::uint32_t count, const Work& work) {
    if (count < 2 || size_ < 2) {
      for (std::uint32_t part = 0; part < count; ++part) work(part);
      return;
    }
    make_threads();
    work_ = &work;
    call_ = [](const void* given, std::uint32_t part) { (*static_cast<const Work*>(given))(part); };
    undone_.store(count, std::memory_order_relaxed);
    // In one order with the look whether a thread sleeps, or one that falls asleep now is missed.
    open_.store(count);
    const std::size_t helpers = std::min<std::size_t>(count - 1, threads_.size());
    for (std::size_t i = 0; i < helpers; ++i) open_.notify_one();
    while (take_part()) {
    }
    wait(undone_, [](std::uint32_t undone) { return undone == 0; });
  }

 private:
  static constexpr std::uint32_t ended = ~std::uint32_t{0};

  void make_threads() {
    try {
      while (threads_.size() + 1 < size_) threads_.emplace_back([this] { serve(); });
    } catch (const std::system_error&) {
      size_ = threads_.size() + 1;
    }
  }

  void serve() {
    const mdstream::detail::mapped_files::inside for_who_waits;
    while (true) {
      if (take_part()) continue;
      if (wait(open_, [](std::uint32_t open) { return open != 0; }) == ended) return;
    }
  }

  /// Does one part, if one is open. Until it counts as done the work cannot end or be replaced.
  bool take_part() {
    std::uint32_t open = open_.load(std::memory_order_acquire);
    do {
      if (open == 0 || open == ended) return false;
    } while (!open_.compare_exchange_weak(open, open - 1, std::memory_order_acquire));
    call_(work_, open - 1);
    if (undone_.fetch_sub(1) == 1) undone_.notify_one();
    return true;
  }

  /// Waits until `wanted(number)`, first awake, then asleep.
  template <class Wanted>
  static std::uint32_t wait(std::atomic<std::uint32_t>& number, const Wanted& wanted) {
    constexpr int looks = 2000;  // ten microseconds to a hundred, by processor
    std::uint32_t now = number.load(std::memory_order_acquire);
    for (int i = 0; i < looks && !wanted(now); ++i) {
      rest();
      now = number.load(std::memory_order_acquire);
    }
    while (!wanted(now)) {
      number.wait(now, std::memory_order_acquire);
      now = number.load(std::memory_order_acquire);
    }
    return now;
  }
  static void rest() noexcept {
#if defined(__SSE2__)
    _mm_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  std::size_t size_;
  const void* work_ = nullptr;
  void (*call_)(const void*, std::uint32_t) = nullptr;
  alignas(64) std::atomic<std::uint32_t> open_{0};    // parts that nobody has taken
  alignas(64) std::atomic<std::uint32_t> undone_{0};  // parts that are not done
  std::vector<std::thread> threads_{};
};

static_assert(collate::detail::thread_pool<copy_pool>);

}  // namespace mdstream::inline v0::stage::detail
