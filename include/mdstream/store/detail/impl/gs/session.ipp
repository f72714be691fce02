#pragma once

#include <mdstream/net/http_headers.hpp>
#include <mdstream/net/http_url.hpp>
#include <mdstream/store/detail/gs/session.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

namespace mdstream::inline v0::detail::gs {

MDSTREAM_INLINE upload_session session_of(const net::http_response& answer,
                                          std::string_view endpoint) {
  std::string url(answer.headers.find("Location").value_or(""));
  const auto there = net::parse_http_url(url), here = net::parse_http_url(endpoint);
  if (!there) throw error(errc::corrupt, "the answer has no session for the upload");
  if (here && here->scheme == "https" && there->scheme != "https") {
    throw error(errc::permission_denied,
                "the upload's session is at a server without encryption: " + there->origin());
  }
  const bool keyless = !here || !net::same_origin(*here, *there);
  return {.url = std::move(url), .keyless = keyless};
}

MDSTREAM_INLINE std::uint64_t kept_of(const net::http_response& answer) {
  const auto range = answer.headers.find("Range");
  if (!range) return 0;
  constexpr std::string_view mark = "bytes=0-";
  const auto last = range->starts_with(mark)
                        ? net::detail::whole_number<std::uint64_t>(range->substr(mark.size()))
                        : std::nullopt;
  if (!last || *last == ~std::uint64_t{0}) {
    throw error(errc::corrupt, "the service does not tell how much of the upload it has");
  }
  return *last + 1;
}

}  // namespace mdstream::inline v0::detail::gs

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE gs_session_upload::gs_session_upload(cloud_client client, upload_plan plan,
                                                     gs_upload about, bytes_view bytes,
                                                     std::stop_token stop, diagnostics& where,
                                                     store_handler<> done)
    : client_(std::move(client)),
      plan_(plan),
      about_(std::move(about)),
      bytes_(bytes),
      made_(plan.retry, client_.budget()),
      stop_(std::move(stop)),
      where_(where),
      done_(std::move(done)) {}

MDSTREAM_INLINE void gs_session_upload::begin() {
  send(plan_.retry, about_.open,
       [self = shared_from_this()](std::error_code code, const net::http_response& answer,
                                   diagnostics about) {
         if (!code) {
           code = read(about, [&] {
             const gs_upload& of = self->about_;
             self->session_ = of.read_session ? of.read_session(answer)
                                              : detail::gs::session_of(answer, of.endpoint);
           });
         }
         if (code) return self->complete(code, std::move(about));
         self->next();
       });
}

MDSTREAM_INLINE void gs_session_upload::send(retry_policy retry, cloud_call call,
                                             repeated_call::handler then) {
  std::make_shared<repeated_call>(
      client_, retry, [call = std::move(call)] { return call; }, stop_, std::move(then),
      client_.uploads())
      ->send();
}

MDSTREAM_INLINE void gs_session_upload::next() {
  const auto rest = bytes_.subspan(static_cast<std::size_t>(kept_));
  const bytes_view part = is_unsure_ ? bytes_view()
                                     : rest.first(static_cast<std::size_t>(
                                           std::min<std::uint64_t>(rest.size(), plan_.part_bytes)));
  const std::uint64_t end = kept_ + part.size();
  sent_ = std::max(sent_, end);
  retry_policy once = plan_.retry;
  once.attempts = 1;
  cloud_call call{.method = "PUT",
                  .url = session_.url,
                  .key = about_.key,
                  .headers = session_.headers,
                  .body = part,
                  .also_good = 308,
                  .keyless = session_.keyless,
                  .secret_query = true};
  const std::string range =
      is_unsure_ ? "*" : std::to_string(kept_) + '-' + std::to_string(end - 1);
  call.headers.push_back({"Content-Range", "bytes " + range + '/' + std::to_string(bytes_.size())});
  send(once, std::move(call),
       [self = shared_from_this()](std::error_code code, const net::http_response& answer,
                                   const diagnostics& about) { self->take(code, answer, about); });
}

MDSTREAM_INLINE void gs_session_upload::take(std::error_code code, const net::http_response& answer,
                                             diagnostics about) {
  if (code == errc::not_found) return session_is_gone(std::move(about));
  if (!code && answer.status != 308) {
    code = read(about, [&] { take_end(answer); });
    begins_anew_ = is_retryable(code);
    return complete(code, std::move(about));
  }
  if (!code) code = read(about, [&] { take_kept(detail::gs::kept_of(answer)); });
  if (!code) return next();
  is_unsure_ = true;
  if (!stop_.stop_requested()) {
    if (const auto pause = made_.pause_after(code, about)) {
      return client_.threads().after(
          *pause, stop_, [self = shared_from_this()](std::error_code) { self->next(); });
    }
  }
  abort(code, std::move(about));
}

MDSTREAM_INLINE void gs_session_upload::take_end(const net::http_response& answer) {
  if (sent_ < bytes_.size()) throw error(errc::corrupt, "the upload ended before its last part");
  about_.require_whole(answer);
  made_.succeeded();
}

MDSTREAM_INLINE void gs_session_upload::take_kept(std::uint64_t kept) {
  if (kept > sent_) throw error(errc::corrupt, "the service has more bytes than were sent");
  constexpr std::uint64_t unit = 256 << 10;  // what the service keeps is a multiple of it
  const bool was_asked = std::exchange(is_unsure_, false);
  const bool is_more = kept >= led_on_at_ + unit;
  kept_ = kept;
  if (is_more) {
    led_on_at_ = kept;
    made_.led_on();
  }
  if (kept == bytes_.size()) {  // to ask again is to ask for the end
    throw error(errc::unavailable, "the service has all bytes, and waits for more");
  }
  if (!is_more && !was_asked) {
    throw error(errc::unavailable, "the service kept less than 256 KiB of what was sent");
  }
}

MDSTREAM_INLINE void gs_session_upload::session_is_gone(diagnostics about) {
  about.cause = "the service has given up the session of the upload";
  begins_anew_ = true;
  complete(errc::unavailable, std::move(about));
}

MDSTREAM_INLINE void gs_session_upload::abort(std::error_code code, diagnostics about) {
  send_abort(
      client_, plan_.retry,
      [self = shared_from_this()] {
        return cloud_call{.method = "DELETE",
                          .url = self->session_.url,
                          .key = self->about_.key,
                          .headers = self->session_.headers,
                          .also_good = 499,
                          .keyless = self->session_.keyless,
                          .secret_query = true};
      },
      stop_.stop_requested(),
      [self = shared_from_this(), code, about = std::move(about)](
          std::error_code, const net::http_response&) mutable {
        self->complete(code, std::move(about));
      });
}

MDSTREAM_INLINE void gs_session_upload::complete(std::error_code code, diagnostics about) {
  if (code) {
    where_ = std::move(about);
    if (where_.url.empty()) where_.url = client_.api().url(about_.key);
    where_.is_final = !begins_anew_;
    if (stop_.stop_requested()) code = errc::canceled;
  }
  done_(code);
}

}  // namespace mdstream::inline v0::detail
