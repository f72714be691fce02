#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

/// Memory of the device, which holds no zeros: those may move faster.
class device_memory {
 public:
  explicit device_memory(std::uint64_t bytes) {
    cudaMalloc(&data_, bytes);
    cudaMemset(data_, 1, bytes);
  }
  device_memory(const device_memory&) = delete;
  device_memory& operator=(const device_memory&) = delete;
  ~device_memory() { cudaFree(data_); }
  template <class T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
};
