#pragma once

/// Sends HTTP requests. Needs libcurl: link mdstream::curl.
///
/// What a store does to send one request:
///
///     net::http_request request{.method = "GET", .url = url};
///     request.sink = net::http_sink{.into = into};
///     request.headers.push_back({"Range", "bytes=0-99"});
///     sign(request);  // adds headers; the URL is sent byte for byte as it is
///     client.async_send(std::move(request), stop, where,
///                       [&where, url, done](std::error_code code, net::http_response answer) {
///                         if (!code) code = net::failure_of(answer, url, where);
///                         done(code, answer.received);
///                       });
///
/// Nothing is added to what is signed but `Host`, `Content-Length`, `Accept: */*` and `User-Agent`
/// (a header of the same name in the request takes the place of each). A body is a span that stays
/// until the completion (`http_body::of`) or is pulled (`http_body::from`). The body of a 2xx
/// answer goes into the sink's memory, bounds-checked; every other body, and that of an answer
/// without a sink, is `answer.text`. A status is no failure of the exchange: `failure_of` makes it
/// one, and reads Retry-After into the diagnostics.

#include <mdstream/async/runtime.hpp>
#include <mdstream/net/curl/loop.hpp>
#include <mdstream/net/http_message.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <list>
#include <memory>
#include <stop_token>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::net {

/// Clients of one runtime share its connections; copies of a client share its limits too. May be
/// used from any thread, and destroyed while requests are under way: they end as they would. The
/// runtime has to outlive the requests.
class http_client {
 public:
  using handler = unique_function<void(std::error_code, http_response)>;

  explicit http_client(runtime& threads, http_client_options options = {})
      : shared_(std::make_shared<shared>(threads, std::move(options))) {}

  /// Sends `request` when its turn comes and completes once, on the io thread, never in this call:
  /// - no code: `http_response` has the answer, whatever its status;
  /// - errc::canceled: `stop` was requested;
  /// - errc::unavailable: no connection, a broken one, too slow, a body cut short;
  /// - errc::corrupt: the answer is no sound HTTP, or has more headers or bytes than allowed;
  /// - errc::permission_denied: the certificate is not trusted, or a redirect leads where it must
  /// not;
  /// - errc::invalid_argument: the request itself;
  /// - what `on_head` returned.
  /// `where` stays until then, as do the memory of sink and body. `done` must not throw and not
  /// wait: it holds up all transfers.
  void async_send(http_request request, std::stop_token stop, diagnostics& where,
                  handler done) const {
    auto transfer = std::make_shared<detail::http_transfer>(
        std::move(request), shared_->options, std::move(stop), where, std::move(done));
    asio::post(shared_->io, [common = shared_, transfer = std::move(transfer)]() mutable {
      common->waiting.emplace_back(std::move(transfer), common);
      start_waiting(common);
    });
  }

  [[nodiscard]] const http_client_options& options() const noexcept { return *shared_->options; }

 private:
  struct shared;

  /// A stop takes a request out of the queue.
  struct sweeper {
    std::weak_ptr<shared> common;
    void operator()() const {
      if (const auto alive = common.lock()) {
        asio::post(alive->io, [alive] { drop_stopped(alive); });
      }
    }
  };

  struct queued {
    queued(std::shared_ptr<detail::http_transfer> t, const std::shared_ptr<shared>& common)
        : transfer(std::move(t)), on_stop(transfer->stop(), sweeper{common}) {}
    std::shared_ptr<detail::http_transfer> transfer;
    std::stop_callback<sweeper> on_stop;
  };

  /// `waiting` and `under_way` are the io thread's.
  struct shared {
    shared(runtime& threads, http_client_options o)
        : io(threads.io()),
          loop(threads.service<detail::curl_loop>()),
          options(std::make_shared<const http_client_options>(std::move(o))) {}

    asio::io_context& io;
    detail::curl_loop& loop;
    const std::shared_ptr<const http_client_options> options;
    std::list<queued> waiting;
    std::size_t under_way = 0;
  };

  static void start_waiting(const std::shared_ptr<shared>& common) {
    const std::size_t most = std::max<std::size_t>(common->options->connections, 1);
    while (!common->waiting.empty() && common->under_way < most) {
      const auto next = common->waiting.front().transfer;
      common->waiting.pop_front();
      ++common->under_way;
      common->loop.start(next, [common] {
        --common->under_way;
        asio::post(common->io, [common] { start_waiting(common); });
      });
    }
  }

  static void drop_stopped(const std::shared_ptr<shared>& common) {
    std::list<queued> stopped;
    for (auto at = common->waiting.begin(); at != common->waiting.end();) {
      const auto next = std::next(at);
      if (at->transfer->stop().stop_requested()) {
        stopped.splice(stopped.end(), common->waiting, at);
      }
      at = next;
    }
    for (const queued& each : stopped) each.transfer->complete_canceled();
  }

  std::shared_ptr<shared> shared_;
};

}  // namespace mdstream::inline v0::net
