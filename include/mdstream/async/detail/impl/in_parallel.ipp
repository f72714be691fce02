#pragma once

#include <mdstream/async/detail/in_parallel.hpp>
#include <mdstream/async/detail/start_thread.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void in_parallel(std::size_t count, std::size_t threads,
                                 const std::stop_token& stop,
                                 const std::function<void(std::size_t, std::stop_token)>& work) {
  std::stop_source ended;
  const std::stop_callback passes(stop, [&ended] { ended.request_stop(); });
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto run = [&] {
    for (std::size_t i = 0; !ended.stop_requested() && (i = next++) < count;) {
      try {
        work(i, ended.get_token());
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        ended.request_stop();
      }
    }
  };
  std::vector<std::thread> others;
  others.reserve(std::min(count, threads));
  try {
    while (others.size() + 1 < std::min(count, threads)) others.push_back(start_thread(run));
  } catch (...) {  // fewer do as well
  }
  run();
  for (std::thread& each : others) each.join();
  if (stop.stop_requested()) throw error(errc::canceled, "the work was cancelled");
  if (failure) std::rethrow_exception(failure);
}

}  // namespace mdstream::inline v0::detail
