#pragma once

#include <mdstream/net/quote.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/detail/cloud/client.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE cloud_client::cloud_client(runtime& threads, std::shared_ptr<const cloud_api> api,
                                           net::http_client_options http, net::any_access keys,
                                           std::chrono::seconds margin)
    : shared_(std::make_shared<shared>(threads, std::move(api), std::move(http),
                                       net::cached_access(std::move(keys), margin))) {}

MDSTREAM_INLINE void cloud_client::body_was_read(bytes_view bytes) const {
  const auto& told = shared_->http.options().body_read;
  if (told) told(bytes);
}

MDSTREAM_INLINE void cloud_client::block_was_read(bytes_view block,
                                                  const std::stop_token& stop) const {
  if (stop.stop_requested()) throw error(errc::canceled, "the call was stopped");
  body_was_read(block);
}

MDSTREAM_INLINE void cloud_client::async_find_keys(std::string_view key, std::stop_token stop,
                                                   diagnostics& where,
                                                   net::access_handler done) const {
  shared_->async_find_keys(key, std::move(stop), where, std::move(done));
}

MDSTREAM_INLINE void cloud_client::async_send(cloud_call call, std::stop_token stop,
                                              diagnostics& where, handler done) const {
  std::make_shared<exchange>(shared_, std::move(call), std::move(stop), where, std::move(done))
      ->begin();
}

MDSTREAM_INLINE cloud_client::shared::shared(runtime& t, std::shared_ptr<const cloud_api> a,
                                             net::http_client_options o, net::cached_access k)
    : threads(t), api(std::move(a)), http(t, std::move(o)), keys(std::move(k)) {}

MDSTREAM_INLINE net::wall_clock::time_point cloud_client::shared::now() const {
  const std::lock_guard lock(mutex_);
  return net::wall_clock::now() + skew_;
}

MDSTREAM_INLINE void cloud_client::shared::set_time(net::wall_clock::time_point there) {
  const std::lock_guard lock(mutex_);
  skew_ = there - net::wall_clock::now();
}

MDSTREAM_INLINE std::string cloud_client::shared::source() const {
  const std::lock_guard lock(mutex_);
  return source_;
}

MDSTREAM_INLINE void cloud_client::shared::note_source(const std::string& of_keys) {
  const std::lock_guard lock(mutex_);
  if (source_ != of_keys) source_ = of_keys;
}

MDSTREAM_INLINE void cloud_client::shared::async_find_keys(std::string_view key,
                                                           std::stop_token stop, diagnostics& where,
                                                           net::access_handler done) const {
  keys.async_find(std::move(stop), where,
                  [of = api, key = std::string(key), &where, done = std::move(done)](
                      std::error_code code, std::optional<net::access> found) mutable {
                    if (code) {
                      where.what = "no credentials for " + of->name() + ": " + where.what;
                      if (where.url.empty()) where.url = of->url(key);
                    }
                    done(code, std::move(found));
                  });
}

MDSTREAM_INLINE cloud_client::exchange::exchange(std::shared_ptr<shared> s, cloud_call c,
                                                 std::stop_token t, diagnostics& w, handler d)
    : common(std::move(s)), call(std::move(c)), stop(std::move(t)), where(w), done(std::move(d)) {}

MDSTREAM_INLINE void cloud_client::exchange::begin() {
  if (call.keyless) return take_keys({}, net::access{});
  common->async_find_keys(
      call.key, stop, where,
      [self = this->shared_from_this()](std::error_code code, std::optional<net::access> found) {
        self->take_keys(code, std::move(found));
      });
}

MDSTREAM_INLINE void cloud_client::exchange::take_keys(std::error_code code,
                                                       std::optional<net::access> found) {
  if (code) return done(code, {});
  keys = *std::move(found);
  if (!call.keyless) common->note_source(keys.source);
  submit();
}

