#pragma once

/// Defines `stage::detail::device_kernels`: included by exactly one .cu of a program, which
/// `mdstream_add_kernels(target)` makes.

#include <mdstream/cuda/collate.cuh>
#include <mdstream/stage/detail/kernels.hpp>

#include <thrust/system_error.h>

#include <new>

namespace mdstream::inline v0::stage::detail {

/// CUDA's code of what `launch` throws.
template <class Launch>
[[nodiscard]] int status_of(const Launch& launch) noexcept {
  constexpr int out_of_memory = 2, unknown = 999;  // cudaErrorMemoryAllocation, cudaErrorUnknown
  try {
    launch();
    return 0;
  } catch (const thrust::system_error& e) {
    return e.code().value();
  } catch (const std::bad_alloc&) {
    return out_of_memory;
  } catch (...) {
    return unknown;
  }
}

[[nodiscard]] inline int launch_collate(const collate::detail::staged_plan& plan,
                                        stream_handle stream) noexcept {
  return status_of([&plan, stream] { kernels::collate_staged(plan, stream); });
}

const kernel_table& device_kernels() noexcept {
  static constexpr kernel_table table{.collate = &launch_collate};
  return table;
}

}  // namespace mdstream::inline v0::stage::detail
