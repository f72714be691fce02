#pragma once

/// Batches in device memory. For the host's compiler; link mdstream::cuda.

#include <mdstream/stage/detail/cuda/runtime.hpp>
#include <mdstream/stage/detail/device_stager.hpp>

namespace mdstream::inline v0::stage {

/// Collates into a ring of at least `Depth` pinned buffers, and copies each batch to the device on
/// a stream of its own. Only streams wait: `batch.ready_on(stream)` makes the trainer's stream wait
/// for the copy, and the copy into a buffer waits for the work that this stream held when the
/// buffer's last batch was destroyed. The host only waits if the copy of `Depth` batches ago is not
/// done.
///
/// A batch may be moved, dropped unread, and may outlive the loader. A loop that holds one batch at
/// a time sees `Depth` addresses in turn. They stay the same once batches no longer grow, so
/// captured CUDA graphs can read them. A program that holds more batches gets more buffers.
///
/// `Memory` allocates device memory: from the device's default pool, or a memory resource of the
/// program (`rmm::device_async_resource_ref` fits as it is).
///
/// Uses the device that is current when the loader is created. For another device or memory:
///
///     struct my_stager : mds::stage::cuda<3> {
///       my_stager() : cuda({.device = 1}) {}
///     };
template <std::size_t Depth = 3, detail::device_memory Memory = detail::cuda_memory>
class cuda : public detail::basic_device<Depth, Memory, detail::cuda_runtime> {
 public:
  struct options {
    int device = detail::current_device;  ///< its number
    Memory memory{};                      ///< default: the device's default pool
    /// Threads that copy samples into pinned memory, the calling one among them. 0: half of the
    /// processors that the process may use, shared among the devices it sees, and at most eight.
    std::size_t copy_threads = 0;
  };
  /// Throws `errc::device_error` if there is no such device.
  cuda()
    requires std::default_initializable<Memory>
      : cuda(options{}) {}
  explicit cuda(options given)
      : detail::basic_device<Depth, Memory, detail::cuda_runtime>(
            detail::cuda_runtime(given.device), std::move(given.memory), given.copy_threads) {}
};

static_assert(stager<cuda<>>);

}  // namespace mdstream::inline v0::stage
