#pragma once

#include <mdstream/stream/detail/disk_watch.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE bool disk_watch::begin(std::uint64_t memory) {
  const std::lock_guard lock(mutex_);
  // Once begun it goes on: mappings have to be told when samples are no longer asked for.
  begun_ = begun_ || shards_ > memory;
  watch_.set_memory(memory);
  most_.store(memory / 4, std::memory_order_relaxed);
  return begun_;
}

MDSTREAM_INLINE void disk_watch::add(std::uint64_t needed, std::uint64_t read) {
  const std::lock_guard lock(mutex_);
  watch_.add(each * needed, each * read);
  asks_.store(watch_.asks(), std::memory_order_relaxed);
  if (watch_.asks()) has_asked_.store(true, std::memory_order_relaxed);
}

}  // namespace mdstream::inline v0::detail
