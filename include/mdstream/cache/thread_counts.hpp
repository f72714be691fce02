#pragma once

/// Counters that belong to one thread each, so that counting takes no atomic operation on memory
/// that threads share. The sum over all threads is what counts: one thread may add what another
/// takes off.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace mdstream::inline v0::detail {

inline constexpr std::uint32_t slot_block = 256;

/// One thread's counters for the slots of one table, in blocks that are made when needed. Only the
/// thread itself writes; sums are taken modulo 2^32.
class thread_counts {
 public:
  using counter = std::atomic<std::uint32_t>;
  struct block {
    counter of[slot_block] = {};
  };

  explicit thread_counts(std::size_t slots) : blocks_((slots + slot_block - 1) / slot_block) {}

  /// The thread's own counter; null where its block was not made yet.
  [[nodiscard]] counter* find(std::uint32_t slot) const noexcept {
    return find_in(blocks_.data(), slot);
  }
  [[nodiscard]] static counter* find_in(const std::unique_ptr<block>* blocks,
                                        std::uint32_t slot) noexcept {
    block* const at = blocks[slot / slot_block].get();
    return at == nullptr ? nullptr : &at->of[slot % slot_block];
  }
  /// Stays where it is.
  [[nodiscard]] const std::unique_ptr<block>* blocks() const noexcept { return blocks_.data(); }

  /// The same, made if need be. The caller holds the table's lock.
  [[nodiscard]] counter* make(std::uint32_t slot) {
    std::unique_ptr<block>& at = blocks_[slot / slot_block];
    if (at == nullptr) at = std::make_unique<block>();
    return &at->of[slot % slot_block];
  }

  /// Calls `take(slot, count)` for every counter that is not zero, and sets it to zero. The caller
  /// holds the table's lock.
  template <class Take>
  void drain(const Take& take) noexcept {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (blocks_[i] == nullptr) continue;
      for (std::uint32_t k = 0; k < slot_block; ++k) {
        const std::uint32_t count = blocks_[i]->of[k].exchange(0, std::memory_order_relaxed);
        if (count != 0) take(static_cast<std::uint32_t>(i) * slot_block + k, count);
      }
    }
  }

  // Nobody else writes: two plain instructions instead of a locked one.
  static void add(counter& own, std::uint32_t by, std::memory_order order) noexcept {
    own.store(own.load(std::memory_order_relaxed) + by, order);
  }

 private:
  std::vector<std::unique_ptr<block>> blocks_;
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
  const std::unique_ptr<thread_counts::block>* blocks = nullptr;
};

/// The tables that the calling thread counts for.
class thread_tables {
 public:
  /// The thread's counter for a slot of the table that it used last, in a few instructions; null
  /// where there is none yet, or for any other table.
  [[nodiscard]] static thread_counts::counter* recent_counter(const counted_table& table,
                                                              std::uint32_t slot) noexcept {
    const recent_table recent = recent_;
    if (recent.table != &table) [[unlikely]]
      return nullptr;
    return thread_counts::find_in(recent.blocks, slot);
  }

  /// The thread's counters for any table; null when the thread is ending or memory is out.
  /// Precondition: the table is owned by a shared pointer.
  [[nodiscard]] static thread_counts* counts_for(counted_table& table) noexcept {
    if (ended_) return nullptr;
    try {
      static thread_local thread_tables own;
      thread_counts* const counts = own.find_or_enroll(table);
      recent_ = {&table, counts->blocks()};
      return counts;
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

  std::vector<entry> entries_;
};

}  // namespace mdstream::inline v0::detail
