#pragma once

/// MDSTREAM_HOST_DEVICE marks what kernels may call: nothing to a host compiler, both attributes to
/// a CUDA compiler.

#if defined(__CUDACC__)
#define MDSTREAM_HOST_DEVICE __host__ __device__
#else
#define MDSTREAM_HOST_DEVICE
#endif
