#pragma once

/// Buckets that grow one after the other and are emptied as a whole, from memory that they hand to
/// each other.

#include <mdstream/core/detail/pages.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// A power of two of buckets of `T`, addressed modulo their number. Memory: what lies in them, in
/// blocks of 8 KiB, plus half a block for each bucket in use; it goes back to the kernel when this
/// ends.
template <class T>
  requires std::is_trivially_copyable_v<T>
class bucket_pool {
 public:
  explicit bucket_pool(std::size_t buckets) : next_(buckets), blocks_(buckets) {}

  void push(std::uint64_t bucket, const T& value) {
    const std::size_t i = index(bucket);
    // Blocks are aligned to their size, so a full one is known by its end; so is a bucket with
    // none.
    if (reinterpret_cast<std::uintptr_t>(next_[i]) % block_bytes == 0) add_block(i);
    *next_[i]++ = value;
  }

  /// Calls `use(begin, end)` for the bucket's values, a run at a time, as they were pushed.
  template <class Use>
  void for_each_run(std::uint64_t bucket, Use use) const {
    const std::size_t i = index(bucket);
    for (const block* b = blocks_[i].first; b != nullptr; b = b->following)
      use(static_cast<const T*>(b->items),
          b == blocks_[i].last ? static_cast<const T*>(next_[i]) : b->items + block::capacity);
  }

  void clear(std::uint64_t bucket) noexcept {
    const std::size_t i = index(bucket);
    if (chain& c = blocks_[i]; c.first != nullptr) {
      c.last->following = free_;
      free_ = c.first;
      c = {};
    }
    next_[i] = nullptr;
  }

  void clear() noexcept {
    for (std::size_t i = 0; i < next_.size(); ++i) clear(i);
  }

 private:
  static constexpr std::size_t block_bytes = 8192;
  /// The values fill the block up to its end.
  struct alignas(block_bytes) block {
    static constexpr std::size_t capacity = block_bytes / sizeof(T) - 1;
    block* following;
    alignas(sizeof(T)) T items[capacity];
  };
  static_assert(sizeof(block) == block_bytes && sizeof(block*) <= sizeof(T) &&
                block_bytes % sizeof(T) == 0);

  struct chain {
    block* first = nullptr;
    block* last = nullptr;
  };

  [[nodiscard]] std::size_t index(std::uint64_t bucket) const noexcept {
    return bucket & (next_.size() - 1);
  }

  void add_block(std::size_t i) {
    block* const b = free_ != nullptr ? std::exchange(free_, free_->following) : new_block();
    b->following = nullptr;
    chain& c = blocks_[i];
    (c.first == nullptr ? c.first : c.last->following) = b;
    c.last = b;
    next_[i] = b->items;
  }

  [[nodiscard]] block* new_block() {
    if (fresh_ == 0) {
      owned_.emplace_back((chunk_blocks + 1) * block_bytes);  // one more, to align them
      const auto begin = reinterpret_cast<std::uintptr_t>(owned_.back().data());
      next_fresh_ = owned_.back().data() + (block_bytes - begin % block_bytes) % block_bytes;
      fresh_ = chunk_blocks;
    }
    --fresh_;
    return ::new (std::exchange(next_fresh_, next_fresh_ + block_bytes)) block;
  }

  static constexpr std::size_t chunk_blocks = 127;  // a MiB with the one more

  std::vector<T*> next_;  ///< where each bucket's next value goes
  std::vector<chain> blocks_;
  std::vector<pages> owned_{};
  std::byte* next_fresh_ = nullptr;  ///< in the last of them
  std::size_t fresh_ = 0;            ///< blocks from there on
  block* free_ = nullptr;
};

}  // namespace mdstream::inline v0::detail
