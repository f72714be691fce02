#pragma once

/// One range of an object, read with one GET. Needs libcurl: link mdstream::curl.

#include <mdstream/store/cloud/client.hpp>
#include <mdstream/store/detail/http_range.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::store {

/// A read on its way; keeps itself until it completes. The answer's head is checked before its
/// first byte is taken.
class cloud_read : public std::enable_shared_from_this<cloud_read> {
 public:
  cloud_read(cloud_client client, std::string key, std::uint64_t offset, mutable_bytes into,
             std::optional<object_version> held, std::stop_token stop, diagnostics& where,
             store_handler<std::size_t> done)
      : client_(std::move(client)),
        key_(std::move(key)),
        held_(std::move(held)),
        asked_{offset, into.size(), held_},
        into_(into),
        stop_(std::move(stop)),
        where_(where),
        done_(std::move(done)) {
    if (asked_.version && !client_.api().tags_are_etags()) asked_.version->tag.clear();
  }

  void begin() {
    cloud_call call = client_.api().get(key_, held_ ? &*held_ : nullptr);
    call.headers.push_back({"Range", asked_.header()});
    call.sink = net::http_sink{.into = into_};
    call.on_head = [self = shared_from_this()](const net::http_response& head, net::http_sink& sink,
                                               diagnostics& about) {
      return self->take_head(head, sink, about);
    };
    client_.async_send(
        std::move(call), stop_, where_,
        [self = shared_from_this()](std::error_code code, const net::http_response& answer) {
          self->take_answer(code, answer);
        });
  }

 private:
  std::error_code take_head(const net::http_response& head, net::http_sink& sink,
                            diagnostics& about) {
    if (!head.ok()) return {};
    std::string what;
    if (head.status == 206 && detail::content_length(head.headers) == 0) {
      return take_empty_range(about);
    }
    if (const auto code = detail::check_range(asked_, head, promise_, what)) {
      about = {.what = std::move(what), .url = client_.api().url(key_)};
      return code;
    }
    sink.skip = promise_.skip;
    sink.until_full = head.status == 200;
    return {};
  }

  /// Some have a range of no bytes where others answer 416.
  std::error_code take_empty_range(diagnostics& about) {
    promise_.expected = 0;
    std::string what;
    const std::error_code code = detail::check_beyond_end(asked_, std::nullopt, what);
    if (code) about = {.what = std::move(what), .url = client_.api().url(key_)};
    return code;
  }

  void take_answer(std::error_code code, const net::http_response& answer) {
    if (code && answer.status == 416) return take_beyond_end(answer);
    if (code && answer.status == 412 && held_) {
      return fail(errc::corrupt, "the object changed while it was read");
    }
    if (code) return done_(code, 0);
    const auto got = static_cast<std::size_t>(answer.received);
    if (got != promise_.expected.value_or(into_.size())) {
      return fail(errc::unavailable,
                  "the body ended after " + std::to_string(got) + " bytes of the range");
    }
    if (asked_.offset != 0 || !is_whole(answer, got) || !client_.api().checks_whole(answer)) {
      return done_({}, got);
    }
    client_.threads().post([self = shared_from_this(), answer, got] { self->check(answer, got); });
  }

  void check(const net::http_response& answer, std::size_t got) {
    try {
      client_.api().check_whole(answer, into_.first(got));
    } catch (const error& e) {
      where_ = e.where();
      where_.url = client_.api().url(key_);
      return done_(e.code(), 0);
    }
    done_({}, got);
  }

  [[nodiscard]] static bool is_whole(const net::http_response& answer, std::size_t got) {
    const auto text = answer.headers.find("Content-Range");
    const auto range = text ? net::content_range::parse(*text) : std::nullopt;
    const auto total = range ? range->total : detail::content_length(answer.headers);
    return total == got;
  }

  /// Nothing is left at the offset, unless the answer itself or the version held says that there
  /// is.
  void take_beyond_end(const net::http_response& answer) {
    const auto text = answer.headers.find("Content-Range");
    const auto range = text ? net::content_range::parse(*text) : std::nullopt;
    std::string what;
    const std::error_code code =
        detail::check_beyond_end(asked_, range ? range->total : std::nullopt, what);
    where_ = {};
    if (code) where_ = {.what = std::move(what), .url = client_.api().url(key_)};
    done_(code, 0);
  }

  void fail(errc code, std::string what) {
    where_ = {.what = std::move(what), .url = client_.api().url(key_)};
    done_(code, 0);
  }

  const cloud_client client_;
  const std::string key_;
  const std::optional<object_version> held_;
  detail::range_question asked_;
  const mutable_bytes into_;
  const std::stop_token stop_;
  diagnostics& where_;
  store_handler<std::size_t> done_;
  detail::range_promise promise_{};
};

}  // namespace mdstream::inline v0::store
