#pragma once

#include <mdstream/net/percent.hpp>
#include <mdstream/store/http.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::store {

MDSTREAM_INLINE http::http(runtime& threads, std::string_view root, http_options options)
    : shared_(std::make_shared<const shared>(threads, root, std::move(options))) {}

MDSTREAM_INLINE bool http::serves(std::string_view url) {
  return net::detail::starts_with_ignoring_case(url, "http://") ||
         net::detail::starts_with_ignoring_case(url, "https://");
}

MDSTREAM_INLINE void http::async_size(std::string key, std::stop_token stop, diagnostics& where,
                                      store_handler<std::uint64_t> done) const {
  async_version(std::move(key), std::move(stop), where, detail::size_only(std::move(done)));
}

MDSTREAM_INLINE void http::async_version(std::string key, std::stop_token stop, diagnostics& where,
                                         store_handler<object_version> done) const {
  if (refused(key, where)) return done(errc::invalid_argument, {});
  net::http_request request = shared_->request("HEAD", key);
  shared_->client.async_send(
      std::move(request), stop, where,
      [common = shared_, key = std::move(key), stop, &where, done = std::move(done)](
          std::error_code code, net::http_response answer) mutable {
        if (code) return done(code, {});
        const auto bytes = detail::content_length(answer.headers);
        if (answer.ok() && bytes) return done({}, {*bytes, detail::tag_of(answer.headers)});
        const bool tells_nothing =
            answer.ok() || answer.status == 403 || answer.status == 405 || answer.status == 501;
        if (tells_nothing) return probe(common, key, std::move(stop), where, std::move(done));
        done(net::failure_of(answer, common->url(key), where), {});
      });
}

MDSTREAM_INLINE void http::async_read(std::string key, std::uint64_t offset, mutable_bytes into,
                                      std::stop_token stop, diagnostics& where,
                                      store_handler<std::size_t> done) const {
  read(std::move(key), std::nullopt, offset, detail::range_target::memory(into), std::move(stop),
       where, detail::length_only(std::move(done)));
}

MDSTREAM_INLINE void http::async_read_version(std::string key, const object_version& held,
                                              std::uint64_t offset, mutable_bytes into,
                                              std::stop_token stop, diagnostics& where,
                                              store_handler<std::size_t> done) const {
  read(std::move(key), held, offset, detail::range_target::memory(into), std::move(stop), where,
       detail::length_only(std::move(done)));
}

MDSTREAM_INLINE void http::async_stream(std::string key, std::optional<object_version> held,
                                        std::uint64_t offset, std::uint64_t count, byte_taker take,
                                        std::stop_token stop, diagnostics& where,
                                        store_handler<object_version> done) const {
  read(std::move(key), std::move(held), offset,
       detail::range_target::stream(std::move(take), count), std::move(stop), where,
       detail::version_only(std::move(done)));
}

MDSTREAM_INLINE http::shared::shared(runtime& threads, std::string_view root, http_options o)
    : options(std::move(o)), client(threads, options.client) {
  if (!net::parse_http_url(root)) {
    throw error(errc::invalid_argument, diagnostics{.what = "this is no http or https URL",
                                                    .url = net::redacted_url(root)});
  }
  const std::size_t question = root.find('?');
  if (question != std::string_view::npos) query = root.substr(question);
  base = root.substr(0, question);
  while (base.ends_with('/')) base.pop_back();
}

MDSTREAM_INLINE std::string http::shared::url(std::string_view key) const {
  return base + (key.empty() ? "" : "/") + net::percent_encode(key, "/") + query;
}

MDSTREAM_INLINE net::http_request http::shared::request(std::string method,
                                                        std::string_view key) const {
  return {.method = std::move(method),
          .url = url(key),
          .headers = options.headers,
          .redirects = options.redirects};
}

MDSTREAM_INLINE bool http::refused(std::string_view key, diagnostics& where) const {
  if (key_is_safe(key)) return false;
  where = {.what = "the key \"" + std::string(key) + "\" leaves the store or names nothing in it",
           .url = url("")};
  return true;
}

MDSTREAM_INLINE std::error_code http::read_only(std::string_view key, std::string_view what,
                                                diagnostics& where, bool needs_key) const {
  if (needs_key && refused(key, where)) return errc::invalid_argument;
  where = {.what = "a web server cannot be " + std::string(what), .url = url(key)};
  return errc::unsupported;
}

