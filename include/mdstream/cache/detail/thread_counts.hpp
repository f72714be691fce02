#pragma once

/// Counters that belong to one thread each, so that counting takes no atomic operation on memory
/// that threads share. The sum over all threads is what counts: one thread may add what another
/// takes off.

#include <mdstream/core/detail/pages.hpp>
#include <mdstream/core/detail/process.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace mdstream::inline v0::detail {

/// One thread's counters for the slots of one table. Only the thread itself writes; sums are taken
/// modulo 2^32. Memory: 4 bytes a slot, in pages of their own, which become resident as slots of
/// theirs are used.
class thread_counts {
 public:
  /// Counted by `add` alone.
  using counter = std::uint32_t;

  explicit thread_counts(std::size_t slots)
      : slots_(slots), memory_(std::max<std::size_t>(slots, 1) * sizeof(counter)) {}

  /// By slot; they stay where they are.
  [[nodiscard]] counter* counters() const noexcept {
    return reinterpret_cast<counter*>(memory_.data());
  }

  [[nodiscard]] counter count(std::uint32_t slot) const noexcept {
    return std::atomic_ref(counters()[slot]).load(std::memory_order_acquire);
  }

  /// Calls `take(slot, count)` for the counters of up to `slots` slots from `first` on that are not
  /// zero, and sets them to zero. Only those that can have been used should be asked for: of others
  /// each page is a fault. The caller holds the table's lock.
  template <class Take>
  void drain(std::size_t first, std::size_t slots, const Take& take) noexcept {
    const std::size_t end = first + std::min(slots, slots_ - first);
    for (std::size_t slot = first; slot < end; ++slot) {
      const std::atomic_ref each(counters()[slot]);
      const counter held = each.load(std::memory_order_relaxed);
      if (held == 0) continue;  // not written, so that what was never used stays so
      each.store(0, std::memory_order_relaxed);
      take(static_cast<std::uint32_t>(slot), held);
    }
  }

  // Nobody else writes: two plain instructions instead of a locked one.
  static void add(counter& own, counter by, std::memory_order order) noexcept {
    const std::atomic_ref it(own);
    it.store(it.load(std::memory_order_relaxed) + by, order);
  }

 private:
  std::size_t slots_;
  pages memory_;
};

/// What threads count for. It stays in memory as long as a thread has counters for it.
class counted_table : public std::enable_shared_from_this<counted_table> {
 public:
  counted_table() = default;
  counted_table(const counted_table&) = delete;
  counted_table& operator=(const counted_table&) = delete;
  virtual ~counted_table() = default;

  [[nodiscard]] virtual thread_counts* enroll() = 0;         ///< counters for the calling thread
  virtual void dismiss(thread_counts* counts) noexcept = 0;  ///< keeps their sums, deletes them
  [[nodiscard]] virtual bool is_spent() const = 0;           ///< nothing will be counted any more
};

/// Its counters keep the table in memory, so that no other gets its address.
struct recent_table {
  const counted_table* table = nullptr;
  thread_counts::counter* counters = nullptr;
};

/// The tables that the calling thread counts for.
class thread_tables {
 public:
  /// Whether this is the table that the thread used last.
  [[nodiscard]] static bool is_recent(const counted_table& table) noexcept {
    return recent_.table == &table;
  }
  /// The thread's counters for that table.
  [[nodiscard]] static thread_counts::counter* recent() noexcept { return recent_.counters; }

  /// The thread's counters for any table; null when the thread is ending or memory is out.
  /// Precondition: the table is owned by a shared pointer.
  [[nodiscard]] static thread_counts::counter* counters_for(counted_table& table) noexcept {
    if (ended_) return nullptr;
    try {
      static thread_local thread_tables own;
      recent_ = {&table, own.find_or_enroll(table)->counters()};
      return recent_.counters;
    } catch (...) {
      return nullptr;
    }
  }

 private:
  struct entry {
    std::shared_ptr<counted_table> table;
    thread_counts* counts;
  };
  thread_tables() = default;
  ~thread_tables() {
    recent_ = {};
    ended_ = true;
    if (!made_.is_here()) return;  // the tables' locks may be threads' that are not there
    for (const entry& each : entries_) each.table->dismiss(each.counts);
  }

  [[nodiscard]] thread_counts* find_or_enroll(counted_table& table) {
    for (const entry& each : entries_)
      if (each.table.get() == &table) return each.counts;
    drop_spent();
    entries_.reserve(entries_.size() + 1);
    entries_.push_back({table.shared_from_this(), table.enroll()});
    return entries_.back().counts;
  }

  void drop_spent() {
    recent_ = {};
    std::erase_if(entries_, [](const entry& each) {
      if (!each.table->is_spent()) return false;
      each.table->dismiss(each.counts);
      return true;
    });
  }

  // Without constructors, so that no look whether they were made is needed.
  static inline constinit thread_local recent_table recent_{};
  static inline constinit thread_local bool ended_ = false;

  maker made_;
  std::vector<entry> entries_;
};

}  // namespace mdstream::inline v0::detail
