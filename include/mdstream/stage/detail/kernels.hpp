#pragma once

/// The kernels as host code sees them: plain functions, compiled by nvcc in one file of the
/// program.

#include <mdstream/collate/detail/staged_plan.hpp>
#include <mdstream/stage/stager.hpp>

namespace mdstream::inline v0::stage::detail {

/// Functions that launch kernels on a stream and return a cudaError_t, 0 for success.
struct kernel_table {
  int (*collate)(const collate::detail::staged_plan&, stream_handle) noexcept = nullptr;
};

/// Defined by the file that `mdstream_add_kernels(target)` adds to a target; by hand, any .cu that
/// includes <mdstream/cuda/kernels_unit.cuh>.
[[nodiscard]] const kernel_table& device_kernels() noexcept;

}  // namespace mdstream::inline v0::stage::detail
