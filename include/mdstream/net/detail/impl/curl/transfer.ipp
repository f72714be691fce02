#pragma once

#include <mdstream/net/curl/failure.hpp>
#include <mdstream/net/curl/transfer.hpp>
#include <mdstream/version.hpp>

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <algorithm>
#include <chrono>
#include <utility>

namespace mdstream::inline v0::net::detail {

MDSTREAM_INLINE http_transfer::http_transfer(http_request request,
                                             std::shared_ptr<const http_client_options> options,
                                             std::stop_token stop, diagnostics& where, handler done)
    : request_(std::move(request)),
      options_(std::move(options)),
      stop_(std::move(stop)),
      where_(where),
      done_(std::move(done)),
      receiver_(std::move(request_.sink), request_.most_text),
      redirects_left_(request_.redirects) {}

MDSTREAM_INLINE const std::stop_token& http_transfer::stop() const noexcept { return stop_; }

MDSTREAM_INLINE CURL* http_transfer::easy() const noexcept { return easy_.get(); }

MDSTREAM_INLINE void http_transfer::prepare(curl_easy_handle easy) {
  easy_ = std::move(easy);
  started_ = std::chrono::steady_clock::now();
  require_sound(request_);
  set_callbacks();
  set_limits();
  set_security();
  set_message();
}

MDSTREAM_INLINE std::string http_transfer::server() const {
  const auto to = parse_http_url(request_.url);
  if (!to) return {};
  return to->host + ':' + std::to_string(to->port.value_or(to->scheme == "https" ? 443 : 80));
}

MDSTREAM_INLINE std::string http_transfer::peer() const {
  char* address = nullptr;
  long port = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_PRIMARY_IP, &address);
  curl_easy_getinfo(easy_.get(), CURLINFO_PRIMARY_PORT, &port);
  return (address == nullptr ? "" : address) + (' ' + std::to_string(port));
}

MDSTREAM_INLINE void http_transfer::resolve_anew() {
  forgotten_.add('-' + server());
  set_option(easy_.get(), CURLOPT_RESOLVE, forgotten_.get());
}

MDSTREAM_INLINE CURLcode http_transfer::end_of(CURLcode ended) const noexcept {
  return stalled_ && ended == CURLE_ABORTED_BY_CALLBACK ? CURLE_OPERATION_TIMEDOUT : ended;
}

MDSTREAM_INLINE bool http_transfer::connection_failed(CURLcode ended) noexcept {
  return ended != CURLE_OK && ended != CURLE_WRITE_ERROR && ended != CURLE_ABORTED_BY_CALLBACK &&
         (code_of_curl(ended) == errc::unavailable || ended == CURLE_PEER_FAILED_VERIFICATION);
}

MDSTREAM_INLINE curl_easy_handle http_transfer::take_handle() noexcept { return std::move(easy_); }

MDSTREAM_INLINE bool http_transfer::follow(CURLcode ended) {
  if (ended != CURLE_OK || !redirecting_) return false;
  redirecting_ = false;
  char* next = nullptr;
  curl_easy_getinfo(easy_.get(), CURLINFO_REDIRECT_URL, &next);
  std::string target = next == nullptr ? "" : next;
  const auto to = parse_http_url(target), from = parse_http_url(request_.url);
  answer_.leads_away = request_.redirects_within && !(to && from && same_origin(*from, *to));
  if (answer_.leads_away) {
    answer_.leads_to = std::move(target);
    return false;
  }
  if (!to || !from || (from->scheme == "https" && to->scheme != "https")) {
    fail(errc::permission_denied, "the server redirects to " + redacted_url(target) +
                                      ", where this request must not follow");
    return false;
  }
  if (!same_origin(*from, *to)) {
    drop_private_headers();
  } else if (to->user_info.empty() && !from->user_info.empty()) {
    target.insert(target.find("://") + 3, from->user_info + '@');
  }
  --redirects_left_;
  request_.url = std::move(target);
  begin_answer();
  answer_.text.clear();
  set_option(easy_.get(), CURLOPT_URL, request_.url.c_str());
  set_headers();
  set_total_limit();
  return true;
}

MDSTREAM_INLINE void http_transfer::complete(CURLcode ended) {
  flush();  // first: what the taker throws says more than how the connection ended
  if (!failed_ && ended != CURLE_OK && !(ended == CURLE_WRITE_ERROR && has_enough_)) {
    fail_from_curl(ended);
  }
  // libcurl takes a connection that ends within the headers for the end of an empty body.
  if (!head_done_) fail(errc::unavailable, "the connection ended within the headers");
  finish();
}

MDSTREAM_INLINE void http_transfer::complete_with(const std::error_code& code, diagnostics what) {
  take_failure(code, std::move(what));
  finish();
}

