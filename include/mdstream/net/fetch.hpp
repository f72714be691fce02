#pragma once

/// Small requests to services that give out keys, repeated when a failure may pass. Needs libcurl:
/// link mdstream::curl.

#include <mdstream/async/runtime.hpp>
#include <mdstream/net/http_client.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::net {

/// How such a request is sent. Copies share the client. The runtime has to outlive the requests.
struct fetcher {
  fetcher(runtime& t, http_client_options options)
      : threads(&t), client(t, patient(std::move(options))) {}

  /// For services of this machine, which no proxy reaches.
  [[nodiscard]] static fetcher near(runtime& threads, http_client_options options) {
    options.direct = true;
    options.proxy.clear();
    return {threads, std::move(options)};
  }

  using handler = unique_function<void(std::error_code, http_response)>;

  /// Sends what `make` makes (anew each time, as signatures want it) up to three times. Completes
  /// with an answer of any status below 500; the answer to anything else is a failure. What the
  /// request refers to is kept by `make`.
  void send(std::function<http_request()> make, std::stop_token stop, diagnostics& where,
            handler done) const;

  runtime* threads;
  http_client client;
  std::chrono::milliseconds pause{200};

 private:
  static http_client_options patient(http_client_options options) {
    options.time.connect = std::chrono::seconds(2);  // such services are near, or not there at all
    options.time.total = std::chrono::seconds(20);
    return options;
  }

  struct attempts;
};

struct fetcher::attempts : std::enable_shared_from_this<fetcher::attempts> {
  attempts(const fetcher& f, std::function<http_request()> m, std::stop_token s, diagnostics& w,
           handler d)
      : from(f), make(std::move(m)), stop(std::move(s)), where(w), done(std::move(d)) {}

  void go() {
    http_request request = make();
    url = redacted_url(request.url);
    from.client.async_send(std::move(request), stop, where,
                           [self = shared_from_this()](std::error_code code, http_response answer) {
                             self->take(code, std::move(answer));
                           });
  }

  void take(std::error_code code, http_response answer) {
    if (!code && answer.status >= 500) code = failure_of(answer, url, where);
    constexpr unsigned most = 3;
    if (!code || code != errc::unavailable || ++failed == most || stop.stop_requested()) {
      return done(code, std::move(answer));
    }
    from.threads->after(from.pause * failed, stop,
                        [self = shared_from_this()](std::error_code) { self->go(); });
  }

  const fetcher from;
  const std::function<http_request()> make;
  const std::stop_token stop;
  diagnostics& where;
  handler done;
  std::string url{};
  unsigned failed = 0;
};

inline void fetcher::send(std::function<http_request()> make, std::stop_token stop,
                          diagnostics& where, handler done) const {
  std::make_shared<attempts>(*this, std::move(make), std::move(stop), where, std::move(done))->go();
}

}  // namespace mdstream::inline v0::net
