#pragma once

#include <mdstream/core/detail/chance.hpp>
#include <mdstream/net/fetch.hpp>
#include <mdstream/version.hpp>

#include <algorithm>

namespace mdstream::inline v0::net::detail {

MDSTREAM_INLINE std::chrono::seconds ahead_of_us(const http_response& answer,
                                                 wall_clock::time_point now) {
  const auto text = answer.headers.find("Date");
  const auto there = text ? parse_http_date(*text) : std::nullopt;
  return there ? std::chrono::duration_cast<std::chrono::seconds>(*there - now)
               : std::chrono::seconds(0);
}

}  // namespace mdstream::inline v0::net::detail

namespace mdstream::inline v0::net {

MDSTREAM_INLINE fetcher fetcher::near(runtime& threads, http_client_options options) {
  options.direct = true;
  options.proxy.clear();
  return {threads, std::move(options)};
}

MDSTREAM_INLINE bool fetcher::absent(std::error_code code, const http_response& answer) {
  return code == errc::not_found || code == errc::unsupported || (!code && !answer.ok());
}

MDSTREAM_INLINE http_client_options fetcher::patient(http_client_options options) {
  options.time.connect = std::chrono::seconds(2);  // such services are near, or not there at all
  options.time.total = std::chrono::seconds(20);
  return options;
}

MDSTREAM_INLINE fetcher::attempts::attempts(const fetcher& f,
                                            std::function<http_request(wall_clock::time_point)> m,
                                            kind k, std::stop_token s, diagnostics& w, handler d)
    : from(f), make(std::move(m)), of(k), stop(std::move(s)), where(w), done(std::move(d)) {}

MDSTREAM_INLINE void fetcher::attempts::go() {
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

MDSTREAM_INLINE void fetcher::attempts::take(std::error_code code, http_response answer) {
  if (!code && of == kind::dated && corrects_clock(answer)) return go();
  answered |= !code;
  const bool busy = answer.status >= 500 || answer.status == 429;
  if (!code && busy) code = failure_of(answer, url, where);
  if (code == errc::unavailable && ++failed < most && !stop.stop_requested()) return go_later();
  if (code == errc::unavailable && of == kind::probe && !answered) code = errc::not_found;
  done(code, std::move(answer));
}

MDSTREAM_INLINE void fetcher::attempts::go_later() {
  const std::chrono::milliseconds longest{5'000};  // callers may ask again themselves
  const auto asked_for = std::min(where.retry_after.value_or(longest * 0), longest);
  const auto usual =
      std::max(from.pause * (of == kind::probe && !answered ? 1 : failed), asked_for);
  const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(
      usual * (0.5 + mdstream::detail::chance()));
  from.threads->after(wait, stop, [self = shared_from_this()](std::error_code) { self->go(); });
}

MDSTREAM_INLINE bool fetcher::attempts::corrects_clock(const http_response& answer) {
  const bool refused = answer.status == 400 || answer.status == 401 || answer.status == 403;
  const auto text = answer.headers.find("Date");
  const auto there = text ? parse_http_date(*text) : std::nullopt;
  if (!refused || !there || ahead.count() != 0) return false;
  if (std::chrono::abs(*there - sent_at) < std::chrono::minutes(4)) return false;
  ahead = *there - wall_clock::now();
  return true;
}

MDSTREAM_INLINE void fetcher::send(std::function<http_request()> make, std::stop_token stop,
                                   diagnostics& where, handler done) const {
  std::make_shared<attempts>(
      *this, [make = std::move(make)](wall_clock::time_point) { return make(); }, kind::plain,
      std::move(stop), where, std::move(done))
      ->go();
}

MDSTREAM_INLINE void fetcher::probe(std::function<http_request()> make, std::stop_token stop,
                                    diagnostics& where, handler done) const {
  std::make_shared<attempts>(
      *this, [make = std::move(make)](wall_clock::time_point) { return make(); }, kind::probe,
      std::move(stop), where, std::move(done))
      ->go();
}

MDSTREAM_INLINE void fetcher::send_dated(std::function<http_request(wall_clock::time_point)> make,
                                         std::stop_token stop, diagnostics& where,
                                         handler done) const {
  std::make_shared<attempts>(*this, std::move(make), kind::dated, std::move(stop), where,
                             std::move(done))
      ->go();
}

}  // namespace mdstream::inline v0::net
