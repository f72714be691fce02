#pragma once

/// Requests that wait for one of so many places on an io thread. Needs libcurl: link
/// mdstream::curl.

#include <mdstream/net/curl/loop.hpp>

#include <atomic>
#include <cstddef>
#include <iterator>
#include <list>
#include <memory>
#include <stop_token>
#include <utility>

namespace mdstream::inline v0::net::detail {

/// The requests of one client on one io thread, first come, first sent. It goes with the last of
/// its client and its requests under way; what waits when the runtime ends is dropped by the loop.
class request_queue : public std::enable_shared_from_this<request_queue>,
                      public curl_loop::dependant {
  struct access {};

 public:
  request_queue(access, asio::io_context& io, curl_loop& loop, std::size_t at_once)
      : io_(io), loop_(loop), at_once_(at_once) {}

  [[nodiscard]] static std::shared_ptr<request_queue> make(asio::io_context& io, curl_loop& loop,
                                                           std::size_t at_once) {
    auto made = std::make_shared<request_queue>(access{}, io, loop, at_once);
    asio::post(io, [made] { made->loop_.tell_of_end(made); });
    return made;
  }

  /// Requests that wait or are under way. From any thread.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// From any thread.
  void add(std::shared_ptr<http_transfer> transfer) {
    ++size_;
    asio::post(io_, [self = shared_from_this(), transfer = std::move(transfer)]() mutable {
      self->waiting_.emplace_back(std::move(transfer), self);
      self->start_waiting();
    });
  }

  /// A request that waits may hold the client, and so this queue, by its completion.
  void loop_ends() noexcept override {
    std::list<queued> dropped;
    dropped.swap(waiting_);
  }

 private:
  /// A stop takes a request out of the queue.
  struct sweeper {
    std::weak_ptr<request_queue> queue;
    void operator()() const {
      if (const auto alive = queue.lock()) {
        asio::post(alive->io_, [alive] { alive->drop_stopped(); });
      }
    }
  };

  struct queued {
    queued(std::shared_ptr<http_transfer> t, const std::shared_ptr<request_queue>& queue)
        : transfer(std::move(t)), on_stop(transfer->stop(), sweeper{queue}) {}
    std::shared_ptr<http_transfer> transfer;
    std::stop_callback<sweeper> on_stop;
  };

  void start_waiting() {
    while (!waiting_.empty() && under_way_ < at_once_) {
      const auto next = waiting_.front().transfer;
      waiting_.pop_front();
      ++under_way_;
      loop_.start(next, [self = shared_from_this()] {
        --self->under_way_;
        --self->size_;
        if (self->waiting_.empty()) return;
        asio::post(self->io_, [self] { self->start_waiting(); });
      });
    }
  }

  void drop_stopped() {
    std::list<queued> stopped;
    for (auto at = waiting_.begin(); at != waiting_.end();) {
      const auto next = std::next(at);
      if (at->transfer->stop().stop_requested()) stopped.splice(stopped.end(), waiting_, at);
      at = next;
    }
    size_ -= stopped.size();
    for (const queued& each : stopped) each.transfer->complete_canceled();
  }

  asio::io_context& io_;
  curl_loop& loop_;
  const std::size_t at_once_;
  std::atomic<std::size_t> size_{0};
  std::list<queued> waiting_;  // the io thread's, as what follows
  std::size_t under_way_ = 0;
};

}  // namespace mdstream::inline v0::net::detail
