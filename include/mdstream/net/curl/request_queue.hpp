#pragma once

/// Requests that wait for one of so many places on an io thread. Needs libcurl: link
/// mdstream::curl.

#include <mdstream/net/curl/loop.hpp>
#include <mdstream/version.hpp>

#include <atomic>
#include <cstddef>
#include <list>
#include <memory>
#include <stop_token>

namespace mdstream::inline v0::net::detail {

/// The requests of one client on one io thread, first come, first sent. It goes with the last of
/// its client and its requests under way; what waits when the runtime ends is dropped by the loop.
class request_queue : public std::enable_shared_from_this<request_queue>,
                      public curl_loop::dependant {
  struct access {};

 public:
  request_queue(access, asio::io_context& io, curl_loop& loop, std::size_t at_once);

  [[nodiscard]] static std::shared_ptr<request_queue> make(asio::io_context& io, curl_loop& loop,
                                                           std::size_t at_once);

  /// Requests that wait or are under way. From any thread.
  [[nodiscard]] std::size_t size() const noexcept;

  /// From any thread.
  void add(std::shared_ptr<http_transfer> transfer);

  /// A request that waits may hold the client, and so this queue, by its completion.
  MDSTREAM_INLINE void loop_ends() noexcept override;

 private:
  /// A stop takes a request out of the queue.
  struct sweeper {
    std::weak_ptr<request_queue> queue;
    void operator()() const;
  };

  struct queued {
    queued(std::shared_ptr<http_transfer> t, const std::shared_ptr<request_queue>& queue);
    std::shared_ptr<http_transfer> transfer;
    std::stop_callback<sweeper> on_stop;
  };

  void start_waiting();

  void drop_stopped();

  asio::io_context& io_;
  curl_loop& loop_;
  const std::size_t at_once_;
  std::atomic<std::size_t> size_{0};
  std::list<queued> waiting_;  // the io thread's, as what follows
  std::size_t under_way_ = 0;
};

}  // namespace mdstream::inline v0::net::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/curl/request_queue.ipp>
#endif
