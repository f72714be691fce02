#pragma once

/// MDSTREAM_HOST_DEVICE marks what kernels may call: nothing to a host compiler, both attributes to
/// a CUDA compiler.

#if defined(__CUDACC__)
#define MDSTREAM_HOST_DEVICE __host__ __device__
#else
#define MDSTREAM_HOST_DEVICE
#endif

/// Before a loop of a kernel that seldom runs: its code is not multiplied, which leaves more of the
/// instruction cache to what runs often.
#if defined(__CUDA_ARCH__)
#define MDSTREAM_ROLLED _Pragma("unroll 1")
#else
#define MDSTREAM_ROLLED
#endif
