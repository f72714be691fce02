#pragma once

/// The mapped shards of a process: one slot for each shard that never moves, so that a reference is
/// taken and given back without a lock and without writing to memory that threads share.

#include <mdstream/cache/detail/asymmetric_fence.hpp>
#include <mdstream/cache/detail/mapping.hpp>
#include <mdstream/cache/detail/shard_ref.hpp>
#include <mdstream/cache/detail/thread_counts.hpp>
#include <mdstream/core/bytes.hpp>
#include <mdstream/core/detail/process.hpp>
#include <mdstream/store/detail/file.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// The slots of one cache. Lookups are lock-free; mapping and unmapping take a lock.
///
/// Slots are made in blocks when a shard of the block is first mapped, so that a dataset of ten
/// million shards costs what its resident ones need. References may outlive the table's owner.
///
/// A thread counts the references that it takes and gives back in counters of its own. To take
/// one, it counts first and then looks whether the shard is mapped. To unmap, it clears the flag
/// first and then adds up the counters; an asymmetric fence between the two steps of each. Where
/// the kernel has none, the counters are not used and the shared half of the state counts alone.
class slot_table final : public detail::counted_table {
 public:
  struct releaser {
    std::shared_ptr<slot_table> table{};
    void operator()(slot_table*) noexcept {
      table->release();
      table.reset();
    }
  };
  using owner = std::unique_ptr<slot_table, releaser>;

  /// A table of `shards` slots that are all empty.
  [[nodiscard]] static owner make(std::size_t shards,
                                  bool asymmetric = detail::has_asymmetric_fence()) {
    std::shared_ptr<slot_table> table(new slot_table(shards, asymmetric));
    slot_table* const at = table.get();
    return {at, releaser{std::move(table)}};
  }

  /// A reference to a mapped shard, in a few instructions; none when it is not mapped.
  /// Precondition: `shard` is below the number of shards.
  [[nodiscard, gnu::always_inline]] std::optional<shard_ref> try_acquire(
      std::uint32_t shard) noexcept {
    block* const slots = blocks_[shard / slot_block].load(std::memory_order_acquire);
    if (slots == nullptr) return std::nullopt;
    detail::shard_slot& slot = slots->at[shard % slot_block];
    if (!enter(slot, shard)) return std::nullopt;
    return shard_ref(&slot);
  }

  /// Puts a mapping and the lock that pins its file into the slot and takes a reference. When the
  /// shard has been mapped meanwhile, both are given up for what is there.
  [[nodiscard]] shard_ref insert(std::uint32_t shard, file_mapping mapping, unique_fd pin) {
    const std::lock_guard lock(mutex_);
    detail::shard_slot& slot = slot_of(shard);
    if (slot.enter_shared()) return shard_ref(&slot);
    if (shared_half_.size() == resident_.size()) shared_half_.push_back(0);
    resident_.push_back(shard);
    slot.size = mapping.bytes().size();
    slot.base = mapping.release();
    slot.landmark.store(nullptr, std::memory_order_relaxed);
    slot.randomly.store(false, std::memory_order_relaxed);
    slot.pin = std::move(pin);
    slot.mapped_at = ++mappings_;
    slot.state.fetch_add(detail::shard_slot::mapped | 1, std::memory_order_release);
    slot.state.fetch_or(detail::shard_slot::used, std::memory_order_relaxed);
    return shard_ref(&slot);
  }

  /// Unmaps a shard that nobody holds; false when somebody does.
  bool unmap(std::uint32_t shard) {
    const std::lock_guard lock(mutex_);
    block* const slots = blocks_[shard / slot_block].load(std::memory_order_acquire);
    if (slots == nullptr) return true;
    detail::shard_slot* const slot = &slots->at[shard % slot_block];
    if (!slot->is_mapped()) return true;
    unmap_idle(std::span(&slot, 1));
    if (slot->is_mapped()) return false;
    std::erase(resident_, shard);
    return true;
  }

