#pragma once

/// Batches in pinned host memory: for programs that copy to the device themselves, or whose kernels
/// read host memory. For the host's compiler; needs mdstream::cuda.

#include <mdstream/stage/detail/cuda/runtime.hpp>
#include <mdstream/stage/detail/device_stager.hpp>

namespace mdstream::inline v0::stage {

/// At least `Depth` buffers of page-locked memory. `batch.ready_on(stream)` before work on `stream`
/// that reads a batch: its buffer is written again only when that work is done, for which the next
/// batch waits where buffers are few. Samples are copied past the processor's caches. A program
/// that reads batches on the host alone needs no `ready_on`, and is better off with `stage::host`.
///
/// Uses the device that is current when the loader is made; another one:
///
///     struct my_stager : mds::stage::pinned<> {
///       my_stager() : pinned({.device = 3}) {}
///     };
template <std::size_t Depth = 3>
class pinned : public detail::basic_pinned<Depth, detail::cuda_runtime> {
 public:
  struct options {
    int device = detail::current_device;  ///< its number
    std::size_t copy_threads = 0;         ///< as in `stage::cuda::options`
  };
  /// Throws `errc::device_error` where there is no such device.
  pinned() : pinned(options{}) {}
  explicit pinned(const options& given)
      : detail::basic_pinned<Depth, detail::cuda_runtime>(detail::cuda_runtime(given.device),
                                                          given.copy_threads) {}
};

static_assert(stager<pinned<>>);

}  // namespace mdstream::inline v0::stage