MDSTREAM_INLINE void cloud_client::exchange::submit() {
  constexpr std::size_t quick = 128 * 1024;  // about 0.1 ms
  const bool is_signed = !call.keyless && !keys.anonymous();
  const bool reads_body = call.checksum || (is_signed && common->api->signs_bodies());
  const bool large = call.body && call.body->size() > quick && reads_body;
  if (!large && !(is_signed && keys.is_slow)) return send();
  common->threads.post([self = this->shared_from_this()] { self->send(); });
}

MDSTREAM_INLINE void cloud_client::exchange::send() {
  std::error_code code;
  try {
    common->http.async_send(
        make_request(), stop, where,
        [self = this->shared_from_this()](std::error_code failure, net::http_response answer) {
          self->take_answer(failure, std::move(answer));
        });
  } catch (const error& e) {
    where = e.where();
    code = e.code();
  }
  if (code) done(code, {});
}

MDSTREAM_INLINE net::http_request cloud_client::exchange::make_request() {
  if (const auto checksum = std::exchange(call.checksum, nullptr)) {
    net::http_header made = checksum(*call.body, common->http.options().body_read);
    if (!made.value.empty()) call.headers.push_back(std::move(made));
  }
  net::http_request request{.method = call.method,
                            .url = call.url,
                            .name = common->api->url(call.key),
                            .headers = call.headers,
                            .sink = call.sink};
  if (call.text) {
    request.body = net::http_body::of(as_bytes(*call.text));
  } else if (call.body) {
    request.body = net::http_body::of(*call.body);
  }
  if (!call.payer_query.empty() && !keys.anonymous())
    request.url += (call.url.find('?') == call.url.npos ? '?' : '&') + call.payer_query;
  if (call.on_head) {
    request.on_head = [head = call.on_head](const net::http_response& answer, net::http_sink& sink,
                                            diagnostics& about) {
      return head(answer, sink, about);
    };
  }
  request.most_text = call.most_text;
  request.redirects = call.redirects;
  request.redirects_within = call.redirects_within;
  if (call.most_time || call.is_slow) request.time = time_of_call();
  request.once = call.is_slow;
  sent_at = common->now();
  if (keys.authorize) keys.authorize(request, sent_at);
  return request;
}

MDSTREAM_INLINE net::http_time_limits cloud_client::exchange::time_of_call() const {
  net::http_time_limits out = common->http.options().time;
  if (call.most_time) out.total = *call.most_time;
  if (call.is_slow && out.window.count() != 0) {
    out.window = std::max<std::chrono::seconds>(out.window, std::chrono::minutes(10));
  }
  return out;
}

MDSTREAM_INLINE void cloud_client::exchange::take_answer(std::error_code code,
                                                         net::http_response answer) {
  if (code) return done(code, std::move(answer));
  if (answer.leads_away) return done({}, std::move(answer));
  if (answer.ok() && call.late_status) answer.status = call.late_status(answer);
  if (answer.ok() || (answer.status == call.also_good && answer.status != 0)) {
    return done({}, std::move(answer));
  }
  if (!call.keyless && correct(answer)) return;
  code = explain(answer);
  done(code, std::move(answer));
}

MDSTREAM_INLINE bool cloud_client::exchange::correct(net::http_response& answer) {
  if (!cured && common->api->cure(call, answer)) {
    cured = true;
    submit();
    return true;
  }
  if (keys.anonymous()) return correct_unsigned(answer);
  const cloud_refusal said = common->api->refusal(answer);
  if (const auto there = clock(said, answer); there && !std::exchange(set_clock, true)) {
    common->set_time(*there);
    submit();
    return true;
  }
  const bool expired = answer.status == 401 || said.keys_expired;
  if (!expired || std::exchange(renewed, true)) return false;
  renew(std::move(answer));
  return true;
}

MDSTREAM_INLINE bool cloud_client::exchange::correct_unsigned(net::http_response& answer) {
  if (answer.status != 401 && answer.status != 403) return false;
  if (std::exchange(renewed, true)) return false;
  renew(std::move(answer));
  return true;
}

