#pragma once

/// The device's executor of a collate plan: the twin of `collate::execute`, with equal bytes.

#include <mdstream/collate/detail/staged_plan.hpp>
#include <mdstream/cuda/execution.cuh>
#include <mdstream/cuda/regions.cuh>
#include <mdstream/cuda/samples.cuh>
#include <mdstream/cuda/sink.cuh>

#include <cstdint>

namespace mdstream::inline v0::kernels {

/// Makes the pieces of the slab that are dealt to a number, in whatever regions they are. Padding
/// between columns is left as it was.
template <class Sink>
class write_slab {
  using pieces = dealt<Sink, 16>;

 public:
  explicit write_slab(const collate::detail::staged_plan& plan) noexcept
      : plan_(plan), pieces_(plan.slab_bytes) {}

  [[nodiscard]] std::uint64_t numbers() const noexcept { return pieces_.numbers(); }

  MDSTREAM_HOST_DEVICE void operator()(std::int64_t number) const noexcept {
    const std::uint64_t tile = pieces_.tile(number), tile_end = tile + pieces_.tile_bytes();
    MDSTREAM_ROLLED
    for (std::uint32_t r = 0; r < plan_.region_count; ++r) {
      const collate::detail::staged_region& region = plan_.regions[r];
      const std::uint64_t region_end = region.at + region.bytes;
      if (region_end <= tile || region.at >= tile_end) continue;
      const std::uint64_t end = region_end < tile_end ? region_end : tile_end;
      std::uint64_t at = pieces_.first(number);
      if (at + Sink::bytes <= region.at)
        at += (region.at - at - Sink::bytes) / pieces::step * pieces::step + pieces::step;
      at = at < region.at ? region.at : at;
      region_maker<Sink>(plan_, region)
          .make(at - region.at, end - region.at, pieces::step, plan_.slab + region.at);
    }
  }

 private:
  collate::detail::staged_plan plan_;
  pieces pieces_;
};

/// Writes the batch that `plan` describes into its slab, on `stream`. Two kernels, and a scan for
/// each ragged column; one kernel where all columns have a fixed size. No allocation, no waiting.
/// Throws what Thrust throws where kernels can not be launched.
template <class Sink = default_sink>
void collate_staged(const collate::detail::staged_plan& plan,
                    stage::stream_handle stream = nullptr) {
  if (plan.begins != nullptr) for_each_index(stream, plan.sample_count + 1, index_samples(plan));
  for (std::uint32_t r = 0; r < plan.region_count; ++r) {
    const collate::detail::staged_region& region = plan.host_regions[r];
    if (region.kind == collate::detail::region_kind::ragged)
      sum_up(stream, {plan.scratch, plan.scratch_bytes},
             reinterpret_cast<std::int64_t*>(plan.slab + region.offsets_at), plan.sample_count + 1);
  }
  const write_slab<Sink> slab(plan);
  for_each_index(stream, slab.numbers(), slab);
}

}  // namespace mdstream::inline v0::kernels
