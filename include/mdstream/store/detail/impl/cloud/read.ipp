#pragma once

#include <mdstream/store/detail/cloud/read.hpp>
#include <mdstream/version.hpp>

#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE cloud_read::cloud_read(cloud_client client, std::string key, std::uint64_t offset,
                                       detail::range_target into,
                                       std::optional<object_version> held, std::stop_token stop,
                                       diagnostics& where, detail::range_handler done)
    : client_(std::move(client)),
      key_(std::move(key)),
      held_(std::move(held)),
      asked_{offset, into.most, held_},
      stop_(std::move(stop)),
      where_(where),
      done_(std::move(done)),
      target(std::move(into)) {
  if (asked_.version && !client_.api().tags_are_etags()) asked_.version->tag.clear();
  if (!target.take) return;
  target.take = [this, take = std::move(target.take)](const object_version& found,
                                                      bytes_view bytes) {
    if (check_) check_->put(bytes);
    take(found, bytes);
  };
}

MDSTREAM_INLINE void cloud_read::begin() {
  signed_ = client_.api().get_signed(key_, held_ ? &*held_ : nullptr);
  if (!signed_) return ask();
  is_kept_ = true;
  send(*signed_);
}

MDSTREAM_INLINE void cloud_read::ask() {
  is_kept_ = false;
  signed_.reset();
  send(client_.api().get(key_, held_ ? &*held_ : nullptr));
}

MDSTREAM_INLINE bool cloud_read::is_refused(const net::http_response& answer) noexcept {
  return answer.status == 401 || answer.status == 403 || answer.status == 404 ||
         answer.status == 410;
}

MDSTREAM_INLINE void cloud_read::send(cloud_call call) {
  call.headers.push_back({"Range", asked_.header()});
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

MDSTREAM_INLINE std::error_code cloud_read::take_head(const net::http_response& head,
                                                      net::http_sink& sink, diagnostics& about) {
  if (!head.ok()) return {};
  if (head.status == 206 && detail::content_length(head.headers) == 0) {
    return take_empty_range(about);
  }
  diagnostics wrong{.url = client_.api().url(key_)};
  if (const auto code = detail::check_range(asked_, head, promise, wrong)) {
    about = std::move(wrong);
    return code;
  }
  sink.skip = promise.skip;
  sink.until_full = head.status == 200;
  const bool whole = asked_.offset == 0 && promise.expected == promise.found.bytes;
  check_ = whole ? client_.api().check(head) : nullptr;
  return {};
}

MDSTREAM_INLINE std::error_code cloud_read::take_empty_range(diagnostics& about) {
  promise.expected = 0;
  diagnostics wrong{.url = client_.api().url(key_)};
  const std::error_code code = detail::check_beyond_end(asked_, std::nullopt, wrong);
  if (code) about = std::move(wrong);
  return code;
}

MDSTREAM_INLINE void cloud_read::take_answer(std::error_code code,
                                             const net::http_response& answer) {
  if (!code && answer.leads_away) return follow(answer);
  if (code && signed_ && code != errc::canceled && answer.status != 416) {
    client_.api().forget_signed(*signed_);
    if (is_kept_ && is_refused(answer)) {
      where_ = {};
      return ask();
    }
  }
  if (code && answer.status == 416) return take_beyond_end(answer);
  if (code && answer.status == 412 && held_) {
    where_ = {.url = client_.api().url(key_)};
    return done_(detail::tell_of_change(where_, "it is another version than at first"), 0,
                 promise.found);
  }
  const auto got = static_cast<std::size_t>(answer.received);
  if (code) return done_(code, answer.status == 206 ? got : 0, promise.found);
  if (got != promise.expected.value_or(target.most)) {
    return fail(errc::unavailable,
                "the body ended after " + std::to_string(got) + " bytes of the range");
  }
  if (!check_) return done_({}, got, promise.found);
  // On the pool: looking at a large object takes as long as reading it.
  client_.threads().post([self = shared_from_this(), got] { self->finish_check(got); });
}

MDSTREAM_INLINE void cloud_read::follow(const net::http_response& answer) {
  try {
    signed_ = client_.api().get_at(key_, answer);
  } catch (const error& e) {
    where_ = e.where();
    where_.url = client_.api().url(key_);
    return done_(e.code(), 0, {});
  }
  send(*signed_);
}

MDSTREAM_INLINE void cloud_read::finish_check(std::size_t got) {
  try {
    if (!target.into.empty()) check_->put(target.into.first(got));
    check_->finish();
  } catch (const error& e) {
    where_ = e.where();
    where_.url = client_.api().url(key_);
    return done_(e.code(), 0, {});
  }
  done_({}, got, promise.found);
}

MDSTREAM_INLINE void cloud_read::take_beyond_end(const net::http_response& answer) {
  const auto total = detail::object_bytes(answer);
  diagnostics about{.url = client_.api().url(key_)};
  const std::error_code code = detail::check_beyond_end(asked_, total, about);
  where_ = code ? std::move(about) : diagnostics();
  done_(code, 0, {.bytes = total.value_or(0)});
}

MDSTREAM_INLINE void cloud_read::fail(errc code, std::string what) {
  where_ = {.what = std::move(what), .url = client_.api().url(key_)};
  done_(code, 0, promise.found);
}

}  // namespace mdstream::inline v0::detail