MDSTREAM_INLINE void http_transfer::complete_canceled() {
  flush();  // a request that is stopped because it hangs goes on behind this
  complete_with(errc::canceled, {.what = "the request was cancelled"});
}

MDSTREAM_INLINE void http_transfer::flush() {
  guarded(0, [this] {
    receiver_.flush();
    return 0;
  });
}

MDSTREAM_INLINE void http_transfer::finish() {
  handler done = std::move(done_);
  done(failed_, std::move(answer_));
}

MDSTREAM_INLINE void http_transfer::fail(errc code, std::string what) {
  if (!failed_) take_failure(code, {.what = std::move(what)});
}

MDSTREAM_INLINE void http_transfer::take_failure(const std::error_code& code, diagnostics what) {
  failed_ = code;
  where_ = std::move(what);
  if (where_.url.empty()) where_.url = request_.shown_name();
}

MDSTREAM_INLINE void http_transfer::fail_from_curl(CURLcode ended) {
  std::string cause = error_text_[0] != '\0' ? error_text_ : curl_easy_strerror(ended);
  if (stalled_)
    cause = "the upload stood still for " + std::to_string(limits().window.count()) + " s";
  for (char& c : cause) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  curl_failure told = failure_of_curl(ended, cause, options_->client_certificate);
  take_failure(told.code, {.what = std::move(told.what), .cause = std::move(cause)});
}

