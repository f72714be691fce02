#pragma once

// Products of row-major matrices: cuBLAS on a device, plain loops where the same training step runs
// on a processor, for its test.

#include <mdstream/cuda/execution.cuh>

#include <cstdint>

#if THRUST_DEVICE_SYSTEM == THRUST_DEVICE_SYSTEM_CUDA
#include <cublas_v2.h>

#include <stdexcept>
#include <string>
#endif

namespace cuda_quickstart {

using mdstream::stage::stream_handle;

enum class form { as_is, transposed };

#if THRUST_DEVICE_SYSTEM == THRUST_DEVICE_SYSTEM_CUDA

class products {
 public:
  explicit products(stream_handle stream) {
    check(cublasCreate(&handle_), "cublasCreate");
    check(cublasSetStream(handle_, stream), "cublasSetStream");
  }
  products(const products&) = delete;
  products& operator=(const products&) = delete;
  ~products() { cublasDestroy(handle_); }

  /// out[m][n] = a[m][k] * b[k][n] + keep * out, where a and b lie as `a_form` and `b_form` say.
  void multiply(form a_form, form b_form, int m, int n, int k, const float* a, const float* b,
                float keep, float* out) {
    // cuBLAS counts by columns: it sees every matrix transposed, so the factors change places.
    const float one = 1;
    check(
        cublasSgemm(handle_, operation(b_form), operation(a_form), n, m, k, &one, b,
                    b_form == form::as_is ? n : k, a, a_form == form::as_is ? k : m, &keep, out, n),
        "cublasSgemm");
  }

 private:
  static cublasOperation_t operation(form f) {
    return f == form::as_is ? CUBLAS_OP_N : CUBLAS_OP_T;
  }
  static void check(cublasStatus_t status, const char* what) {
    if (status != CUBLAS_STATUS_SUCCESS)
      throw std::runtime_error(std::string(what) + " failed: " + cublasGetStatusString(status));
  }

  cublasHandle_t handle_ = nullptr;
};

#else

class products {
 public:
  explicit products(stream_handle) {}

  void multiply(form a_form, form b_form, int m, int n, int k, const float* a, const float* b,
                float keep, float* out) {
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        float sum = 0;
        for (int x = 0; x < k; ++x)
          sum += a[a_form == form::as_is ? i * k + x : x * m + i] *
                 b[b_form == form::as_is ? x * n + j : j * k + x];
        out[i * n + j] = sum + (keep == 0 ? 0 : keep * out[i * n + j]);
      }
  }
};

#endif

}  // namespace cuda_quickstart
