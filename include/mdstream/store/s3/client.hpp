#pragma once

/// Signs requests to S3, sends them, and takes from a refusal what is wrong with the signature: the
/// region, the clock, keys that have expired. Needs libcurl and OpenSSL: link mdstream::s3.

#include <mdstream/async/runtime.hpp>
#include <mdstream/net/credential_chain.hpp>
#include <mdstream/net/http_client.hpp>
#include <mdstream/net/signature_v4.hpp>
#include <mdstream/net/v4_chunked_body.hpp>
#include <mdstream/store/s3/messages.hpp>
#include <mdstream/store/s3/options.hpp>
#include <mdstream/store/s3/refusal.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0::store {

/// One request before it is signed. May be sent more than once.
struct s3_call {
  using head_function =
      std::function<std::error_code(const net::http_response&, net::http_sink&, diagnostics&)>;

  std::string method = "GET";
  std::string key{};  ///< the whole key; empty: the bucket
  std::vector<net::name_value> query{};
  std::vector<net::name_value> headers{};
  std::optional<bytes_view> body{};
  std::optional<net::http_sink> sink{};
  head_function on_head{};
  std::size_t most_text = 1 << 20;
  /// The service answers 200 before it knows how the call ends: it may be silent for minutes then,
  /// and the body may hold an error.
  bool ends_late = false;
  std::optional<std::chrono::milliseconds> most_time{};  ///< in all, where it is less than usual
};

/// Thread-safe; copies share what was learnt. The runtime has to outlive the calls.
class s3_client {
 public:
  using handler = store_handler<net::http_response>;

  s3_client(runtime& threads, s3_settings settings, const s3_options& options,
            net::any_aws_credentials credentials)
      : shared_(std::make_shared<shared>(threads, std::move(settings), options,
                                         net::cached_aws_credentials(std::move(credentials)))) {}

  [[nodiscard]] const s3_settings& settings() const noexcept { return shared_->settings; }

  [[nodiscard]] runtime& threads() const noexcept { return shared_->threads; }

  /// `s3://bucket/key`.
  [[nodiscard]] std::string url(std::string_view key) const { return shared_->url(key); }

  /// Completes with a 2xx answer, or with a code and what is known about the failure. What `call`
  /// refers to stays until then.
  void async_send(s3_call call, std::stop_token stop, diagnostics& where, handler done) const {
    std::make_shared<exchange>(shared_, std::move(call), std::move(stop), where, std::move(done))
        ->begin();
  }

 private:
  struct shared {
    shared(runtime& t, s3_settings s, const s3_options& o, net::cached_aws_credentials c)
        : threads(t),
          http(t, o.http),
          settings(std::move(s)),
          payload(o.payload),
          credentials(std::move(c)),
          region_(settings.region) {}

    [[nodiscard]] std::string url(std::string_view key) const {
      std::string out = "s3://" + settings.bucket;
      if (!key.empty()) out.append("/").append(key);
      return out;
    }
    [[nodiscard]] s3_payload payload_of_uploads() const {
      if (payload != s3_payload::automatic) return payload;
      return settings.endpoint.scheme == "https" ? s3_payload::none : s3_payload::whole;
    }
    [[nodiscard]] std::string region() const {
      const std::lock_guard lock(mutex_);
      return region_;
    }
    void set_region(std::string region) {
      const std::lock_guard lock(mutex_);
      region_ = std::move(region);
    }
    /// The time by the service's clock, as far as it was told.
    [[nodiscard]] net::wall_clock::time_point now() const {
      const std::lock_guard lock(mutex_);
      return net::wall_clock::now() + skew_;
    }
    void set_time(net::wall_clock::time_point there) {
      const std::lock_guard lock(mutex_);
      skew_ = there - net::wall_clock::now();
    }
    /// The key of a day and region is made once.
    [[nodiscard]] net::v4_signing_key signing_key(const net::aws_credentials& keys,
                                                  const std::string& region,
                                                  net::wall_clock::time_point at) {
      const std::string name = net::basic_timestamp(at).substr(0, 8) + region + ' ' +
                               keys.access_key_id + ' ' + keys.secret_access_key;
      const std::lock_guard lock(mutex_);
      if (!signing_key_ || signing_key_name_ != name) {
        signing_key_.emplace(keys, at, region);
        signing_key_name_ = name;
      }
      return *signing_key_;
    }

