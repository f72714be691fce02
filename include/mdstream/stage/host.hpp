#pragma once

/// Batches in ordinary host memory.

#include <mdstream/collate/execute.hpp>
#include <mdstream/stage/stager.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace mdstream::inline v0::stage {

namespace detail {

/// Aligned memory that knows its size.
class slab {
 public:
  slab() = default;
  explicit slab(std::uint64_t bytes)
      : bytes_(bytes),
        memory_(
            static_cast<std::byte*>(::operator new(bytes, std::align_val_t{collate::alignment}))) {}

  [[nodiscard]] std::byte* data() const noexcept { return memory_.get(); }
  [[nodiscard]] std::uint64_t size() const noexcept { return bytes_; }

 private:
  struct release {
    void operator()(std::byte* memory) const noexcept {
      ::operator delete(memory, std::align_val_t{collate::alignment});
    }
  };
  std::uint64_t bytes_ = 0;
  std::unique_ptr<std::byte, release> memory_;
};

/// Slabs that were given back. Thread-safe: a batch may be dropped on any thread.
class slab_pool {
 public:
  [[nodiscard]] slab take(std::uint64_t bytes) {
    {
      const std::scoped_lock lock(mutex_);
      while (!free_.empty()) {
        slab found = std::move(free_.back());
        free_.pop_back();
        if (found.size() >= bytes) return found;  // a smaller one would never fit again: let it go
      }
    }
    // Some room, so that batches of samples of varying length settle on one size.
    return slab(collate::align_up(bytes + bytes / 8 + 1));
  }

  void give_back(slab memory) noexcept {
    const std::scoped_lock lock(mutex_);
    if (free_.size() < kept) free_.push_back(std::move(memory));
  }

 private:
  static constexpr std::size_t kept = 4;
  std::mutex mutex_;
  std::vector<slab> free_ = [] {
    std::vector<slab> list;
    list.reserve(kept);  // giving back must not throw
    return list;
  }();
};

}  // namespace detail

/// Collates into host memory that is reused from batch to batch. `ready_on` has nothing to wait
/// for.
///
///     using policies = mds::policies<rows, mds::stage::host>;  // the default
class host {
 public:
  static constexpr std::string_view name = "host";

  class slot {
   public:
    slot() = default;
    slot(detail::slab memory, std::shared_ptr<detail::slab_pool> pool) noexcept
        : memory_(std::move(memory)), pool_(std::move(pool)) {}
    slot(slot&& other) noexcept = default;
    slot& operator=(slot&& other) noexcept {
      slot(std::move(other)).swap(*this);
      return *this;
    }
    ~slot() {
      if (pool_) pool_->give_back(std::move(memory_));
    }

    [[nodiscard]] const std::byte* data() const noexcept { return memory_.data(); }
    void ready_on(stream_handle) noexcept {}

   private:
    void swap(slot& other) noexcept {
      std::swap(memory_, other.memory_);
      std::swap(pool_, other.pool_);
    }

    detail::slab memory_;
    std::shared_ptr<detail::slab_pool> pool_;
  };

  [[nodiscard]] slot stage(const collate::collate_plan& plan) {
    detail::slab memory = pool_->take(plan.slab_bytes);
    collate::execute(plan, memory.data());
    return {std::move(memory), pool_};
  }

 private:
  std::shared_ptr<detail::slab_pool> pool_ = std::make_shared<detail::slab_pool>();
};

static_assert(stager<host>);

}  // namespace mdstream::inline v0::stage
