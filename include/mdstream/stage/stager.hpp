#pragma once

/// The stager policy: builds batches in memory of its choice, and says when they may be read.

#include <mdstream/collate/plan.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

struct CUstream_st;  // what cudaStream_t points to; declared here so that no CUDA header is needed

namespace mdstream::inline v0::stage {

/// A CUDA stream, or null: the default stream, and the only value where there is no device.
using stream_handle = CUstream_st*;

/// The kind of memory of a batch.
enum class memory_kind : std::uint8_t {
  host,    ///< ordinary memory
  pinned,  ///< host memory that devices read and write as well
  device,  ///< a device's own memory: the host must not read it
};

/// The memory of a batch.
struct memory_place {
  memory_kind kind = memory_kind::host;
  int device = 0;  ///< CUDA's number of the device, for `pinned` that of its stager

  friend bool operator==(const memory_place&, const memory_place&) = default;
};

/// Owns the memory of one batch. Movable, not copyable. Its destructor returns the memory to the
/// stager, which it may outlive.
///
/// - `data()`: the slab, in the stager's memory.
/// - `ready_on(stream)`: later work on `stream` sees the whole batch. The memory is not reused
///   before the work that `stream` holds at the destruction of the slot is done. The host does not
///   wait. `stream` is of the stager's device, has to live until then, and captures no graph at
///   either time.
/// - `place()`, if the memory is not `memory_kind::host`.
template <class Slot>
concept slot = std::movable<Slot> && std::default_initializable<Slot> &&
               requires(Slot& s, const Slot& c, stream_handle stream) {
                 { c.data() } -> std::same_as<const std::byte*>;
                 s.ready_on(stream);
               };

/// The place of a slot's memory.
///
///     if (mds::stage::place_of(slot).kind != mds::stage::memory_kind::device) use(slot.data()[0]);
template <slot Slot>
[[nodiscard]] memory_place place_of(const Slot& from) noexcept {
  if constexpr (requires {
                  { from.place() } -> std::same_as<memory_place>;
                })
    return from.place();
  else
    return {};
}

/// Turns a collate plan into a slot that holds the batch.
///
/// - `Stager::name`: for messages.
/// - `stage(plan)`: executes the plan and returns its slot. Never waits until a batch is destroyed.
///   May wait until the device is done with one that was destroyed. The plan and the samples may be
///   destroyed when it returns. Called by one thread at a time, not always the same.
///
///     static_assert(mds::stage::stager<pages>);  // beside a stager of your own
template <class Stager>
concept stager = std::default_initializable<Stager> && std::movable<Stager> &&
                 requires(Stager& s, const collate::collate_plan& plan) {
                   typename Stager::slot;
                   requires slot<typename Stager::slot>;
                   { Stager::name } -> std::convertible_to<std::string_view>;
                   { s.stage(plan) } -> std::same_as<typename Stager::slot>;
                 };

/// How many prefetched batches there may be while the loop has one. A stager with a fixed number of
/// buffers has `static constexpr std::size_t buffers`.
template <stager Stager>
inline constexpr std::size_t prefetched_batches = [] {
  if constexpr (requires { Stager::buffers; })
    return Stager::buffers > 1 ? std::size_t{Stager::buffers} - 1 : std::size_t{1};
  else
    return std::numeric_limits<std::size_t>::max();
}();

}  // namespace mdstream::inline v0::stage
