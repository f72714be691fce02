#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/stream/detail/bad_samples.hpp>
#include <mdstream/stream/detail/hand_out.hpp>
#include <mdstream/stream/detail/vetoed.hpp>
#include <mdstream/version.hpp>

#include <string>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void hand_out::tell(const watch::call& began, const untyped_batch& got,
                                    const observe::totals& sum, std::uint64_t queued) {
  watched->end(began,
               {.epoch = got.epoch,
                .batch = got.number,
                .samples = got.made.samples,
                .results = got.made.results,
                .vetoed = got.made.vetoed,
                .queued = queued},
               sum);
}

MDSTREAM_INLINE void hand_out::count(const untyped_batch& got) {
  samples += got.samples;
  ++batches;
  add(made, got.made);
  add(made_of_epoch, got.made);
  add_bad_samples(bad, got.bad_samples);
}

MDSTREAM_INLINE std::exception_ptr hand_out::all_vetoed() const {
  if (!is_whole || !vetoes_all(made_of_epoch, ranks)) return nullptr;
  return std::make_exception_ptr(error(
      errc::transform_failed, "the transform vetoed all " + std::to_string(made_of_epoch.vetoed) +
                                  " samples of epoch " + std::to_string(epoch) +
                                  (ranks == 1 ? "" : " on this rank") +
                                  ", so the epoch has no results"));
}

}  // namespace mdstream::inline v0::detail
