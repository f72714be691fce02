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
#include <mdstream/net/http_message.hpp>

#include <memory>
#include <stop_token>
#include <system_error>
#include <vector>

namespace mdstream::inline v0::net {

namespace detail {
class request_queue;
}

/// Clients of one runtime share its connections; copies of a client share its limits too. Requests
/// are dealt to the runtime's io threads, each to the one with the fewest. May be used from any
/// thread, and destroyed while requests are under way: they end as they would. The runtime has to
/// outlive the requests.
class http_client {
 public:
  using handler = mdstream::detail::unique_function<void(std::error_code, http_response)>;

  explicit http_client(runtime& threads, http_client_options options = {});

  /// Sends `request` when its turn comes and completes once, on an io thread, never in this call:
  /// - no code: `http_response` has the answer, whatever its status;
  /// - errc::canceled: `stop` was requested;
  /// - errc::unavailable: no connection, a broken one, too slow, a body cut short;
  /// - errc::corrupt: the answer is no sound HTTP, or has more headers or bytes than allowed;
  /// - errc::permission_denied: the certificate is not trusted, or a redirect leads where it must
  /// not;
  /// - errc::invalid_argument: the request itself;
  /// - what `on_head` returned.
  /// `where` stays until then, as do the memory of sink and body. `done` must not throw and not
  /// wait: it holds up all transfers. Requests that are under way or wait when the runtime ends are
  /// dropped without a completion.
  void async_send(http_request request, std::stop_token stop, diagnostics& where,
                  handler done) const;

  [[nodiscard]] const http_client_options& options() const noexcept { return *shared_->options; }

 private:
  struct shared {
    shared(runtime& threads, http_client_options o);

    [[nodiscard]] const std::shared_ptr<detail::request_queue>& least_busy() const;

    const std::shared_ptr<const http_client_options> options;
    std::vector<std::shared_ptr<detail::request_queue>> queues{};
  };

  std::shared_ptr<const shared> shared_;
};

}  // namespace mdstream::inline v0::net

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/http_client.ipp>
#endif
