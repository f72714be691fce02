#pragma once

#include <mdstream/stream/detail/watch.hpp>
#include <mdstream/version.hpp>

#include <string>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void watch::end(const call& began, observe::step what, const observe::totals& sum) {
  what.begun = began.at;
  what.took = std::chrono::steady_clock::now() - began.at;
  what.stalled = sum.stalled - began.stalled_before;
  what.sum = sum;
  what.sum.samples = counted_.samples += what.samples;
  what.sum.results = counted_.results += what.results;
  what.sum.vetoed = counted_.vetoed += what.vetoed;
  const std::lock_guard lock(mutex_);
  pass(what);
}

MDSTREAM_INLINE void watch::hear(std::shared_ptr<kept_warnings> from) {
  warnings_ = std::move(from);
  warnings_->pass_to([this](const std::string& text) {
    const std::lock_guard lock(mutex_);
    pass(observe::warning{text});
  });
}

}  // namespace mdstream::inline v0::detail
