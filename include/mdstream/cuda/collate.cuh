#pragma once

/// The device's executor of a collate plan: the twin of `collate::execute`, with equal bytes.

#include <mdstream/collate/staged_plan.hpp>
#include <mdstream/cuda/execution.cuh>
#include <mdstream/cuda/regions.cuh>
#include <mdstream/cuda/samples.cuh>
#include <mdstream/cuda/sink.cuh>

#include <cstdint>

namespace mdstream::inline v0::kernels {

/// Makes `Sink::bytes` of the slab, in whatever regions they are. Padding between columns is left
/// as it was.
template <class Sink>
class write_slab {
 public:
  explicit write_slab(const collate::staged_plan& plan) noexcept : plan_(plan) {}

  MDSTREAM_HOST_DEVICE void operator()(std::int64_t number) const noexcept {
    const std::uint64_t begin = static_cast<std::uint64_t>(number) * Sink::bytes;
    const std::uint64_t end = begin + Sink::bytes;
    for (std::uint32_t r = 0; r < plan_.region_count; ++r) {
      const collate::staged_region& region = plan_.regions[r];
      const std::uint64_t from = region.at < begin ? begin : region.at;
      const std::uint64_t to = region.at + region.bytes < end ? region.at + region.bytes : end;
      if (from >= to) continue;
      Sink sink(plan_.slab + from);
      region_maker<Sink>(plan_, region, from - region.at, to - region.at, sink).make();
      sink.finish(to - from);
    }
  }

 private:
  collate::staged_plan plan_;
};

/// Writes the batch that `plan` describes into its slab, on `stream`. Two kernels, and a scan for
/// each ragged column; one kernel where all columns have a fixed size. No allocation, no waiting.
/// Throws what Thrust throws where kernels can not be launched.
template <class Sink = default_sink>
void collate_staged(const collate::staged_plan& plan, stage::stream_handle stream = nullptr) {
  if (plan.begins != nullptr) for_each_index(stream, plan.sample_count + 1, index_samples(plan));
  for (std::uint32_t r = 0; r < plan.region_count; ++r) {
    const collate::staged_region& region = plan.host_regions[r];
    if (region.kind == collate::region_kind::ragged)
      sum_up(stream, {plan.scratch, plan.scratch_bytes},
             reinterpret_cast<std::int64_t*>(plan.slab + region.offsets_at), plan.sample_count + 1);
  }
  for_each_index(stream, (plan.slab_bytes + Sink::bytes - 1) / Sink::bytes, write_slab<Sink>(plan));
}

}  // namespace mdstream::inline v0::kernels
