#pragma once

/// How kernels are started: on a stream with CUDA, at once with Thrust's systems for processors.
/// The only header of this room that includes Thrust. Compile a file with CPP, OMP or TBB
/// (THRUST_DEVICE_SYSTEM) as ordinary C++, one with CUDA with nvcc, and do not mix two versions of
/// Thrust in one program.

#include <mdstream/core/detail/host_device.hpp>
#include <mdstream/stage/stager.hpp>

#include <thrust/execution_policy.h>
#include <thrust/for_each.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/scan.h>

#if THRUST_DEVICE_SYSTEM == THRUST_DEVICE_SYSTEM_CUDA
#include <thrust/system/cuda/error.h>
#include <thrust/system/cuda/execution_policy.h>
#include <thrust/system_error.h>

#include <cuda_runtime_api.h>
#else
#include <atomic>
#include <cstring>
#endif

#include <cstddef>
#include <cstdint>
#include <new>

namespace mdstream::inline v0::kernels {

#if THRUST_DEVICE_SYSTEM == THRUST_DEVICE_SYSTEM_CUDA
inline constexpr bool on_device = true;
#else
inline constexpr bool on_device = false;
#endif

/// Memory that algorithms borrow. They give all of it back before they return, in the order of
/// their stream: the next one on the same stream may use it at once.
class scratch_memory {
 public:
  using value_type = char;

  scratch_memory(std::byte* memory, std::uint64_t bytes) noexcept
      : memory_(reinterpret_cast<char*>(memory)), bytes_(bytes) {}

  /// Throws `std::bad_alloc` when there is too little.
  [[nodiscard]] char* allocate(std::ptrdiff_t bytes) {
    const auto wanted = (static_cast<std::uint64_t>(bytes) + 255) / 256 * 256;
    if (wanted > bytes_ - used_) throw std::bad_alloc();
    char* const out = memory_ + used_;
    used_ += wanted;
    return out;
  }
  void deallocate(char*, std::size_t) noexcept {}

 private:
  char* memory_;
  std::uint64_t bytes_;
  std::uint64_t used_ = 0;
};

/// Calls `work(i)` for 0 … count - 1 in any order. Waits for nothing on a device.
template <class Work>
void for_each_index([[maybe_unused]] stage::stream_handle stream, std::uint64_t count,
                    const Work& work) {
  if (count == 0) return;
  const auto numbers = thrust::make_counting_iterator(std::int64_t{0});
#if THRUST_DEVICE_SYSTEM == THRUST_DEVICE_SYSTEM_CUDA
  thrust::for_each_n(thrust::cuda::par_nosync.on(stream), numbers, count, work);
#else
  thrust::for_each_n(thrust::device, numbers, count, work);
#endif
}

/// Replaces each of `count` numbers by the sum of all up to it.
template <class Number>
void sum_up([[maybe_unused]] stage::stream_handle stream, [[maybe_unused]] scratch_memory scratch,
            Number* numbers, std::uint64_t count) {
#if THRUST_DEVICE_SYSTEM == THRUST_DEVICE_SYSTEM_CUDA
  thrust::inclusive_scan(thrust::cuda::par_nosync(scratch).on(stream), numbers, numbers + count,
                         numbers);
#else
  thrust::inclusive_scan(thrust::device, numbers, numbers + count, numbers);
#endif
}

/// Copies within the memory that kernels work on.
inline void copy_bytes([[maybe_unused]] stage::stream_handle stream, std::byte* to,
                       const std::byte* from, std::uint64_t bytes) {
  if (bytes == 0) return;
#if THRUST_DEVICE_SYSTEM == THRUST_DEVICE_SYSTEM_CUDA
  const cudaError_t outcome = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
  if (outcome != cudaSuccess)
    throw thrust::system_error(static_cast<int>(outcome), thrust::cuda_category(), "copy");
#else
  std::memcpy(to, from, bytes);
#endif
}

/// Keeps the smallest number that any thread gives.
MDSTREAM_HOST_DEVICE inline void keep_smallest(std::uint64_t* kept, std::uint64_t number) noexcept {
#if defined(__CUDA_ARCH__)
  static_assert(sizeof(unsigned long long) == sizeof number);
  atomicMin(reinterpret_cast<unsigned long long*>(kept), number);
#elif THRUST_DEVICE_SYSTEM != THRUST_DEVICE_SYSTEM_CUDA
  const std::atomic_ref<std::uint64_t> shared(*kept);
  std::uint64_t before = shared.load(std::memory_order_relaxed);
  while (number < before &&
         !shared.compare_exchange_weak(before, number, std::memory_order_relaxed)) {
  }
#else
  if (number < *kept) *kept = number;  // nvcc's host pass: never run
#endif
}

}  // namespace mdstream::inline v0::kernels
