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
struct ended_here : private counts_work, Part {
  template <class Source, class... Args>
  ended_here(Source& source, mdstream::runtime& threads, Args&&... args)
      : Part(source, threads, counts_work::under_way, std::forward<Args>(args)...) {}
  ended_here(const ended_here&) = delete;
  ended_here& operator=(const ended_here&) = delete;
  ~ended_here() {
    this->stop();
    counts_work::under_way.wait_idle();
  }
};

}  // namespace support