    runtime& threads;
    const net::http_client http;
    const s3_settings settings;
    const s3_payload payload;
    const net::cached_aws_credentials credentials;

   private:
    mutable std::mutex mutex_;
    std::string region_;
    net::wall_clock::duration skew_{0};
    std::optional<net::v4_signing_key> signing_key_;
    std::string signing_key_name_;
  };

  static constexpr auto patience = std::chrono::minutes(10);

  /// One call, sent again where the first answer says how.
  struct exchange : std::enable_shared_from_this<exchange> {
    exchange(std::shared_ptr<shared> s, s3_call c, std::stop_token t, diagnostics& w, handler d)
        : common(std::move(s)),
          call(std::move(c)),
          stop(std::move(t)),
          where(w),
          done(std::move(d)) {}

    void begin() {
      common->credentials.async_find(
          stop, where,
          [self = this->shared_from_this()](std::error_code code,
                                            std::optional<net::aws_credentials> found) {
            self->take_keys(code, std::move(found));
          });
    }

    void take_keys(std::error_code code, std::optional<net::aws_credentials> found) {
      if (code) {
        where.what = "no keys for S3: " + where.what;
        where.url = common->url(call.key);
        return done(code, {});
      }
      keys = *std::move(found);
      const bool hashed = call.body && !keys.anonymous() && payload_hash.empty() &&
                          common->payload_of_uploads() == s3_payload::whole;
      constexpr std::size_t quick = 128 * 1024;  // about 0.1 ms, less than a trip to the pool
      if (hashed && call.body->size() > quick) {
        return common->threads.post([self = this->shared_from_this()] { self->send(); });
      }
      send();
    }

    /// What is signed in place of the body's bytes.
    [[nodiscard]] std::string hash_of_payload() const {
      if (!call.body || call.body->empty()) return std::string(net::empty_payload);
      switch (common->payload_of_uploads()) {
        case s3_payload::none: return std::string(net::unsigned_payload);
        case s3_payload::chunks: return std::string(net::streaming_payload);
        default: return net::sha256_hex(*call.body);
      }
    }

    void send() {
      std::error_code code;
      try {
        net::http_request request = make_request();
        common->http.async_send(
            std::move(request), stop, where,
            [self = this->shared_from_this()](std::error_code failure, net::http_response answer) {
              self->take_answer(failure, std::move(answer));
            });
      } catch (const error& e) {
        where = e.where();
        code = e.code();
      }
      if (code) done(code, {});
    }

    [[nodiscard]] net::http_request make_request() {
      region = common->region();
      const s3_place place = place_of(common->settings, region, call.key);
      net::v4_request to_sign{.method = call.method,
                              .host = place.host,
                              .path = place.path,
                              .query = call.query,
                              .headers = call.headers};
      if (common->settings.requester_pays) {
        to_sign.headers.emplace_back("x-amz-request-payer", "requester");
      }
      net::http_request request{.method = call.method};
      if (call.body) request.body = net::http_body::of(*call.body);
      if (!keys.anonymous()) sign(to_sign, request);
      request.url = place.url(common->settings);
      if (!call.query.empty()) request.url += '?' + net::v4_query(call.query);
      for (auto& [name, value] : to_sign.headers) {
        request.headers.push_back({std::move(name), std::move(value)});
      }
      request.sink = call.sink;
      if (call.on_head) {
        request.on_head = [head = call.on_head](const net::http_response& answer,
                                                net::http_sink& sink, diagnostics& about) {
          return head(answer, sink, about);
        };
      }
      request.most_text = call.most_text;
      if (call.most_time) {
        request.time = common->http.options().time;
        request.time->total = *call.most_time;
      }
      if (call.ends_late) {
        request.time = common->http.options().time;
        std::chrono::seconds& window = request.time->window;
        if (window.count() != 0) window = std::max<std::chrono::seconds>(window, patience);
      }
      return request;
    }

