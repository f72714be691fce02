#pragma once

/// The CUDA runtime as device stagers use it. For the host's compiler; needs mdstream::cuda.

#if !__has_include(<cuda_runtime_api.h>)
#error \
    "mdstream: <mdstream/stage/detail/cuda/runtime.hpp> needs the CUDA toolkit: link mdstream::cuda"
#endif

#include <mdstream/core/error.hpp>
#include <mdstream/stage/detail/device_api.hpp>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace mdstream::inline v0::stage::detail {

/// Use of the device that is current for the thread which makes the stager.
inline constexpr int current_device = -1;

/// "cudaErrorMemoryAllocation: out of memory"
[[nodiscard]] inline std::string describe_cuda(cudaError_t status) {
  return std::string(cudaGetErrorName(status)) + ": " + cudaGetErrorString(status);
}

/// The few calls of the driver that the runtime has no form of: `cudaSetDevice` makes a context on
/// the device that it switches back to. Found through the runtime, so that no program links libcuda
/// and runs only where a driver is.
struct driver_calls {
  CUresult (*retain)(CUcontext*, CUdevice) = nullptr;
  CUresult (*release)(CUdevice) = nullptr;
  CUresult (*push)(CUcontext) = nullptr;
  CUresult (*pop)(CUcontext*) = nullptr;
  CUresult (*context_of)(CUstream, CUcontext*) = nullptr;

  [[nodiscard]] static cudaError_t find(driver_calls& out) noexcept {
    if (const cudaError_t status = find("cuDevicePrimaryCtxRetain", out.retain)) return status;
    if (const cudaError_t status = find("cuDevicePrimaryCtxRelease", out.release)) return status;
    if (const cudaError_t status = find("cuCtxPushCurrent", out.push)) return status;
    if (const cudaError_t status = find("cuCtxPopCurrent", out.pop)) return status;
    return find("cuStreamGetCtx", out.context_of);
  }

 private:
  template <class Function>
  [[nodiscard]] static cudaError_t find(const char* name, Function& out) noexcept {
    void* address = nullptr;
    cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
    const cudaError_t status =
        cudaGetDriverEntryPointByVersion(name, &address, 12000, cudaEnableDefault, &found);
#else
    const cudaError_t status = cudaGetDriverEntryPoint(name, &address, cudaEnableDefault, &found);
#endif
    if (status != cudaSuccess) return status;
    if (found != cudaDriverEntryPointSuccess) return cudaErrorSymbolNotFound;
    out = reinterpret_cast<Function>(address);
    return cudaSuccess;
  }
};

/// A model of `device_api`. Movable; holds the device's primary context, which it shares with all
/// of the program's own calls.
class cuda_runtime {
 public:
  using status = cudaError_t;
  using event = cudaEvent_t;
  using scope = cudaStreamCaptureMode;  ///< the thread's own, while it works for this device

  /// Throws `errc::device_error` where there is no driver, no device, or none of that number.
  explicit cuda_runtime(int device = current_device) {
    int devices = 0;
    check(cudaGetDeviceCount(&devices), "no CUDA device can be used");
    if (device == current_device) check(cudaGetDevice(&device), "no CUDA device can be used");
    if (device < 0 || device >= devices)
      throw error(errc::device_error, "there is no CUDA device " + std::to_string(device) +
                                          ", of " + std::to_string(devices));
    check(detail::driver_calls::find(driver_), "the CUDA driver is too old");
    CUcontext context = nullptr;
    check(from_driver(driver_.retain(&context, device)), "cannot use the CUDA device");
    devices_ = devices;
    device_ = device;
    context_ = context;
  }
  cuda_runtime(cuda_runtime&& other) noexcept
      : driver_(other.driver_),
        devices_(other.devices_),
        device_(other.device_),
        context_(other.context_) {
    other.context_ = nullptr;
  }
  cuda_runtime& operator=(cuda_runtime&& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(devices_, other.devices_);
    std::swap(device_, other.device_);
    std::swap(context_, other.context_);
    return *this;
  }
  ~cuda_runtime() {
    if (context_ != nullptr) driver_.release(device_);
  }

  [[nodiscard]] int device() const noexcept { return device_; }
  /// That the process sees.
  [[nodiscard]] int devices() const noexcept { return devices_; }

