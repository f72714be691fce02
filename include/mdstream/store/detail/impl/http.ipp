#pragma once

#include <mdstream/net/percent.hpp>
#include <mdstream/store/detail/call.hpp>
#include <mdstream/store/detail/http_range.hpp>
#include <mdstream/store/http.hpp>
#include <mdstream/version.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

namespace mdstream::inline v0 {

namespace detail {

/// What all calls of a `store::http` share.
class web_server {
 public:
  web_server(runtime& threads, std::string_view root, store::http_options options)
      : options_(std::move(options)), client_(threads, options_.client) {
    if (!net::parse_http_url(root)) {
      throw error(errc::invalid_argument, diagnostics{.what = "this is no http or https URL",
                                                      .url = net::redacted_url(root)});
    }
    const std::size_t question = root.find('?');
    if (question != std::string_view::npos) query_ = root.substr(question);
    base_ = root.substr(0, question);
    while (base_.ends_with('/')) base_.pop_back();
  }

  [[nodiscard]] const net::http_client& client() const noexcept { return client_; }

  /// With its query: not for messages.
  [[nodiscard]] std::string url(std::string_view key) const {
    return base_ + (key.empty() ? "" : "/") + net::percent_encode(key, "/") + query_;
  }
  [[nodiscard]] std::string public_url(std::string_view key) const {
    return net::redacted_url(url(key));
  }

  [[nodiscard]] net::http_request request(std::string method, std::string_view key) const {
    return {.method = std::move(method),
            .url = url(key),
            .headers = options_.headers,
            .redirects = options_.redirects};
  }

 private:
  const store::http_options options_;
  const net::http_client client_;
  std::string base_, query_;
};

using web_server_ptr = std::shared_ptr<const web_server>;

/// The version by the first byte, for servers that do not answer HEAD.
MDSTREAM_INLINE void probe_web_object(const web_server_ptr& server, const std::string& key,
                                      std::stop_token stop, diagnostics& where,
                                      answer_handler done) {
  net::http_request request = server->request("GET", key);
  request.headers.push_back({"Range", "bytes=0-0"});
  request.sink = net::http_sink{.until_full = true};
  server->client().async_send(std::move(request), std::move(stop), where,
                              [server, key, &where, done = std::move(done)](
                                  std::error_code code, net::http_response answer) mutable {
                                if (code) return done(code, {});
                                const auto bytes = object_bytes(answer);
                                if ((answer.ok() || answer.status == 416) && bytes)
                                  return done({}, {.object = {*bytes, tag_of(answer.headers)}});
                                code = net::failure_of(answer, server->url(key), where);
                                if (!code) {
                                  code = errc::unsupported;
                                  where = {.what = "the server does not tell the size",
                                           .url = server->public_url(key)};
                                }
                                done(code, {});
                              });
}

MDSTREAM_INLINE void stat_web_object(const web_server_ptr& server, const std::string& key,
                                     std::stop_token stop, diagnostics& where,
                                     answer_handler done) {
  server->client().async_send(
      server->request("HEAD", key), stop, where,
      [server, key, stop, &where, done = std::move(done)](std::error_code code,
                                                          net::http_response answer) mutable {
        if (code) return done(code, {});
        const auto bytes = content_length(answer.headers);
        if (answer.ok() && bytes) return done({}, {.object = {*bytes, tag_of(answer.headers)}});
        const bool tells_nothing =
            answer.ok() || answer.status == 403 || answer.status == 405 || answer.status == 501;
        if (tells_nothing)
          return probe_web_object(server, key, std::move(stop), where, std::move(done));
        done(net::failure_of(answer, server->url(key), where), {});
      });
}

/// One read on its way.
class web_read : public std::enable_shared_from_this<web_read> {
 public:
  web_read(web_server_ptr server, const store_call& call, std::stop_token stop, diagnostics& about,
           answer_handler done)
      : target(range_target::of(call)),
        server_(std::move(server)),
        key_(call.key),
        asked_{call.offset, target.most, call.held},
        stop_(std::move(stop)),
        where_(about),
        done_(answer_range(call, std::move(done))) {}

  void begin() {
    net::http_request request = server_->request("GET", key_);
    request.headers.push_back({"Range", asked_.header()});
    if (asked_.version && asked_.version->tag.starts_with('"'))
      request.headers.push_back({"If-Match", asked_.version->tag});
    request.sink = target.sink(shared_from_this());
    request.on_head = [self = shared_from_this()](const net::http_response& head,
                                                  net::http_sink& sink, diagnostics& about) {
      return self->take_head(head, sink, about);
    };
    server_->client().async_send(
        std::move(request), stop_, where_,
        [self = shared_from_this()](std::error_code code, const net::http_response& answer) {
          self->take_answer(code, answer);
        });
  }

  // For the sink.
  const range_target target;
  range_promise promise{};