MDSTREAM_INLINE void http_transfer::set_callbacks() {
  CURL* const easy = easy_.get();
  set_option(easy, CURLOPT_ERRORBUFFER, error_text_);
  set_option(easy, CURLOPT_HEADERFUNCTION, &on_header);
  set_option(easy, CURLOPT_HEADERDATA, this);
  set_option(easy, CURLOPT_WRITEFUNCTION, &on_body);
  set_option(easy, CURLOPT_WRITEDATA, this);
  set_option(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
}

MDSTREAM_INLINE const http_time_limits& http_transfer::limits() const noexcept {
  return request_.time ? *request_.time : options_->time;
}

MDSTREAM_INLINE void http_transfer::set_limits() {
  CURL* const easy = easy_.get();
  const http_time_limits& time = limits();
  set_option(easy, CURLOPT_NOSIGNAL, 1L);
#if LIBCURL_VERSION_NUM >= 0x075700
  // Before 7.87 a process that ends waits for a name that is being resolved.
  set_option(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
  set_option(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(time.connect.count()));
  if (request_.body.size() > 0 || (receiver_.has_sink() && receiver_.sink().take)) {
    set_option(easy, CURLOPT_NOPROGRESS, 0L);
    set_option(easy, CURLOPT_XFERINFOFUNCTION, &on_progress);
    set_option(easy, CURLOPT_XFERINFODATA, this);
    moved_at_ = handed_out_at_ = started_;
  }
  // An upload is watched by `on_progress`, which libcurl calls every second for this limit's sake.
  const std::chrono::seconds window =
      request_.body.size() > 0 ? std::chrono::hours(24) : time.window;
  set_option(easy, CURLOPT_LOW_SPEED_LIMIT, static_cast<long>(time.bytes_per_second));
  set_option(easy, CURLOPT_LOW_SPEED_TIME, static_cast<long>(window.count()));
  set_total_limit();
  // One recv takes what is there; a buffer beyond what is expected is memory for nothing.
  const std::uint64_t expected = receiver_.has_sink() ? receiver_.sink().room() : 0;
  set_option(easy, CURLOPT_BUFFERSIZE,
             static_cast<long>(std::clamp<std::uint64_t>(expected, 16 << 10, 512 << 10)));
}

MDSTREAM_INLINE int http_transfer::on_progress(void* self, curl_off_t, curl_off_t got, curl_off_t,
                                               curl_off_t put) noexcept {
  auto& transfer = *static_cast<http_transfer*>(self);
  transfer.stalled_ = transfer.request_.body.size() > 0 &&
                      transfer.upload_stands_still(got + put - transfer.kept_by_system());
  return transfer.stalled_ || !transfer.hand_out_each_second() ? 1 : 0;
}

MDSTREAM_INLINE bool http_transfer::hand_out_each_second() {
  const auto now = std::chrono::steady_clock::now();
  if (now - handed_out_at_ < std::chrono::seconds(1)) return true;
  handed_out_at_ = now;
  return guarded(false, [this] {
    receiver_.flush();
    return true;
  });
}

MDSTREAM_INLINE bool http_transfer::upload_stands_still(curl_off_t moved) {
  const auto now = std::chrono::steady_clock::now();
  const http_time_limits& time = limits();
  // Less than before: the body began again, on another connection.
  if (moved < moved_ || moved - moved_ >= static_cast<curl_off_t>(time.bytes_per_second)) {
    moved_ = moved;
    moved_at_ = now;
  }
  return time.bytes_per_second != 0 && time.window.count() != 0 && now - moved_at_ > time.window;
}

MDSTREAM_INLINE curl_off_t http_transfer::kept_by_system() const noexcept {
  int bytes = 0;
  if (socket_ == CURL_SOCKET_BAD || ::ioctl(socket_, SIOCOUTQ, &bytes) != 0) return 0;
  return bytes;
}

MDSTREAM_INLINE void http_transfer::set_total_limit() {
  if (limits().total.count() == 0) return;
  const auto left = limits().total - std::chrono::duration_cast<std::chrono::milliseconds>(
                                         std::chrono::steady_clock::now() - started_);
  set_option(easy_.get(), CURLOPT_TIMEOUT_MS, std::max(1L, static_cast<long>(left.count())));
}

MDSTREAM_INLINE void http_transfer::set_security() {
  CURL* const easy = easy_.get();
  set_option(easy, protocols_option, web_protocols);
  set_option(easy, CURLOPT_FOLLOWLOCATION, 0L);
  const auto name = [easy](const std::string& value, auto... options) {
    if (!value.empty()) (set_option(easy, options, value.c_str()), ...);
  };
  if (!options_->ca_file.empty() || !options_->ca_directory.empty()) {
    // Both, else libcurl goes on trusting the system's beside the one that is named. One that
    // knows no directories has none to forget.
    const auto trust = [easy](const std::string& path, auto... options) {
      if (path.empty()) return ((void)curl_easy_setopt(easy, options, nullptr), ...);
      (set_option(easy, options, path.c_str()), ...);
    };
    trust(options_->ca_file, CURLOPT_CAINFO, CURLOPT_PROXY_CAINFO);
    trust(options_->ca_directory, CURLOPT_CAPATH, CURLOPT_PROXY_CAPATH);
  }
  name(options_->client_certificate, CURLOPT_SSLCERT);
  name(options_->client_key, CURLOPT_SSLKEY);
  name(options_->proxy, CURLOPT_PROXY);
  if (options_->direct) set_option(easy, CURLOPT_PROXY, "");
}

MDSTREAM_INLINE void http_transfer::set_message() {
  CURL* const easy = easy_.get();
  set_option(easy, CURLOPT_URL, request_.url.c_str());
  set_option(easy, CURLOPT_DNS_SHUFFLE_ADDRESSES, 1L);  // the first is not to have all clients
  set_option(easy, CURLOPT_PATH_AS_IS, 1L);
  set_option(easy, CURLOPT_HTTP_VERSION,
             static_cast<long>(options_->http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
  if (options_->http2) set_option(easy, CURLOPT_PIPEWAIT, 1L);
  set_option(easy, CURLOPT_USERAGENT, options_->user_agent.c_str());
  if (request_.body.present) {
    set_option(easy, CURLOPT_UPLOAD, 1L);
    set_option(easy, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
    set_option(easy, CURLOPT_READFUNCTION, &on_more);
    set_option(easy, CURLOPT_READDATA, this);
    set_option(easy, CURLOPT_SEEKFUNCTION, &on_seek);
    set_option(easy, CURLOPT_SEEKDATA, this);
    set_option(easy, CURLOPT_UPLOAD_BUFFERSIZE, 512L << 10);
  }
  if (request_.once) set_option(easy, CURLOPT_FRESH_CONNECT, 1L);
  if (request_.method == "HEAD") set_option(easy, CURLOPT_NOBODY, 1L);
  set_option(easy, CURLOPT_CUSTOMREQUEST, request_.method.c_str());
  set_headers();
}

MDSTREAM_INLINE void http_transfer::set_headers() {
  lines_.clear();
  for (const http_header& each : request_.headers) {
    lines_.add(each.value.empty() ? each.name + ';' : each.name + ": " + each.value);
  }
  lines_.add("Expect:");  // waiting for leave to send costs a round trip, or a second
  set_option(easy_.get(), CURLOPT_HTTPHEADER, lines_.get());
}

MDSTREAM_INLINE void http_transfer::drop_private_headers() {
  std::erase_if(request_.headers, [](const http_header& each) {
    return !mdstream::detail::equal_ignoring_case(each.name, "Range") &&
           !mdstream::detail::equal_ignoring_case(each.name, "Accept") &&
           !mdstream::detail::starts_with_ignoring_case(each.name, "If-");
  });
}

MDSTREAM_INLINE std::size_t http_transfer::on_header(char* data, std::size_t one, std::size_t count,
                                                     void* self) noexcept {
  auto& transfer = *static_cast<http_transfer*>(self);
  return transfer.guarded(std::size_t{0}, [&] {
    return transfer.take_header({data, one * count}) ? one * count : std::size_t{0};
  });
}

MDSTREAM_INLINE bool http_transfer::take_header(std::string_view line) {
  header_bytes_ += line.size();
  if (header_bytes_ > options_->most_header_bytes ||
      answer_.headers.size() > options_->most_headers) {
    fail(errc::corrupt, "the answer has too many headers");
    return false;
  }
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  if (head_done_) return true;  // trailers
  if (line.starts_with("HTTP/")) {
    begin_answer();
    return true;
  }
  if (line.empty()) return head_is_complete();
  if (line.front() == ' ' || line.front() == '\t') return true;  // a folded line, long obsolete
  if (answer_.headers.add_line(line)) return true;
  fail(errc::corrupt, "the answer has a header that is none");
  return false;
}

MDSTREAM_INLINE void http_transfer::begin_answer() {
  answer_.headers.clear();
  head_done_ = false;
}

MDSTREAM_INLINE bool http_transfer::head_is_complete() {
  long status = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status < 200) return true;  // the final answer is still to come
  head_done_ = true;
  answer_.status = static_cast<int>(status);
  // libcurl takes the last of two lengths, and reads to the end of the connection where one has too
  // many digits: what was cut short would count as all there is.
  if (std::string why = wrong_length(answer_.headers); !why.empty()) {
    fail(status >= 500 ? errc::unavailable : errc::corrupt, std::move(why));
    return false;
  }
  redirecting_ = is_followed();
  if (redirecting_) return true;
  if (request_.on_head) {
    http_sink none;
    http_sink& sink = receiver_.has_sink() ? receiver_.sink() : none;
    if (const auto refused = request_.on_head(answer_, sink, where_)) {
      take_failure(refused, std::move(where_));
      return false;
    }
  }
  to_sink_ = answer_.ok() && receiver_.has_sink();
  return true;
}

MDSTREAM_INLINE bool http_transfer::is_followed() const {
  const int s = answer_.status;
  const bool moved = s == 301 || s == 302 || s == 303 || s == 307 || s == 308;
  return moved && redirects_left_ > 0 && answer_.headers.find("Location") &&
         (request_.method == "GET" || request_.method == "HEAD");
}

MDSTREAM_INLINE std::size_t http_transfer::on_body(char* data, std::size_t one, std::size_t count,
                                                   void* self) noexcept {
  auto& transfer = *static_cast<http_transfer*>(self);
  return transfer.guarded(std::size_t{0}, [&] {
    return transfer.take_body({reinterpret_cast<const std::byte*>(data), one * count});
  });
}

MDSTREAM_INLINE std::size_t http_transfer::take_body(bytes_view bytes) {
  const auto verdict = receiver_.put(bytes, to_sink_, answer_);
  if (verdict == body_receiver::verdict::more) return bytes.size();
  if (verdict == body_receiver::verdict::full) {
    has_enough_ = true;
  } else if (to_sink_) {
    fail(errc::corrupt, "the answer has more bytes than were asked for");
  } else if (answer_.ok()) {
    fail(errc::corrupt,
         "the answer has more than " + std::to_string(request_.most_text) + " bytes");
  } else {
    has_enough_ = true;  // the status says enough
    if (redirecting_) fail(errc::corrupt, "the body of a redirect does not end");
  }
  return bytes.empty() ? 1 : 0;
}

MDSTREAM_INLINE std::size_t http_transfer::on_more(char* into, std::size_t one, std::size_t count,
                                                   void* self) noexcept {
  auto& transfer = *static_cast<http_transfer*>(self);
  return transfer.guarded(std::size_t{CURL_READFUNC_ABORT}, [&] {
    return transfer.give_body({reinterpret_cast<std::byte*>(into), one * count});
  });
}

MDSTREAM_INLINE std::size_t http_transfer::give_body(mutable_bytes into) {
  http_body& body = request_.body;
  const auto left =
      static_cast<std::size_t>(std::min<std::uint64_t>(body.size() - sent_, into.size()));
  into = into.first(left);
  if (into.empty()) return 0;
  std::size_t given = left;
  if (body.pull) {
    given = std::min(body.pull(into), left);
    if (given == 0) throw error(errc::invalid_argument, "the body ended before its size");
  } else {
    const bytes_view some = body.span.subspan(static_cast<std::size_t>(sent_), left);
    std::memcpy(into.data(), some.data(), left);
    if (options_->body_read) options_->body_read(some);
  }
  sent_ += given;
  return given;
}

MDSTREAM_INLINE int http_transfer::on_seek(void* self, curl_off_t offset, int origin) noexcept {
  auto& transfer = *static_cast<http_transfer*>(self);
  const bool possible = !transfer.request_.body.pull && origin == SEEK_SET && offset >= 0 &&
                        static_cast<std::uint64_t>(offset) <= transfer.request_.body.size();
  if (possible) transfer.sent_ = static_cast<std::uint64_t>(offset);
  return possible ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL;
}

}  // namespace mdstream::inline v0::net::detail
