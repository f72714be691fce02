#pragma once

/// A counted reference to a mapped shard, and the slot that it counts in.

#include <mdstream/cache/detail/mapping.hpp>
#include <mdstream/cache/detail/read_soon.hpp>
#include <mdstream/core/bytes.hpp>
#include <mdstream/store/detail/file.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace mdstream::inline v0::detail {

class slot_table;

/// The number of references is the low half of `state` plus the counters of all threads, modulo
/// 2^32; the flags are above. A slot without `mapped` has no references. The thread that maps or
/// unmaps it holds the table's lock.
struct alignas(64) shard_slot {
  static constexpr std::uint64_t mapped = std::uint64_t{1} << 63;
  static constexpr std::uint64_t used = std::uint64_t{1} << 62;      // since the last sweep
  static constexpr std::uint64_t orphaned = std::uint64_t{1} << 61;  // the table's owner is gone
  static constexpr std::uint64_t spare = std::uint64_t{1} << 59;     // the half may go below zero

  std::atomic<std::uint64_t> state{spare};
  const std::byte* base = nullptr;
  std::size_t size = 0;
  std::atomic<const std::byte*> landmark{nullptr};  // see shard_ref::landmark
  slot_table* table = nullptr;
  std::uint32_t number = 0;
  std::atomic<bool> randomly{false};  // as the kernel was told; see shard_ref::read_randomly

  std::uint64_t mapped_at = 0;  // on the table's count of mappings
  unique_fd pin;  // holds a shared lock on the shard's lock file while the slot is mapped

  [[nodiscard]] bool is_mapped() const noexcept {
    return (state.load(std::memory_order_relaxed) & mapped) != 0;
  }

  /// Takes a reference, counted in the shared half, if the shard is mapped.
  [[nodiscard]] bool enter_shared() noexcept {
    std::uint64_t seen = state.load(std::memory_order_relaxed);
    while ((seen & mapped) != 0) {
      if (state.compare_exchange_weak(seen, (seen + 1) | used, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  // In the shared half and never in a thread's counter: while a slot is being unmapped, the
  // counters may only fall (see slot_table::references).
  void enter_again() noexcept { state.fetch_add(1, std::memory_order_relaxed); }

  void leave() noexcept;
};

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

  /// The place in this mapping that `find()` returned, which is called the first time, from any
  /// thread; two may both be the first. What it throws is thrown each time.
  template <class Find>
  [[nodiscard]] const std::byte* landmark(const Find& find) const {
    const std::byte* known = slot_->landmark.load(std::memory_order_relaxed);
    if (known == nullptr) [[unlikely]] {
      known = find();
      slot_->landmark.store(known, std::memory_order_relaxed);
    }
    return known;
  }

  /// As the function of this name, for the mapping, where the kernel was told otherwise last.
  void read_randomly(bool randomly) const noexcept {
    if (slot_->randomly.load(std::memory_order_relaxed) == randomly) return;
    slot_->randomly.store(randomly, std::memory_order_relaxed);
    detail::read_randomly(bytes(), randomly);
  }

  [[nodiscard]] explicit operator bool() const noexcept { return slot_ != nullptr; }

 private:
  friend class slot_table;
  explicit shard_ref(detail::shard_slot* slot) noexcept : slot_(slot) {}  // adopts a reference

  detail::shard_slot* slot_ = nullptr;
};

}  // namespace mdstream::inline v0::detail

#include <mdstream/cache/detail/slots.hpp>  // defines what is declared here: a release of a shard calls it inline
