#pragma once

#include <mdstream/stream/detail/batch_engine.hpp>
#include <mdstream/stream/detail/hand_out.hpp>
#include <mdstream/stream/detail/run.hpp>  // defines open_engine
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void batch_engine::next_call::complete(const std::exception_ptr& failure,
                                                       const detail::untyped_batch* got) {
  if (admitted_) count_->outstanding = false;
  if (failure) return;
  count_->count(*got);
  if (count_->watched) count_->tell(began_, *got, sum_, 0);
}

}  // namespace mdstream::inline v0::detail