MDSTREAM_INLINE std::optional<net::wall_clock::time_point> cloud_client::exchange::clock(
    const cloud_refusal& said, const net::http_response& answer) const {
  if (answer.status != 401 && answer.status != 403) return std::nullopt;
  const auto text = answer.headers.find("Date");
  const auto there = text ? net::parse_http_date(*text) : std::nullopt;
  const bool apart = there && std::chrono::abs(*there - sent_at) > common->api->clock_tolerance();
  return said.wrong_time.value_or(apart) ? there : std::nullopt;
}

MDSTREAM_INLINE void cloud_client::exchange::renew(net::http_response refused) {
  common->keys.refuse(keys);
  common->keys.async_find(stop, where,
                          [self = this->shared_from_this(), refused = std::move(refused)](
                              std::error_code code, std::optional<net::access> found) mutable {
                            if (!code && found && !net::same_keys(*found, self->keys)) {
                              return self->take_keys({}, std::move(found));
                            }
                            if (code != errc::canceled) code = self->explain(refused, code);
                            self->done(code, std::move(refused));
                          });
}

MDSTREAM_INLINE std::error_code cloud_client::exchange::explain(const net::http_response& answer,
                                                                const std::error_code& no_keys) {
  const diagnostics why = std::exchange(where, {});
  const std::error_code code = explain(answer);
  if (!no_keys) return code;
  if (!where.cause.empty()) where.cause += '\n';
  where.cause += "there are no other credentials: " + why.what;
  if (!why.url.empty()) where.cause += " (" + why.url + ')';
  if (!why.cause.empty()) where.cause += '\n' + why.cause;
  where.retry_after = why.retry_after;
  return is_retryable(no_keys) ? no_keys : code;
}

MDSTREAM_INLINE std::error_code cloud_client::exchange::explain(const net::http_response& answer) {
  const cloud_api& api = *common->api;
  std::error_code code = net::failure_of(answer, "", where);
  const cloud_refusal said = api.refusal(answer);
  if (said.failure) code = *said.failure;
  // Some answer 412 to a request that comes too late.
  where.is_final = said.begins_anew || (where.is_final && code == errc::corrupt);
  std::vector<std::string_view> secrets(keys.secrets.begin(), keys.secrets.end());
  if (call.keyless || call.secret_query) net::add_secrets_of_query(call.url, secrets);
  where.what = api.name() + " answers " + std::to_string(answer.status);
  if (const auto place = answer.headers.find("Location"); place && answer.status / 100 == 3) {
    where.what += ", a redirect to " + net::redacted_url(*place);
  }
  if (!said.code.empty()) where.what += ' ' + net::quotable(said.code, secrets);
  if (!said.message.empty()) where.what += " (" + net::quotable(said.message, secrets) + ')';
  // An answer to HEAD has no words.
  if (code == errc::not_found && said.code.empty() && said.message.empty())
    where.what += ": there is no such object, or nothing that holds it";
  if (code == errc::permission_denied && !call.keyless) {
    where.what += "; the credentials are those of " + keys.source;
    if (!call.payer.empty() && !keys.anonymous()) where.what += "; " + call.payer;
  }
  where.cause = said.advice;
  where.url = api.url(call.key);
  return code;
}

MDSTREAM_INLINE void send_creation(const cloud_client& client, cloud_call call,
                                   std::stop_token stop, diagnostics& where,
                                   store_handler<bool> done) {
  client.async_send(std::move(call), std::move(stop), where,
                    [client, &where, done = std::move(done)](
                        std::error_code code, const net::http_response& answer) mutable {
                      if (!code || !client.api().was_there(answer)) return done(code, !code);
                      where = {};
                      done({}, false);
                    });
}

MDSTREAM_INLINE void send_removal(const cloud_client& client, cloud_call call, std::stop_token stop,
                                  diagnostics& where, store_handler<> done) {
  client.async_send(std::move(call), std::move(stop), where,
                    [client, done = std::move(done)](std::error_code code,
                                                     const net::http_response& answer) mutable {
                      const bool was_absent =
                          code == errc::not_found && client.api().was_absent(answer);
                      done(was_absent ? std::error_code() : code);
                    });
}

}  // namespace mdstream::inline v0::detail
