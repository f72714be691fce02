#pragma once

#include <mdstream/async/detail/start_thread.hpp>
#include <mdstream/async/detail/timer.hpp>
#include <mdstream/async/runtime.hpp>
#include <mdstream/core/detail/processors.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0 {

MDSTREAM_INLINE runtime::runtime(unsigned threads, unsigned io_threads)
    : lanes_(detail::make_where_made<std::vector<lane>>(std::max(io_threads, 1U))),
      pool_(detail::make_where_made<detail::thread_pool>(threads == 0 ? detail::usable_cores()
                                                                      : threads)) {
  for (lane& each : *lanes_) {
    auto never = std::make_unique<detail::io_timer>(each.io, detail::io_timer::time_point::max());
    never->async_wait([&io = each.io](std::error_code) { io.stop(); });
    each.end = [never = std::move(never)] { never->cancel(); };
  }
  try {
    for (lane& each : *lanes_) each.thread = detail::start_thread([&each] { each.io.run(); });
  } catch (...) {
    end_lanes();
    throw;
  }
}

MDSTREAM_INLINE runtime::~runtime() {
  if (!lanes_.get_deleter().made.is_here()) return;
  pool_->finish();  // its work may wait for the io threads, and hands them its completions
  end_lanes();
  // All before one is gone: what an io thread drops may hold timers of another.
  for (lane& each : *lanes_) each.services.clear();
  for (lane& each : *lanes_) each.io.shutdown();
}

MDSTREAM_INLINE bool runtime::runs_here() const noexcept {
  return pool_->runs_here() || std::ranges::any_of(*lanes_, [](const lane& each) {
           return each.thread.get_id() == std::this_thread::get_id();
         });
}

struct runtime::pending_wait {
  pending_wait(asio::io_context& io, detail::unique_function<void(std::error_code)> on_done)
      : timer(io), done(std::move(on_done)) {}

  void begin(std::chrono::nanoseconds delay, const std::stop_token& stop,
             const std::shared_ptr<pending_wait>& self) {
    try {
      timer.expires_after(std::chrono::duration_cast<detail::io_timer::duration>(delay));
      timer.async_wait(detail::io_task([self](std::error_code failure) {
        self->cancel.reset();
        self->done(failure ? make_error_code(errc::canceled) : std::error_code());
      }));
    } catch (const std::bad_alloc&) {  // of the list of all timers
      return done(make_error_code(errc::out_of_memory));
    }
    cancel.emplace(stop, canceller{self, timer.get_executor()});
  }

  detail::io_timer timer;
  detail::unique_function<void(std::error_code)> done;
  std::optional<std::stop_callback<canceller>> cancel;
};

MDSTREAM_INLINE void runtime::after(std::chrono::nanoseconds delay, std::stop_token stop,
                                    detail::unique_function<void(std::error_code)> done) {
  auto wait = std::allocate_shared<pending_wait>(detail::handler_allocator<pending_wait>(), io(),
                                                 std::move(done));
  // Moved: a thread of another runtime that kept it would free the timer last, perhaps after this
  // runtime.
  asio::dispatch(get_executor(),
                 detail::io_task([wait = std::move(wait), delay, stop = std::move(stop)] {
                   wait->begin(delay, stop, wait);
                 }));
}

MDSTREAM_INLINE void runtime::canceller::operator()() const {
  asio::post(executor, detail::io_task([wait = wait] {
               if (const std::shared_ptr<pending_wait> alive = wait.lock()) alive->timer.cancel();
             }));
}

MDSTREAM_INLINE void runtime::end_lanes() {
  for (lane& each : *lanes_) each.end();
  for (lane& each : *lanes_)
    if (each.thread.joinable()) each.thread.join();
}

}  // namespace mdstream::inline v0