MDSTREAM_INLINE void http::probe(const std::shared_ptr<const shared>& common,
                                 const std::string& key, std::stop_token stop, diagnostics& where,
                                 store_handler<object_version> done) {
  net::http_request request = common->request("GET", key);
  request.headers.push_back({"Range", "bytes=0-0"});
  request.sink = net::http_sink{.until_full = true};
  common->client.async_send(std::move(request), std::move(stop), where,
                            [common, key, &where, done = std::move(done)](
                                std::error_code code, net::http_response answer) mutable {
                              if (code) return done(code, {});
                              const auto bytes = detail::object_bytes(answer);
                              if ((answer.ok() || answer.status == 416) && bytes) {
                                return done({}, {*bytes, detail::tag_of(answer.headers)});
                              }
                              code = net::failure_of(answer, common->url(key), where);
                              if (!code) {
                                code = errc::unsupported;
                                where = {.what = "the server does not tell the size",
                                         .url = net::redacted_url(common->url(key))};
                              }
                              done(code, {});
                            });
}

MDSTREAM_INLINE void http::read(std::string key, std::optional<object_version> version,
                                std::uint64_t offset, detail::range_target target,
                                std::stop_token stop, diagnostics& where,
                                detail::range_handler done) const {
  if (refused(key, where)) return done(errc::invalid_argument, 0, {});
  if (target.most == 0) {  // there is no range of no bytes; whether there is an object is told
    return async_version(std::move(key), std::move(stop), where,
                         detail::without_length(std::move(done)));
  }
  auto state = std::make_shared<reading>(reading{shared_,
                                                 std::move(key),
                                                 {offset, target.most, std::move(version)},
                                                 std::move(target),
                                                 std::move(stop),
                                                 where,
                                                 std::move(done)});
  net::http_request request = shared_->request("GET", state->key);
  request.headers.push_back({"Range", state->asked.header()});
  if (state->asked.version && state->asked.version->tag.starts_with('"')) {
    request.headers.push_back({"If-Match", state->asked.version->tag});
  }
  request.sink = state->target.sink(state);
  request.on_head = [state](const net::http_response& head, net::http_sink& sink,
                            diagnostics& about) { return take_head(*state, head, sink, about); };
  shared_->client.async_send(std::move(request), state->stop, where,
                             [state](std::error_code code, net::http_response answer) {
                               take_answer(state, code, std::move(answer));
                             });
}

MDSTREAM_INLINE std::error_code http::take_head(reading& state, const net::http_response& head,
                                                net::http_sink& sink, diagnostics& about) {
  if (!head.ok()) return {};
  diagnostics wrong;
  if (const auto code = detail::check_range(state.asked, head, state.promise, wrong)) {
    about = std::move(wrong);
    return code;
  }
  sink.skip = state.promise.skip;
  sink.until_full = head.status == 200;
  state.ends_by_itself = state.promise.expected || head.headers.find("Transfer-Encoding");
  return {};
}

MDSTREAM_INLINE void http::take_answer(const std::shared_ptr<reading>& state, std::error_code code,
                                       net::http_response answer) {
  const bool range = answer.status == 206 && state->ends_by_itself;
  if (code) {
    return state->done(code, range ? static_cast<std::size_t>(answer.received) : 0,
                       state->promise.found);
  }
  if (answer.status == 416) return take_beyond_end(state, answer);
  if (answer.status == 412 && state->asked.version) {
    state->where = {.url = net::redacted_url(state->common->url(state->key))};
    return state->done(detail::tell_of_change(state->where, "it has another ETag than at first"), 0,
                       state->promise.found);
  }
  if (!answer.ok()) {
    return state->done(net::failure_of(answer, state->common->url(state->key), state->where), 0,
                       {});
  }
  const bool full = answer.received == state->target.most;
  const bool short_of_promise =
      state->promise.expected && answer.received != *state->promise.expected;
  if (short_of_promise || (!full && !state->ends_by_itself)) {
    state->where = {
        .what = "the body ended after " + std::to_string(answer.received) + " bytes of the range",
        .url = net::redacted_url(state->common->url(state->key))};
    return state->done(errc::unavailable, 0, state->promise.found);
  }
  object_version& found = state->promise.found;
  if (found.bytes == 0) found.bytes = state->asked.offset + answer.received;
  state->done({}, static_cast<std::size_t>(answer.received), found);
}

MDSTREAM_INLINE void http::take_beyond_end(const std::shared_ptr<reading>& state,
                                           const net::http_response& answer) {
  const auto decide = [state](std::uint64_t bytes) {
    diagnostics wrong{.url = net::redacted_url(state->common->url(state->key))};
    const std::error_code code = detail::check_beyond_end(state->asked, bytes, wrong);
    if (code) state->where = std::move(wrong);
    state->done(code, 0, {.bytes = bytes});
  };
  const auto text = answer.headers.find("Content-Range");
  const auto range = text ? net::content_range::parse(*text) : std::nullopt;
  if (range && range->total) return decide(*range->total);
  http(state->common)
      .async_size(state->key, state->stop, state->where,
                  [state, decide](std::error_code code, std::uint64_t bytes) {
                    if (code) return state->done(code, 0, {});
                    decide(bytes);
                  });
}

}  // namespace mdstream::inline v0::store
