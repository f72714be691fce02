#pragma once

// Batches from host memory to the device, by the stagers; compiled by the host's compiler.
void staging_cases();
// Kernels over device memory; compiled by nvcc.
void kernel_cases();
