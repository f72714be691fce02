#pragma once

/// How the copying of a batch is dealt to several threads.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mdstream::inline v0::collate::detail {

/// What carries out the parts of a batch.
///
/// - `for_each_part(count, work)` calls `work(part)` for each of 0 … count - 1 once, in any order,
///   some at the same time, and returns when all are done. `work` does not throw.
/// - `size()` is how many parts may run at a time.
/// - `copy(to, from, bytes)` copies whole samples, in the way that suits their next reader.
template <class Pool>
concept thread_pool =
    requires(Pool& c, const Pool& fixed, void (*work)(std::uint32_t), std::byte* to) {
      { fixed.size() } -> std::convertible_to<std::size_t>;
      c.for_each_part(std::uint32_t{}, work);
      { Pool::copy(to, to, std::uint64_t{}) } noexcept;
    };

/// The calling thread.
struct serial {
  [[nodiscard]] static constexpr std::size_t size() noexcept { return 1; }
  template <class Work>
  static void for_each_part(std::uint32_t count, const Work& work) {
    for (std::uint32_t part = 0; part < count; ++part) work(part);
  }
  /// Through the caches: the same processor reads the batch.
  static void copy(std::byte* to, const std::byte* from, std::uint64_t bytes) noexcept {
    if (bytes != 0) std::memcpy(to, from, bytes);
  }
};

/// Into how many parts `bytes` go: some for each of the pool, so that one that comes late or is
/// slow takes fewer, but none so small that taking it costs more than it saves.
[[nodiscard]] inline std::uint32_t parts_of(std::uint64_t bytes, std::size_t pool) noexcept {
  constexpr std::uint64_t smallest = std::uint64_t{1} << 16, parts_each = 4;
  if (pool < 2) return 1;
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(bytes / smallest, 1, pool * parts_each));
}

/// Calls `work(first, last)` for stretches of `count` equal things, `bytes` in all.
template <thread_pool Pool, class Work>
void for_each_stretch(Pool& pool, std::uint64_t count, std::uint64_t bytes, const Work& work) {
  const std::uint64_t parts = std::min<std::uint64_t>(parts_of(bytes, pool.size()), count);
  pool.for_each_part(static_cast<std::uint32_t>(parts), [&](std::uint32_t part) {
    work(count / parts * part + std::min<std::uint64_t>(part, count % parts),
         count / parts * (part + 1) + std::min<std::uint64_t>(part + 1, count % parts));
  });
}

}  // namespace mdstream::inline v0::collate::detail
