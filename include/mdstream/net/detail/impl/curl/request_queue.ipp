#pragma once

#include <mdstream/net/curl/request_queue.hpp>
#include <mdstream/version.hpp>

#include <iterator>
#include <utility>

namespace mdstream::inline v0::net::detail {

MDSTREAM_INLINE request_queue::request_queue(access, asio::io_context& io, curl_loop& loop,
                                             std::size_t at_once)
    : io_(io), loop_(loop), at_once_(at_once) {}

MDSTREAM_INLINE std::shared_ptr<request_queue> request_queue::make(asio::io_context& io,
                                                                   curl_loop& loop,
                                                                   std::size_t at_once) {
  auto made = std::make_shared<request_queue>(access{}, io, loop, at_once);
  asio::post(io, mdstream::detail::io_task([made] { made->loop_.tell_of_end(made); }));
  return made;
}

MDSTREAM_INLINE std::size_t request_queue::size() const noexcept { return size_; }

MDSTREAM_INLINE void request_queue::add(std::shared_ptr<http_transfer> transfer) {
  ++size_;
  asio::post(io_, mdstream::detail::io_task(
                      [self = shared_from_this(), transfer = std::move(transfer)]() mutable {
                        self->waiting_.emplace_back(std::move(transfer), self);
                        self->start_waiting();
                      }));
}

MDSTREAM_INLINE void request_queue::loop_ends() noexcept {
  std::list<queued> dropped;
  dropped.swap(waiting_);
}

MDSTREAM_INLINE void request_queue::sweeper::operator()() const {
  if (const auto alive = queue.lock()) {
    asio::post(alive->io_, mdstream::detail::io_task([alive] { alive->drop_stopped(); }));
  }
}

MDSTREAM_INLINE request_queue::queued::queued(std::shared_ptr<http_transfer> t,
                                              const std::shared_ptr<request_queue>& queue)
    : transfer(std::move(t)), on_stop(transfer->stop(), sweeper{queue}) {}

MDSTREAM_INLINE void request_queue::start_waiting() {
  while (!waiting_.empty() && under_way_ < at_once_) {
    const auto next = waiting_.front().transfer;
    waiting_.pop_front();
    ++under_way_;
    loop_.start(next, [self = shared_from_this()] {
      --self->under_way_;
      --self->size_;
      if (self->waiting_.empty()) return;
      asio::post(self->io_, mdstream::detail::io_task([self] { self->start_waiting(); }));
    });
  }
}

MDSTREAM_INLINE void request_queue::drop_stopped() {
  std::list<queued> stopped;
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    const auto next = std::next(at);
    if (at->transfer->stop().stop_requested()) stopped.splice(stopped.end(), waiting_, at);
    at = next;
  }
  size_ -= stopped.size();
  for (const queued& each : stopped) each.transfer->complete_canceled();
}

}  // namespace mdstream::inline v0::net::detail