  /// Whether what is mapped here is no longer the shard: another process has dropped it, and its
  /// lock file with it. Without a limit there is no pin that tells.
  [[nodiscard]] bool is_dropped(std::uint32_t shard) {
    const std::lock_guard lock(mutex_);
    const detail::shard_slot& slot = slot_of(shard);
    return slot.is_mapped() && slot.pin && !detail::is_linked(slot.pin.get());
  }

  /// Unmaps every shard that nobody holds and nobody has taken since the last sweep. Returns how
  /// many are still mapped.
  std::size_t sweep() {
    const std::lock_guard lock(mutex_);
    std::vector<detail::shard_slot*> unused;
    for (const std::uint32_t shard : resident_) {
      detail::shard_slot& slot = slot_of(shard);
      const std::uint64_t seen =
          slot.state.fetch_and(~detail::shard_slot::used, std::memory_order_relaxed);
      if ((seen & detail::shard_slot::used) == 0) unused.push_back(&slot);
    }
    unmap_idle(unused);
    std::erase_if(resident_, [this](std::uint32_t shard) { return !slot_of(shard).is_mapped(); });
    return resident_.size();
  }

  /// In a forked child: unmaps what nobody there holds. Where another thread was changing the
  /// table at the fork, everything stays as it is.
  void abandon() noexcept {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return;
    for (const std::uint32_t shard : resident_) {
      detail::shard_slot& slot = slot_of(shard);
      if (references(slot) == 0) drop_mapping(slot);
    }
    resident_.clear();
  }

  [[nodiscard]] std::size_t mapped() const {
    const std::lock_guard lock(mutex_);
    return resident_.size();
  }

  /// How many mappings had been made when the shard was mapped last; 0 when it never was.
  [[nodiscard]] std::uint64_t mapped_at(std::uint32_t shard) const {
    const std::lock_guard lock(mutex_);
    const block* const slots = blocks_[shard / slot_block].load(std::memory_order_relaxed);
    return slots == nullptr ? 0 : slots->at[shard % slot_block].mapped_at;
  }

  ~slot_table() override {
    for (const std::atomic<block*>& each : blocks_) delete each.load(std::memory_order_relaxed);
  }

 private:
  friend struct detail::shard_slot;
  static constexpr std::uint32_t slot_block = 256;
  struct block {
    detail::shard_slot at[slot_block];
  };

  slot_table(std::size_t shards, bool asymmetric)
      : asymmetric_(asymmetric), shards_(shards), blocks_((shards + slot_block - 1) / slot_block) {}

  // References. Every sample goes through these, in as few instructions as can be: while one is
  // waited for, the processor begins as many more as some hundred instructions hold. So they are
  // inlined, and what is rare is kept out of them.

  using counter = detail::thread_counts::counter;

  [[nodiscard, gnu::always_inline]] bool enter(detail::shard_slot& slot,
                                               std::uint32_t shard) noexcept {
    if (!detail::thread_tables::is_recent(*this)) [[unlikely]]
      return enter_slowly(slot, shard);
    return enter_counted(slot, detail::thread_tables::recent()[shard]);
  }

  [[nodiscard, gnu::always_inline]] static bool enter_counted(detail::shard_slot& slot,
                                                              counter& own) noexcept {
    constexpr std::uint64_t usual = detail::shard_slot::mapped | detail::shard_slot::used;
    detail::thread_counts::add(own, 1, std::memory_order_relaxed);
    detail::light_fence();
    const std::uint64_t seen = slot.state.load(std::memory_order_acquire);
    return (seen & usual) == usual || enter_unusual(slot, own, seen);
  }

  [[nodiscard, gnu::noinline]] bool enter_slowly(detail::shard_slot& slot,
                                                 std::uint32_t shard) noexcept {
    counter* const counters = find_counters();
    return counters == nullptr ? slot.enter_shared() : enter_counted(slot, counters[shard]);
  }

