#pragma once

/// Checkpoints of tensors on a CUDA device. For the host's compiler; needs mdstream::cuda.

#include <mdstream/stage/detail/cuda/runtime.hpp>
#include <mdstream/stage/device_copies.hpp>

namespace mdstream::inline v0::stage {

/// Copies from and to a CUDA device, for `saver_options::device`: the one that is current for the
/// calling thread, or the one of that number. Throws `errc::device_error` where there is none.
///
///     mds::checkpoint_saver saver({.run = run, .device = mds::stage::cuda_copies()});
[[nodiscard]] inline device_copies cuda_copies(int device = detail::current_device) {
  return detail::cuda_runtime(device);
}

}  // namespace mdstream::inline v0::stage