 private:
  [[nodiscard]] std::error_code take_head(const net::http_response& head, net::http_sink& sink,
                                          diagnostics& about) {
    if (!head.ok()) return {};
    diagnostics wrong;
    if (const auto code = check_range(asked_, head, promise, wrong)) {
      about = std::move(wrong);
      return code;
    }
    sink.skip = promise.skip;
    sink.until_full = head.status == 200;
    ends_by_itself_ = promise.expected || head.headers.find("Transfer-Encoding");
    return {};
  }

  void take_answer(std::error_code code, const net::http_response& answer) {
    const auto got = static_cast<std::size_t>(answer.received);
    if (code) return done_(code, answer.status == 206 && ends_by_itself_ ? got : 0, promise.found);
    if (answer.status == 416) return take_beyond_end(answer);
    if (answer.status == 412 && asked_.version) {
      where_ = {.url = server_->public_url(key_)};
      return done_(tell_of_change(where_, "it has another ETag than at first"), 0, promise.found);
    }
    if (!answer.ok()) return done_(net::failure_of(answer, server_->url(key_), where_), 0, {});
    const bool full = answer.received == target.most;
    const bool short_of_promise = promise.expected && answer.received != *promise.expected;
    if (short_of_promise || (!full && !ends_by_itself_)) {
      where_ = {
          .what = "the body ended after " + std::to_string(answer.received) + " bytes of the range",
          .url = server_->public_url(key_)};
      return done_(errc::unavailable, 0, promise.found);
    }
    if (promise.found.bytes == 0) promise.found.bytes = asked_.offset + answer.received;
    done_({}, got, promise.found);
  }

  /// 416: nothing is left at the offset, if the size says so too.
  void take_beyond_end(const net::http_response& answer) {
    const auto text = answer.headers.find("Content-Range");
    const auto range = text ? net::content_range::parse(*text) : std::nullopt;
    if (range && range->total) return end_beyond(*range->total);
    stat_web_object(server_, key_, stop_, where_,
                    [self = shared_from_this()](std::error_code code, const store_answer& told) {
                      if (code) return self->done_(code, 0, {});
                      self->end_beyond(told.object.bytes);
                    });
  }
  void end_beyond(std::uint64_t bytes) {
    diagnostics wrong{.url = server_->public_url(key_)};
    const std::error_code code = check_beyond_end(asked_, bytes, wrong);
    if (code) where_ = std::move(wrong);
    done_(code, 0, {.bytes = bytes});
  }

  const web_server_ptr server_;
  const std::string key_;
  const range_question asked_;
  const std::stop_token stop_;
  diagnostics& where_;
  range_handler done_;
  bool ends_by_itself_ = false;  // the body has an end that a broken connection does not have
};

/// What stands behind `store::http`.
class web_store final : public store_interface {
 public:
  explicit web_store(web_server_ptr server) : server_(std::move(server)) {}

  void start(store_call call, std::stop_token stop, diagnostics& where,
             answer_handler done) const override {
    if (call.verb != store_verb::list && !key_is_safe(call.key)) {
      where = {.what = "the key \"" + call.key + "\" leaves the store or names nothing in it",
               .url = url("")};
      return done(errc::invalid_argument, {});
    }
    switch (call.verb) {
      case store_verb::stat: break;
      case store_verb::read:
        if (call.amount() == 0) break;  // there is no range of no bytes; is there an object?
        return std::make_shared<web_read>(server_, call, std::move(stop), where, std::move(done))
            ->begin();
      case store_verb::write: return refuse("written to", call.key, where, std::move(done));
      case store_verb::list: return refuse("listed", call.key, where, std::move(done));
      case store_verb::remove: return refuse("removed from", call.key, where, std::move(done));
    }
    stat_web_object(server_, call.key, std::move(stop), where, std::move(done));
  }

  [[nodiscard]] std::string url(std::string_view key) const override {
    return server_->public_url(key);
  }
  [[nodiscard]] store_abilities abilities() const override { return {.streams = true}; }

 private:
  void refuse(const std::string& what, std::string_view key, diagnostics& where,
              answer_handler done) const {
    where = {.what = "a web server cannot be " + what, .url = url(key)};
    done(errc::unsupported, {});
  }

  web_server_ptr server_;
};

}  // namespace detail

namespace store {

MDSTREAM_INLINE http::http(runtime& threads, std::string_view root, http_options options)
    : any_async_store(std::make_shared<const detail::web_store>(
          std::make_shared<const detail::web_server>(threads, root, std::move(options)))) {}

MDSTREAM_INLINE bool http::serves(std::string_view url) {
  return net::detail::starts_with_ignoring_case(url, "http://") ||
         net::detail::starts_with_ignoring_case(url, "https://");
}

}  // namespace store

}  // namespace mdstream::inline v0