  /// Of a shard that is not mapped, or that nobody has taken since the last sweep.
  [[nodiscard, gnu::noinline]] static bool enter_unusual(detail::shard_slot& slot, counter& own,
                                                         std::uint64_t seen) noexcept {
    if ((seen & detail::shard_slot::mapped) == 0) {
      detail::thread_counts::add(own, ~0U, std::memory_order_release);
      return false;
    }
    slot.state.fetch_or(detail::shard_slot::used, std::memory_order_relaxed);
    return true;
  }

  [[gnu::always_inline]] void leave(detail::shard_slot& slot) noexcept {
    if (!detail::thread_tables::is_recent(*this)) [[unlikely]]
      return leave_slowly(slot);
    leave_counted(slot, detail::thread_tables::recent()[slot.number]);
  }

  [[gnu::always_inline]] void leave_counted(detail::shard_slot& slot, counter& own) noexcept {
    // The thread's counters keep the table in memory from here on.
    detail::thread_counts::add(own, ~0U, std::memory_order_release);
    detail::light_fence();
    if ((slot.state.load(std::memory_order_relaxed) & detail::shard_slot::orphaned) != 0)
        [[unlikely]]
      reap(slot);
  }

  [[gnu::noinline]] void leave_slowly(detail::shard_slot& slot) noexcept {
    if (counter* const counters = find_counters())
      return leave_counted(slot, counters[slot.number]);
    const std::shared_ptr<counted_table> alive = asymmetric_ ? shared_from_this() : nullptr;
    const std::uint64_t before = slot.state.fetch_sub(1, std::memory_order_acq_rel);
    if ((before & detail::shard_slot::orphaned) == 0) return;
    // Without counters of threads this is the whole number, and only the last one looks.
    if (asymmetric_ || static_cast<std::uint32_t>(before) == 1) reap(slot);
  }

  /// The calling thread's counters; null where the shared half has to serve.
  [[nodiscard]] counter* find_counters() noexcept {
    return asymmetric_ ? detail::thread_tables::counters_for(*this) : nullptr;
  }

  /// The references to a slot, or more than there are. The caller holds the lock; where `mapped` is
  /// gone and a heavy fence has followed, 0 means that there are none and will be none: by then the
  /// threads' counters only fall, so that their sum, read before the shared half, can only be too
  /// high.
  [[nodiscard]] std::uint32_t references(const detail::shard_slot& slot) const noexcept {
    std::uint32_t sum = 0;
    for (const auto& counts : threads_) sum += counts->count(slot.number);
    return sum + static_cast<std::uint32_t>(slot.state.load(std::memory_order_acquire));
  }

  // Counters of threads.

  [[nodiscard]] detail::thread_counts* enroll() override {
    const std::lock_guard lock(mutex_);
    threads_.push_back(std::make_unique<detail::thread_counts>(shards_));
    return threads_.back().get();
  }

