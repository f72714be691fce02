#pragma once

/// The mapped shards of a process: one slot for each shard that never moves, so that a reference is
/// taken and given back with one atomic operation each.

#include <mdstream/cache/mapping.hpp>
#include <mdstream/core/bytes.hpp>
#include <mdstream/store/file.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

class slot_table;

namespace detail {

/// `state` counts the references in its low half; the flags are above. A slot without `mapped` has
/// no references, and who maps or unmaps it holds the table's lock.
struct shard_slot {
  static constexpr std::uint64_t mapped = std::uint64_t{1} << 63;
  static constexpr std::uint64_t used = std::uint64_t{1} << 62;      // since the last sweep
  static constexpr std::uint64_t orphaned = std::uint64_t{1} << 61;  // the table's owner is gone
  static constexpr std::uint64_t counted = (std::uint64_t{1} << 32) - 1;

  std::atomic<std::uint64_t> state{0};
  const std::byte* base = nullptr;
  std::size_t size = 0;
  slot_table* table = nullptr;
  std::uint64_t mapped_at = 0;       // on the table's count of mappings
  std::atomic<bool> checked{false};  // see shard_ref::check_once
  unique_fd pin;  // holds a shared lock on the shard's lock file while the slot is mapped

  /// Takes a reference if the shard is mapped.
  [[nodiscard]] bool try_enter() noexcept {
    std::uint64_t seen = state.load(std::memory_order_relaxed);
    while ((seen & mapped) != 0) {
      if (state.compare_exchange_weak(seen, (seen + 1) | used, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  void enter_again() noexcept { state.fetch_add(1, std::memory_order_relaxed); }

  void leave() noexcept;
};

}  // namespace detail

/// A counted reference to a resident, mapped shard. While one exists, the shard's bytes stay where
/// they are, and no process evicts it from a cache with a limit. It may outlive the cache. Copies
/// count. Two references may be used by two threads; one may not.
class shard_ref {
 public:
  shard_ref() = default;
  shard_ref(const shard_ref& other) noexcept : slot_(other.slot_) {
    if (slot_ != nullptr) slot_->enter_again();
  }
  shard_ref(shard_ref&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
  shard_ref& operator=(shard_ref other) noexcept {
    std::swap(slot_, other.slot_);
    return *this;
  }
  ~shard_ref() {
    if (slot_ != nullptr) slot_->leave();
  }

  /// The whole raw shard, of exactly the size that the index states. Precondition: not empty.
  [[nodiscard]] bytes_view bytes() const noexcept { return {slot_->base, slot_->size}; }

  /// Calls `check()`, which throws for bytes that are no shard, unless it has returned before for
  /// this mapping. Any thread; two may both be the first.
  template <class Check>
  void check_once(const Check& check) const {
    if (slot_->checked.load(std::memory_order_relaxed)) return;
    check();
    slot_->checked.store(true, std::memory_order_relaxed);
  }

  [[nodiscard]] explicit operator bool() const noexcept { return slot_ != nullptr; }

 private:
  friend class slot_table;
  explicit shard_ref(detail::shard_slot* slot) noexcept : slot_(slot) {}  // adopts a reference

  detail::shard_slot* slot_ = nullptr;
};

/// The slots of one cache. Lookups are lock-free; mapping and unmapping take a lock.
///
/// Slots are made in blocks when a shard of the block is first mapped, so that a dataset of ten
/// million shards costs what its resident ones need. The table is deleted by the last reference
/// that is left after `release`.
class slot_table {
 public:
  struct releaser {
    void operator()(slot_table* table) const noexcept { table->release(); }
  };
  using owner = std::unique_ptr<slot_table, releaser>;

  /// A table of `shards` slots that are all empty.
  [[nodiscard]] static owner make(std::size_t shards) { return owner(new slot_table(shards)); }

  /// A reference to a mapped shard, in one atomic operation; none when it is not mapped.
  /// Precondition: `shard` is below the number of shards.
  [[nodiscard]] std::optional<shard_ref> try_acquire(std::uint32_t shard) noexcept {
    block* const slots = blocks_[shard / block_size].load(std::memory_order_acquire);
    if (slots == nullptr) return std::nullopt;
    detail::shard_slot& slot = slots->at[shard % block_size];
    if (!slot.try_enter()) return std::nullopt;
    return shard_ref(&slot);
  }

  /// Puts a mapping and the lock that pins its file into the slot and takes a reference. When the
  /// shard has been mapped meanwhile, both are given up for what is there.
  [[nodiscard]] shard_ref insert(std::uint32_t shard, file_mapping mapping, unique_fd pin) {
    const std::lock_guard lock(mutex_);
    detail::shard_slot& slot = slot_of(shard);
    if (slot.try_enter()) return shard_ref(&slot);
    resident_.push_back(shard);
    slot.size = mapping.bytes().size();
    slot.base = mapping.release();
    slot.checked.store(false, std::memory_order_relaxed);
    slot.pin = std::move(pin);
    slot.mapped_at = ++mappings_;
    slot.state.store(detail::shard_slot::mapped | detail::shard_slot::used | 1,
                     std::memory_order_release);
    return shard_ref(&slot);
  }

  /// Unmaps a shard that nobody holds; false when somebody does.
  bool unmap(std::uint32_t shard) {
    const std::lock_guard lock(mutex_);
    block* const slots = blocks_[shard / block_size].load(std::memory_order_acquire);
    if (slots == nullptr) return true;
    if (!unmap_idle(slots->at[shard % block_size])) return false;
    std::erase(resident_, shard);
    return true;
  }

  /// Unmaps every shard that nobody holds and nobody has taken since the last sweep. Returns how
  /// many are still mapped.
  std::size_t sweep() {
    const std::lock_guard lock(mutex_);
    std::erase_if(resident_, [this](std::uint32_t shard) {
      detail::shard_slot& slot = slot_of(shard);
      const std::uint64_t seen =
          slot.state.fetch_and(~detail::shard_slot::used, std::memory_order_relaxed);
      return (seen & detail::shard_slot::used) == 0 && unmap_idle(slot);
    });
    return resident_.size();
  }

  [[nodiscard]] std::size_t mapped() const {
    const std::lock_guard lock(mutex_);
    return resident_.size();
  }

  /// How many mappings had been made when the shard was mapped last; 0 when it never was.
  [[nodiscard]] std::uint64_t mapped_at(std::uint32_t shard) const {
    const std::lock_guard lock(mutex_);
    const block* const slots = blocks_[shard / block_size].load(std::memory_order_relaxed);
    return slots == nullptr ? 0 : slots->at[shard % block_size].mapped_at;
  }

 private:
  friend struct detail::shard_slot;
  static constexpr std::size_t block_size = 256;
  struct block {
    detail::shard_slot at[block_size];
  };

  explicit slot_table(std::size_t shards) : blocks_((shards + block_size - 1) / block_size) {}
  ~slot_table() {
    for (const std::atomic<block*>& each : blocks_) delete each.load(std::memory_order_relaxed);
  }

  [[nodiscard]] detail::shard_slot& slot_of(std::uint32_t shard) {
    std::atomic<block*>& place = blocks_[shard / block_size];
    block* slots = place.load(std::memory_order_relaxed);
    if (slots == nullptr) {
      slots = new block;
      for (detail::shard_slot& slot : slots->at) slot.table = this;
      place.store(slots, std::memory_order_release);
    }
    return slots->at[shard % block_size];
  }

  /// True when the slot is unmapped now. The caller holds the lock.
  static bool unmap_idle(detail::shard_slot& slot) noexcept {
    std::uint64_t seen = slot.state.load(std::memory_order_relaxed);
    do {
      if ((seen & detail::shard_slot::mapped) == 0) return true;
      if ((seen & detail::shard_slot::counted) != 0) return false;
    } while (!slot.state.compare_exchange_weak(seen, 0, std::memory_order_acquire,
                                               std::memory_order_relaxed));
    (void)file_mapping::adopt(slot.base, slot.size);  // unmapped with the temporary
    slot.base = nullptr;
    slot.pin.reset();
    return true;
  }

  /// The owner's end: unmaps what is idle, and leaves the rest to the references.
  void release() noexcept {
    {
      const std::lock_guard lock(mutex_);
      orphans_.store(1, std::memory_order_relaxed);  // counts this function itself
      for (const std::uint32_t shard : resident_) {
        detail::shard_slot& slot = slot_of(shard);
        while (!unmap_idle(slot)) {
          std::uint64_t seen = slot.state.load(std::memory_order_relaxed);
          if ((seen & detail::shard_slot::counted) == 0) continue;
          orphans_.fetch_add(1, std::memory_order_relaxed);
          if (slot.state.compare_exchange_strong(seen, seen | detail::shard_slot::orphaned,
                                                 std::memory_order_acq_rel)) {
            break;
          }
          orphans_.fetch_sub(1, std::memory_order_relaxed);
        }
      }
    }
    drop_orphan();
  }

  void drop_orphan() noexcept {
    if (orphans_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  mutable std::mutex mutex_;
  std::vector<std::atomic<block*>> blocks_;
  std::vector<std::uint32_t> resident_;
  std::uint64_t mappings_ = 0;
  std::atomic<std::size_t> orphans_{0};
};

inline void detail::shard_slot::leave() noexcept {
  const std::uint64_t before = state.fetch_sub(1, std::memory_order_release);
  if ((before & orphaned) == 0 || (before & counted) != 1) return;
  (void)state.load(std::memory_order_acquire);  // after everything the other holders did
  slot_table* const owner = table;
  state.store(0, std::memory_order_relaxed);
  (void)file_mapping::adopt(base, size);
  pin.reset();
  owner->drop_orphan();
}

}  // namespace mdstream::inline v0
