#pragma once

/// Small requests to services that give out keys, repeated when a failure may pass. Needs libcurl:
/// link mdstream::curl.

#include <mdstream/async/runtime.hpp>
#include <mdstream/core/detail/chance.hpp>
#include <mdstream/net/http_client.hpp>
#include <mdstream/net/time_text.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::net {

namespace detail {

/// How far the clock of who answered is ahead of ours; 0 where the answer does not tell its time.
[[nodiscard]] inline std::chrono::seconds ahead_of_us(const http_response& answer,
                                                      wall_clock::time_point now) {
  const auto text = answer.headers.find("Date");
  const auto there = text ? parse_http_date(*text) : std::nullopt;
  return there ? std::chrono::duration_cast<std::chrono::seconds>(*there - now)
               : std::chrono::seconds(0);
}

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
  [[nodiscard]] static fetcher near(runtime& threads, http_client_options options) {
    options.direct = true;
    options.proxy.clear();
    return {threads, std::move(options)};
  }

  using handler = unique_function<void(std::error_code, http_response)>;

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
  [[nodiscard]] static bool absent(std::error_code code, const http_response& answer) {
    return code == errc::not_found || code == errc::unsupported || (!code && !answer.ok());
  }

  /// The same as `send` for a request that says when it was made: `make` is given the time. Where
  /// it is refused by a service whose clock is more than four minutes from ours, it is sent once
  /// more, with that clock's time.
  void send_dated(std::function<http_request(wall_clock::time_point)> make, std::stop_token stop,
                  diagnostics& where, handler done) const;

  runtime* threads;
  http_client client;
  std::chrono::milliseconds pause{200};

 private:
  static http_client_options patient(http_client_options options) {
    options.time.connect = std::chrono::seconds(2);  // such services are near, or not there at all
    options.time.total = std::chrono::seconds(20);
    return options;
  }

  enum class kind { plain, dated, probe };
  struct attempts;
};

struct fetcher::attempts : std::enable_shared_from_this<fetcher::attempts> {
  attempts(const fetcher& f, std::function<http_request(wall_clock::time_point)> m, kind k,
           std::stop_token s, diagnostics& w, handler d)
      : from(f), make(std::move(m)), of(k), stop(std::move(s)), where(w), done(std::move(d)) {}

  void go() {
    sent_at = wall_clock::now() + ahead;
    http_request request;
    try {
      request = make(sent_at);
    } catch (const error& e) {
      where = e.where();
      return done(e.code(), {});
    }
    url = redacted_url(request.url);
    if (of == kind::probe && !answered) {
      request.time = from.client.options().time;
      request.time->connect = std::chrono::milliseconds(500);
      request.time->total = std::chrono::seconds(1 + failed);  // some take what they never answer
    }
    from.client.async_send(std::move(request), stop, where,
                           [self = shared_from_this()](std::error_code code, http_response answer) {
                             self->take(code, std::move(answer));
                           });
  }

  void take(std::error_code code, http_response answer) {
    if (!code && of == kind::dated && corrects_clock(answer)) return go();
    answered |= !code;
    const bool busy = answer.status >= 500 || answer.status == 429;
    if (!code && busy) code = failure_of(answer, url, where);
    if (code == errc::unavailable && ++failed < most && !stop.stop_requested()) return go_later();
    if (code == errc::unavailable && of == kind::probe && !answered) code = errc::not_found;
    done(code, std::move(answer));
  }

  /// Programs that start together, by the thousand, do not ask again together.
  void go_later() {
    const std::chrono::milliseconds longest{5'000};  // those who wait may ask again themselves
    const auto asked_for = std::min(where.retry_after.value_or(longest * 0), longest);
    const auto usual =
        std::max(from.pause * (of == kind::probe && !answered ? 1 : failed), asked_for);
    const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(
        usual * (0.5 + mdstream::detail::chance()));
    from.threads->after(wait, stop, [self = shared_from_this()](std::error_code) { self->go(); });
  }

  /// Once. Services take what is up to five minutes off, and say 400, 401 or 403 to the rest.
  bool corrects_clock(const http_response& answer) {
    const bool refused = answer.status == 400 || answer.status == 401 || answer.status == 403;
    const auto text = answer.headers.find("Date");
    const auto there = text ? parse_http_date(*text) : std::nullopt;
    if (!refused || !there || ahead.count() != 0) return false;
    if (std::chrono::abs(*there - sent_at) < std::chrono::minutes(4)) return false;
    ahead = *there - wall_clock::now();
    return true;
  }

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

inline void fetcher::send(std::function<http_request()> make, std::stop_token stop,
                          diagnostics& where, handler done) const {
  std::make_shared<attempts>(
      *this, [make = std::move(make)](wall_clock::time_point) { return make(); }, kind::plain,
      std::move(stop), where, std::move(done))
      ->go();
}

inline void fetcher::probe(std::function<http_request()> make, std::stop_token stop,
                           diagnostics& where, handler done) const {
  std::make_shared<attempts>(
      *this, [make = std::move(make)](wall_clock::time_point) { return make(); }, kind::probe,
      std::move(stop), where, std::move(done))
      ->go();
}

inline void fetcher::send_dated(std::function<http_request(wall_clock::time_point)> make,
                                std::stop_token stop, diagnostics& where, handler done) const {
  std::make_shared<attempts>(*this, std::move(make), kind::dated, std::move(stop), where,
                             std::move(done))
      ->go();
}

}  // namespace mdstream::inline v0::net
