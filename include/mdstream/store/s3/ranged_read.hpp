#pragma once

/// One range of an object, read with one GET. Needs libcurl and OpenSSL: link mdstream::s3.

#include <mdstream/store/detail/http_range.hpp>
#include <mdstream/store/s3/client.hpp>

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
class s3_ranged_read : public std::enable_shared_from_this<s3_ranged_read> {
 public:
  s3_ranged_read(s3_client client, std::string key, std::uint64_t offset, detail::range_target into,
                 std::optional<object_version> version, std::stop_token stop, diagnostics& where,
                 detail::range_handler done)
      : client_(std::move(client)),
        key_(std::move(key)),
        asked_{offset, into.most, std::move(version)},
        stop_(std::move(stop)),
        where_(where),
        done_(std::move(done)),
        target(std::move(into)) {}

  void begin() {
    s3_call call{.key = key_, .headers = {{"Range", asked_.header()}}};
    if (asked_.version && asked_.version->tag.starts_with('"')) {
      call.headers.emplace_back("If-Match", asked_.version->tag);
    }
    call.sink = target.sink(shared_from_this());
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
    if (const auto code = detail::check_range(asked_, head, promise, what)) {
      about = {.what = std::move(what), .url = client_.url(key_)};
      return code;
    }
    sink.skip = promise.skip;
    sink.until_full = head.status == 200;
    return {};
  }

  void take_answer(std::error_code code, const net::http_response& answer) {
    if (code && answer.status == 416) return take_beyond_end(answer);
    if (code && answer.status == 412 && asked_.version) {
      where_ = {.what = "the object changed while it was read", .url = client_.url(key_)};
      return done_(errc::corrupt, 0, {});
    }
    const auto got = static_cast<std::size_t>(answer.received);
    if (code) return done_(code, answer.status == 206 ? got : 0, promise.found);
    if (got != promise.expected.value_or(target.most)) {
      where_ = {.what = "the body ended after " + std::to_string(got) + " bytes of the range",
                .url = client_.url(key_)};
      return done_(errc::unavailable, 0, promise.found);
    }
    done_({}, got, promise.found);
  }

  /// Nothing is left at the offset, unless the answer itself or the version held says that there
  /// is.
  void take_beyond_end(const net::http_response& answer) {
    const auto total = detail::object_bytes(answer);
    std::string what;
    const std::error_code code = detail::check_beyond_end(asked_, total, what);
    where_ = {};
    if (code) where_ = {.what = std::move(what), .url = client_.url(key_)};
    done_(code, 0, {.bytes = total.value_or(0)});
  }

  const s3_client client_;
  const std::string key_;
  const detail::range_question asked_;
  const std::stop_token stop_;
  diagnostics& where_;
  detail::range_handler done_;

 public:  // for the sink
  const detail::range_target target;
  detail::range_promise promise{};
};

}  // namespace mdstream::inline v0::store