  void dismiss(detail::thread_counts* counts) noexcept override {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      // A thread counts only where it saw a block.
      block* const slots = blocks_[i].load(std::memory_order_relaxed);
      if (slots == nullptr) continue;
      counts->drain(i * slot_block, slot_block, [slots](std::uint32_t shard, std::uint32_t count) {
        const auto change = static_cast<std::int64_t>(static_cast<std::int32_t>(count));
        slots->at[shard % slot_block].state.fetch_add(static_cast<std::uint64_t>(change),
                                                      std::memory_order_acq_rel);
      });
    }
    std::erase_if(threads_, [counts](const auto& each) { return each.get() == counts; });
  }

  [[nodiscard]] bool is_spent() const override {
    const std::lock_guard lock(mutex_);
    return released_ && orphans_ == 0;
  }

  // Mappings. The caller holds the lock.

  [[nodiscard]] detail::shard_slot& slot_of(std::uint32_t shard) {
    std::atomic<block*>& place = blocks_[shard / slot_block];
    block* slots = place.load(std::memory_order_relaxed);
    if (slots == nullptr) {
      slots = new block;
      std::uint32_t number = shard - shard % slot_block;
      for (detail::shard_slot& slot : slots->at) {
        slot.table = this;
        slot.number = number++;
      }
      place.store(slots, std::memory_order_release);
    }
    return slots->at[shard % slot_block];
  }

  /// Whether threads' counters can be relied on from here on; where not, nothing may be unmapped.
  [[nodiscard]] bool fence_against_threads() const noexcept {
    return !asymmetric_ || detail::heavy_fence();
  }

  /// Unmaps those of the mapped slots that have no references, with one fence for all of them.
  void unmap_idle(std::span<detail::shard_slot* const> slots) noexcept {
    for (detail::shard_slot* const slot : slots)
      if (references(*slot) == 0)
        slot->state.fetch_and(~detail::shard_slot::mapped, std::memory_order_seq_cst);
    const bool fenced = fence_against_threads();
    for (detail::shard_slot* const slot : slots) {
      if (slot->is_mapped()) continue;
      if (fenced && references(*slot) == 0) {
        drop_mapping(*slot);
      } else {
        slot->state.fetch_or(detail::shard_slot::mapped, std::memory_order_relaxed);
      }
    }
  }

  static void drop_mapping(detail::shard_slot& slot) noexcept {
    slot.state.fetch_and(~detail::shard_slot::mapped, std::memory_order_relaxed);
    (void)file_mapping::adopt(std::exchange(slot.base, nullptr), slot.size);  // unmaps
    slot.pin.reset();
  }

  // The end.

  /// The owner's end: unmaps what is idle, and leaves the rest to the references.
  void release() noexcept {
    const std::lock_guard lock(mutex_);
    released_ = true;
    for (std::size_t i = 0; i < resident_.size(); ++i) {
      shared_half_[i] = static_cast<std::uint32_t>(
          slot_of(resident_[i])
              .state.fetch_or(detail::shard_slot::orphaned, std::memory_order_acq_rel));
    }
    const bool fenced = fence_against_threads();
    for (std::size_t i = 0; i < resident_.size(); ++i) {
      detail::shard_slot& slot = slot_of(resident_[i]);
      // Where the shared half counts alone, the thread that gave back the last reference since it
      // was read knows it, and is waiting for the lock.
      if (fenced && (asymmetric_ ? references(slot) : shared_half_[i]) == 0) {
        drop_mapping(slot);
      } else {
        ++orphans_;
      }
    }
    if (orphans_ > 0) keep_alive_ = shared_from_this();
  }

  /// Unmaps a shard of a table without an owner once its last reference is gone.
  [[gnu::noinline]] void reap(detail::shard_slot& slot) noexcept {
    if (!made_.is_here()) return;         // the lock may be a thread's that is not there
    std::shared_ptr<counted_table> last;  // goes after the lock
    const std::lock_guard lock(mutex_);
    if (!slot.is_mapped() || references(slot) != 0) return;
    drop_mapping(slot);
    if (--orphans_ == 0) last = std::move(keep_alive_);
  }

  detail::maker made_;
  const bool asymmetric_;
  const std::size_t shards_;
  std::vector<std::atomic<block*>> blocks_;

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<detail::thread_counts>> threads_;
  std::vector<std::uint32_t> resident_;
  std::vector<std::uint32_t> shared_half_;  // for `release`, which has no memory to ask for
  std::uint64_t mappings_ = 0;
  bool released_ = false;
  std::size_t orphans_ = 0;                    // mapped slots of a table without an owner
  std::shared_ptr<counted_table> keep_alive_;  // while there are any
};

[[gnu::always_inline]] inline void detail::shard_slot::leave() noexcept { table->leave(*this); }

}  // namespace mdstream::inline v0::detail
