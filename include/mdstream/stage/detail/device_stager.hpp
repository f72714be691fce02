#pragma once

/// The stagers of pinned and device memory, for any model of `device_api`. Programs use
/// stage/pinned.hpp and stage/cuda.hpp.

#include <mdstream/collate/detail/stage_block.hpp>
#include <mdstream/collate/execute.hpp>
#include <mdstream/core/detail/process.hpp>
#include <mdstream/stage/detail/copy_pool.hpp>
#include <mdstream/stage/detail/device_ring.hpp>
#include <mdstream/stage/stager.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace mdstream::inline v0::stage::detail {

/// A batch in a ring's buffer: in its device memory, or for `memory_kind::pinned` in its host
/// memory. Keeps the ring alive.
template <class Ring, memory_kind Kind>
class ring_slot {
 public:
  ring_slot() = default;
  ring_slot(std::shared_ptr<Ring> ring, typename Ring::buffer& memory) noexcept
      : ring_(std::move(ring)), memory_(&memory) {}
  ring_slot(ring_slot&& other) noexcept
      : ring_(std::move(other.ring_)), memory_(std::exchange(other.memory_, nullptr)) {}
  ring_slot& operator=(ring_slot&& other) noexcept {
    ring_slot taken(std::move(other));
    std::swap(ring_, taken.ring_);
    std::swap(memory_, taken.memory_);
    return *this;
  }
  ~ring_slot() {
    if (memory_ != nullptr) ring_->give_back(*memory_);
  }

  [[nodiscard]] const std::byte* data() const noexcept {
    if (memory_ == nullptr) return nullptr;
    return Kind == memory_kind::pinned ? memory_->host() : memory_->device();
  }
  /// Throws `errc::device_error`.
  void ready_on(stream_handle stream) {
    if (memory_ != nullptr) ring_->ready_on(*memory_, stream);
  }
  [[nodiscard]] memory_place place() const noexcept {
    return {Kind, memory_ == nullptr ? 0 : ring_->device()};
  }

 private:
  std::shared_ptr<Ring> ring_;
  typename Ring::buffer* memory_ = nullptr;
};

/// The memory of stagers that use none of a device.
struct no_device_memory {
  [[nodiscard]] static void* allocate(stream_handle, std::size_t, std::size_t) noexcept {
    return nullptr;
  }
  static void deallocate(stream_handle, void*, std::size_t, std::size_t) noexcept {}
};

/// Collates into pinned host memory that the device reads as well.
template <std::size_t Depth, device_api Api>
class basic_pinned {
  static_assert(Depth > 0, "mdstream: a ring has at least one buffer");
  using ring = detail::device_ring<Api, detail::no_device_memory>;

 public:
  static constexpr std::string_view name = "pinned";
  static constexpr std::size_t buffers = Depth;
  using slot = detail::ring_slot<ring, memory_kind::pinned>;

  /// `copies` is the number of threads that copy, see `copy_threads`.
  explicit basic_pinned(Api api, std::size_t copies = 0)
      : pool_(v0::detail::make_where_made<copy_pool>(copy_threads(copies, api.devices()))),
        ring_(std::make_shared<ring>(std::move(api), detail::no_device_memory{}, Depth)) {}

  [[nodiscard]] slot stage(const collate::collate_plan& plan) {
    slot out(ring_, ring_->take(plan.slab_bytes, 0));
    collate::execute(plan, const_cast<std::byte*>(out.data()), *pool_);
    return out;
  }

 private:
  v0::detail::unique_where_made<copy_pool> pool_;
  std::shared_ptr<ring> ring_;
};

/// Collates into pinned memory and copies that to the device.
template <std::size_t Depth, device_memory Memory, device_api Api>
class basic_device {
  static_assert(Depth > 0, "mdstream: a ring has at least one buffer");
  using ring = detail::device_ring<Api, Memory>;

 public:
  static constexpr std::string_view name = "cuda";
  static constexpr std::size_t buffers = Depth;
  using slot = detail::ring_slot<ring, memory_kind::device>;

  /// `copies` is the number of threads that copy, see `copy_threads`.
  basic_device(Api api, Memory memory, std::size_t copies = 0)
      : pool_(v0::detail::make_where_made<copy_pool>(copy_threads(copies, api.devices()))),
        ring_(std::make_shared<ring>(std::move(api), std::move(memory), Depth)) {}

  [[nodiscard]] slot stage(const collate::collate_plan& plan) {
    // An empty batch has an address as well.
    auto& memory = ring_->take(plan.slab_bytes, std::max<std::uint64_t>(plan.slab_bytes, 1));
    slot out(ring_, memory);
    collate::execute(plan, memory.host(), *pool_);
    ring_->upload(memory, plan.slab_bytes);
    ring_->filled(memory);
    return out;
  }

 protected:
  [[nodiscard]] const std::shared_ptr<ring>& held() const noexcept { return ring_; }
  [[nodiscard]] copy_pool& pool() noexcept { return *pool_; }

 private:
  v0::detail::unique_where_made<copy_pool> pool_;
  std::shared_ptr<ring> ring_;
};

/// Copies the samples as they are to the device and collates there. `Kernels::collate(plan,
/// stream)` launches that and returns an `Api::status`.
template <std::size_t Depth, device_memory Memory, device_api Api, class Kernels>
class basic_device_collated : public basic_device<Depth, Memory, Api> {
  using base = basic_device<Depth, Memory, Api>;

 public:
  static constexpr std::string_view name = "cuda_collated";
  using base::base;
  using typename base::slot;

  [[nodiscard]] slot stage(const collate::collate_plan& plan) {
    if (is_copy_of_samples(plan)) return base::stage(plan);
    const collate::detail::staged_block block(plan);
    const auto& own = this->held();
    auto& memory = own->take(block.block_bytes(), block.device_bytes());
    slot out(own, memory);
    const collate::detail::staged_plan staged =
        block.write(memory.host(), memory.device(), this->pool());
    own->upload(memory, block.block_bytes(), block.block_at());
    own->enqueue(memory, "cannot collate on the device",
                 [&staged](stream_handle stream) { return Kernels::collate(staged, stream); });
    own->filled(memory);
    return out;
  }

 private:
  /// Samples of one column of a fixed size, and those that are wanted as they are, are the batch
  /// already.
  [[nodiscard]] static bool is_copy_of_samples(const collate::collate_plan& plan) noexcept {
    const bool as_they_are =
        plan.output_count != 0 && plan.outputs[0].kind == collate::output_kind::samples;
    return as_they_are || (plan.source_count == 1 && plan.variable_count == 0);
  }
};

}  // namespace mdstream::inline v0::stage::detail
