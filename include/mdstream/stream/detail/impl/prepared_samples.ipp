#pragma once

#include <mdstream/stream/detail/prepared_samples.hpp>
#include <mdstream/version.hpp>

#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void prepared_samples::begin(std::size_t samples, std::size_t workers) {
  places_.assign(samples, {});
  instead_.assign(samples, std::nullopt);
  if (memory_.size() < workers) memory_.resize(workers);
  for (memory& each : memory_) {
    each.samples.clear();
    each.ends.clear();
  }
  next_ = 0;
  failed_at_ = none;
  failure_ = nullptr;
}

MDSTREAM_INLINE bytes_view prepared_samples::operator[](std::size_t i) const noexcept {
  const place& at = places_[i];
  return {memory_[at.worker].samples.data() + at.begin, at.size};
}

MDSTREAM_INLINE void prepared_samples::fail(std::size_t i, std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  if (i >= failed_at_) return;
  failed_at_ = i;
  failure_ = std::move(failure);
}

}  // namespace mdstream::inline v0::detail
