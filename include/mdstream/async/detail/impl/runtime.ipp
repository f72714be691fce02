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
}

MDSTREAM_INLINE bool runtime::runs_here() const noexcept {
  return pool_->runs_here() || std::ranges::any_of(*lanes_, [](const lane& each) {
           return each.thread.get_id() == std::this_thread::get_id();
         });
}

struct runtime::pending_wait {
  pending_wait(asio::io_context& io, detail::unique_function<void(std::error_code)> on_done)
      : timer(io), done(std::move(on_done)) {}
  detail::io_timer timer;
  detail::unique_function<void(std::error_code)> done;
  std::optional<std::stop_callback<canceller>> cancel;
};

MDSTREAM_INLINE void runtime::after(std::chrono::nanoseconds delay, std::stop_token stop,
                                    detail::unique_function<void(std::error_code)> done) {
  auto wait = std::make_shared<pending_wait>(io(), std::move(done));
  asio::dispatch(get_executor(), [wait, delay, stop = std::move(stop)] {
    wait->timer.expires_after(std::chrono::duration_cast<detail::io_timer::duration>(delay));
    wait->timer.async_wait([wait](std::error_code failure) {
      wait->cancel.reset();
      wait->done(failure ? make_error_code(errc::canceled) : std::error_code());
    });
    wait->cancel.emplace(stop, canceller{wait});
  });
}

MDSTREAM_INLINE void runtime::canceller::operator()() const {
  if (const std::shared_ptr<pending_wait> alive = wait.lock()) {
    asio::post(alive->timer.get_executor(), [alive] { alive->timer.cancel(); });
  }
}

MDSTREAM_INLINE void runtime::end_lanes() {
  for (lane& each : *lanes_) asio::post(each.io, [&each] { each.io.stop(); });
  for (lane& each : *lanes_)
    if (each.thread.joinable()) each.thread.join();
}

}  // namespace mdstream::inline v0