  /// A thread that captures a graph in the usual mode, the global one, forbids all threads to wait
  /// or to allocate; threads of the relaxed mode may, and leave its graph alone.
  [[nodiscard]] status enter(scope& before) noexcept {
    if (const status outcome = from_driver(driver_.push(context_))) return outcome;
    before = cudaStreamCaptureModeRelaxed;
    const status outcome = seen(cudaThreadExchangeStreamCaptureMode(&before));
    if (outcome != cudaSuccess) pop();
    return outcome;
  }
  void leave(scope before) noexcept {
    seen(cudaThreadExchangeStreamCaptureMode(&before));
    pop();
  }
  [[nodiscard]] status owns(stream_handle stream, bool& answer) const noexcept {
    if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread) {
      int current = current_device;
      const status outcome = seen(cudaGetDevice(&current));
      answer = current == device_;
      return outcome;
    }
    CUcontext of_stream = nullptr;
    const status outcome = from_driver(driver_.context_of(stream, &of_stream));
    answer = of_stream == context_;
    return outcome;
  }

  [[nodiscard]] status make_stream(stream_handle& out) noexcept {
    return seen(cudaStreamCreateWithFlags(&out, cudaStreamNonBlocking));
  }
  void free_stream(stream_handle stream) noexcept { seen(cudaStreamDestroy(stream)); }
  [[nodiscard]] status make_event(event& out) noexcept {
    return seen(cudaEventCreateWithFlags(&out, cudaEventDisableTiming));
  }
  void free_event(event one) noexcept { seen(cudaEventDestroy(one)); }
  [[nodiscard]] status record(event one, stream_handle stream) noexcept {
    return seen(cudaEventRecord(one, stream));
  }
  [[nodiscard]] status hold(stream_handle stream, event one) noexcept {
    return seen(cudaStreamWaitEvent(stream, one, 0));
  }
  [[nodiscard]] status await(event one) noexcept { return seen(cudaEventSynchronize(one)); }
  [[nodiscard]] status await(stream_handle stream) noexcept {
    return seen(cudaStreamSynchronize(stream));
  }
  [[nodiscard]] status make_pinned(std::byte*& out, std::uint64_t bytes) noexcept {
    void* memory = nullptr;
    const status outcome = seen(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable));
    out = static_cast<std::byte*>(memory);
    return outcome;
  }
  void free_pinned(std::byte* memory) noexcept { seen(cudaFreeHost(memory)); }
  [[nodiscard]] status upload(std::byte* to, const std::byte* from, std::uint64_t bytes,
                              stream_handle stream) noexcept {
    return seen(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream));
  }
  [[nodiscard]] status download(std::byte* to, const std::byte* from, std::uint64_t bytes,
                                stream_handle stream) noexcept {
    return seen(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream));
  }
  [[nodiscard]] std::string describe(status outcome) const {
    return detail::describe_cuda(outcome);
  }

 private:
  void pop() noexcept {
    CUcontext gone = nullptr;
    driver_.pop(&gone);
  }
  static void check(cudaError_t outcome, const char* what) {
    if (outcome == cudaSuccess) return;
    seen(outcome);
    throw error(errc::device_error,
                diagnostics{.what = what, .cause = detail::describe_cuda(outcome)});
  }
  /// What was reported here is not reported once more by the program's next call.
  static status seen(status outcome) noexcept {
    if (outcome != cudaSuccess) static_cast<void>(cudaGetLastError());
    return outcome;
  }
  /// The driver's and the runtime's codes agree for what these calls give.
  [[nodiscard]] static status from_driver(CUresult outcome) noexcept {
    return static_cast<status>(outcome);
  }

  detail::driver_calls driver_{};
  int devices_ = 0;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
};

static_assert(device_api<cuda_runtime>);

/// Memory of the device's default pool (`cudaMallocAsync`), which it gives back to.
struct cuda_memory {
  /// Throws `errc::device_error` with CUDA's name of the failure.
  [[nodiscard]] static void* allocate(stream_handle stream, std::size_t bytes, std::size_t) {
    void* memory = nullptr;
    const cudaError_t outcome = cudaMallocAsync(&memory, bytes, stream);
    if (outcome == cudaSuccess) return memory;
    static_cast<void>(cudaGetLastError());
    throw error(errc::device_error, detail::describe_cuda(outcome));
  }
  static void deallocate(stream_handle stream, void* memory, std::size_t, std::size_t) noexcept {
    if (cudaFreeAsync(memory, stream) != cudaSuccess) static_cast<void>(cudaGetLastError());
  }
};

static_assert(device_memory<cuda_memory>);

}  // namespace mdstream::inline v0::stage::detail
