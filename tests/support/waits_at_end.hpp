#pragma once

#include <mdstream/async/detail/work_count.hpp>
#include <mdstream/async/runtime.hpp>

#include <utility>

namespace support {

struct counts_work {
  mdstream::detail::work_count under_way;
};

/// A part of an epoch with a count of its own, whose destructor stops it and waits, as an epoch
/// does without waiting.
template <class Part>
struct waits_at_end : private counts_work, Part {
  template <class Source, class... Args>
  waits_at_end(Source& source, mdstream::runtime& threads, Args&&... args)
      : Part(source, threads, counts_work::under_way, std::forward<Args>(args)...) {}
  waits_at_end(const waits_at_end&) = delete;
  waits_at_end& operator=(const waits_at_end&) = delete;
  ~waits_at_end() {
    this->stop();
    counts_work::under_way.wait_idle();
  }
};

}  // namespace support