    void sign(net::v4_request& to_sign, net::http_request& request) {
      if (payload_hash.empty()) payload_hash = hash_of_payload();
      to_sign.payload_hash = payload_hash;
      const bool chunks = payload_hash == net::streaming_payload;
      if (chunks) {
        to_sign.headers.emplace_back("Content-Encoding", "aws-chunked");
        to_sign.headers.emplace_back("x-amz-decoded-content-length",
                                     std::to_string(call.body->size()));
      }
      signed_at = common->now();
      const net::v4_signing_key key = common->signing_key(keys, region, signed_at);
      std::string seed = net::v4_sign(to_sign, keys, key, signed_at);
      if (!chunks) return;
      auto framed = std::make_shared<net::v4_chunked_body>(
          net::v4_chunk_signer(key, signed_at, std::move(seed)), *call.body);
      request.body =
          net::http_body::from([framed](mutable_bytes into) { return framed->pull(into); },
                               net::v4_chunked_body::framed_size(call.body->size()));
    }

    void take_answer(std::error_code code, net::http_response answer) {
      if (code) {
        if (where.url.empty()) where.url = common->url(call.key);
        return done(code, std::move(answer));
      }
      if (answer.ok() && call.ends_late) answer.status = status_at_end(answer);
      if (answer.ok()) return done({}, std::move(answer));
      const s3_refusal refusal(call.method == "HEAD", answer);
      if (!keys.anonymous() && correct(refusal, answer)) return;
      code = refusal.explain(keys, common->settings.requester_pays, where);
      where.url = common->url(call.key);
      done(code, std::move(answer));
    }

    /// The status that a call which ends late would have, had the service known it.
    [[nodiscard]] static int status_at_end(const net::http_response& answer) {
      const std::string code = parse_s3_error(answer.text).code;
      if (code.empty()) return answer.status;
      return code == "PreconditionFailed" ? 412 : 500;
    }

    /// Sends the call again if the refusal says what was wrong, each cure once.
    bool correct(const s3_refusal& refusal, const net::http_response& answer) {
      const std::string elsewhere = refusal.region();
      if (s3_detail::is_region(elsewhere) && elsewhere != region && !std::exchange(moved, true)) {
        common->set_region(elsewhere);
        send();
        return true;
      }
      if (const auto there = refusal.clock(answer, signed_at);
          there && !std::exchange(set_clock, true)) {
        common->set_time(*there);
        send();
        return true;
      }
      if (refusal.keys_expired() && !std::exchange(renewed, true)) {
        renew(refusal);
        return true;
      }
      return false;
    }

    /// Asks for other keys; the same ones again are not sent again.
    void renew(s3_refusal refusal) {
      common->credentials.refuse(keys);
      common->credentials.async_find(
          stop, where,
          [self = this->shared_from_this(), refusal = std::move(refusal)](
              std::error_code code, std::optional<net::aws_credentials> found) {
            const bool other = found && (found->access_key_id != self->keys.access_key_id ||
                                         found->session_token != self->keys.session_token);
            if (!code && other) return self->take_keys({}, std::move(found));
            if (code == errc::canceled) return self->done(code, {});
            code = refusal.explain(self->keys, self->common->settings.requester_pays, self->where);
            self->where.url = self->common->url(self->call.key);
            self->done(code, {});
          });
    }

    std::shared_ptr<shared> common;
    s3_call call;
    std::stop_token stop;
    diagnostics& where;
    handler done;
    net::aws_credentials keys{};
    std::string region{}, payload_hash{};
    net::wall_clock::time_point signed_at{};
    bool moved = false, set_clock = false, renewed = false;
  };

  std::shared_ptr<shared> shared_;
};

}  // namespace mdstream::inline v0::store
