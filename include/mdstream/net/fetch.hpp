#pragma once

/// Small requests to services that give out keys, repeated when a failure may pass. Needs libcurl:
/// link mdstream::curl.

#include <mdstream/async/runtime.hpp>
#include <mdstream/net/http_client.hpp>
#include <mdstream/net/time_text.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::net {

namespace detail {

/// How far the clock of the server is ahead of ours; 0 where the answer does not tell its time.
[[nodiscard]] std::chrono::seconds ahead_of_us(const http_response& answer,
                                               wall_clock::time_point now);

/// Keys that an answer brought, with their time of expiry by our clock: services tell it by theirs.
template <class Keys>
[[nodiscard]] Keys by_our_clock(Keys keys, const http_response& answer) {
  if (keys.expires) {
    keys.expires = earlier(*keys.expires, ahead_of_us(answer, wall_clock::now()));
  }
  return keys;
}

}  // namespace detail

/// How such a request is sent. Copies share the client. The runtime has to outlive the requests.
struct fetcher {
  fetcher(runtime& t, http_client_options options)
      : threads(&t), client(t, patient(std::move(options))) {}

  /// For services of this machine, which no proxy reaches.
  [[nodiscard]] static fetcher near(runtime& threads, http_client_options options);

  using handler = mdstream::detail::unique_function<void(std::error_code, http_response)>;

  /// Sends what `make` makes (anew each time) up to three times. Completes with an answer of any
  /// status below 500 but 429; the answer to anything else is a failure, as is what `make` throws.
  /// What the request refers to is kept by `make`.
  void send(std::function<http_request()> make, std::stop_token stop, diagnostics& where,
            handler done) const;

  /// The same for a service that may not be there at all: that there is no answer to any of three
  /// requests, which one lost packet does not decide, is `errc::not_found`; to know that nobody
  /// takes connections takes two seconds. One that answered once is there. See `absent`.
  void probe(std::function<http_request()> make, std::stop_token stop, diagnostics& where,
             handler done) const;

  /// Whether `probe` found nobody, or another service, which does not know what it is asked for.
  [[nodiscard]] static bool absent(std::error_code code, const http_response& answer);

  /// The same as `send` for a request that says when it was made: `make` is given the time. Where
  /// it is refused by a service whose clock is more than four minutes from ours, it is sent once
  /// more, with that clock's time.
  void send_dated(std::function<http_request(wall_clock::time_point)> make, std::stop_token stop,
                  diagnostics& where, handler done) const;

  runtime* threads;
  http_client client;
  std::chrono::milliseconds pause{200};

 private:
  static http_client_options patient(http_client_options options);

  enum class kind { plain, dated, probe };
  struct attempts;
};

struct fetcher::attempts : std::enable_shared_from_this<fetcher::attempts> {
  attempts(const fetcher& f, std::function<http_request(wall_clock::time_point)> m, kind k,
           std::stop_token s, diagnostics& w, handler d);

  void go();

  void take(std::error_code code, http_response answer);

  /// Programs that start together, by the thousand, do not ask again together.
  void go_later();

  /// Once. Services take what is up to five minutes off, and say 400, 401 or 403 to the rest.
  bool corrects_clock(const http_response& answer);

  static constexpr unsigned most = 3;
  const fetcher from;
  const std::function<http_request(wall_clock::time_point)> make;
  const kind of;
  const std::stop_token stop;
  diagnostics& where;
  handler done;
  std::string url{};
  unsigned failed = 0;
  bool answered = false;
  wall_clock::time_point sent_at{};
  wall_clock::duration ahead{0};
};

}  // namespace mdstream::inline v0::net

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/fetch.ipp>
#endif
