#pragma once

/// Batches that are collated on the device. For the host's compiler; needs mdstream::cuda, and
/// `mdstream_add_kernels(target)` in the program's CMake.

#include <mdstream/stage/cuda.hpp>
#include <mdstream/stage/detail/kernels.hpp>

namespace mdstream::inline v0::stage {

namespace detail {

struct linked_kernels {
  [[nodiscard]] static cudaError_t collate(const collate::detail::staged_plan& plan,
                                           stream_handle stream) noexcept {
    return static_cast<cudaError_t>(device_kernels().collate(plan, stream));
  }
};

}  // namespace detail

/// As `stage::cuda`, but the host copies only raw samples, whole runs at a time where they lie one
/// after another, and the device parses their headers, pads, packs and transposes. The same bytes.
/// For batches of several or variable columns whose collation the host has no time for; padding is
/// not sent over the bus.
template <std::size_t Depth = 3, detail::device_memory Memory = detail::cuda_memory>
class cuda_collated : public detail::basic_device_collated<Depth, Memory, detail::cuda_runtime,
                                                           detail::linked_kernels> {
  using base =
      detail::basic_device_collated<Depth, Memory, detail::cuda_runtime, detail::linked_kernels>;

 public:
  using options = typename cuda<Depth, Memory>::options;
  /// Throws `errc::device_error` where there is no such device.
  cuda_collated()
    requires std::default_initializable<Memory>
      : cuda_collated(options{}) {}
  explicit cuda_collated(options given)
      : base(detail::cuda_runtime(given.device), std::move(given.memory), given.copy_threads) {}
};

static_assert(stager<cuda_collated<>>);

}  // namespace mdstream::inline v0::stage
