#pragma once

/// One request on its way through libcurl: options in, callbacks, what came of it.

#include <mdstream/net/body_receiver.hpp>
#include <mdstream/net/curl/handles.hpp>
#include <mdstream/net/http_message.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::net::detail {

/// The state of one request from `async_send` to its completion. For the io thread, once begun.
class http_transfer {
 public:
  using handler = unique_function<void(std::error_code, http_response)>;

  http_transfer(http_request request, std::shared_ptr<const http_client_options> options,
                std::stop_token stop, diagnostics& where, handler done)
      : request_(std::move(request)),
        options_(std::move(options)),
        stop_(std::move(stop)),
        where_(where),
        done_(std::move(done)),
        receiver_(std::move(request_.sink), request_.most_text),
        redirects_left_(request_.redirects) {}
  http_transfer(const http_transfer&) = delete;
  http_transfer& operator=(const http_transfer&) = delete;

  [[nodiscard]] const std::stop_token& stop() const noexcept { return stop_; }
  [[nodiscard]] CURL* easy() const noexcept { return easy_.get(); }

  /// Puts the request's options on a handle that has none. Throws what is wrong with them.
  void prepare(curl_easy_handle easy) {
    easy_ = std::move(easy);
    started_ = std::chrono::steady_clock::now();
    require_sound(request_);
    set_callbacks();
    set_limits();
    set_security();
    set_message();
  }

  /// `host:port` of whom the request goes to, as libcurl keeps what it has resolved.
  [[nodiscard]] std::string server() const {
    const auto to = parse_http_url(request_.url);
    if (!to) return {};
    return to->host + ':' + std::to_string(to->port.value_or(to->scheme == "https" ? 443 : 80));
  }
  /// The address and port that it was, or is, connected with.
  [[nodiscard]] std::string peer() const {
    char* address = nullptr;
    long port = 0;
    curl_easy_getinfo(easy_.get(), CURLINFO_PRIMARY_IP, &address);
    curl_easy_getinfo(easy_.get(), CURLINFO_PRIMARY_PORT, &port);
    return (address == nullptr ? "" : address) + (' ' + std::to_string(port));
  }
  /// What libcurl has resolved before is not taken. For a prepared request.
  void resolve_anew() {
    forgotten_.add('-' + server());
    set_option(easy_.get(), CURLOPT_RESOLVE, forgotten_.get());
  }
  /// Whether an exchange ended so because of its connection.
  [[nodiscard]] static bool connection_failed(CURLcode ended) noexcept {
    return ended != CURLE_OK && ended != CURLE_WRITE_ERROR && ended != CURLE_ABORTED_BY_CALLBACK &&
           (code_of_curl(ended) == errc::unavailable || ended == CURLE_PEER_FAILED_VERIFICATION);
  }

  [[nodiscard]] curl_easy_handle take_handle() noexcept { return std::move(easy_); }

  /// Whether the ended exchange was a redirect that is followed: then the handle is ready for the
  /// next one.
  [[nodiscard]] bool follow(CURLcode ended) {
    if (ended != CURLE_OK || !redirecting_) return false;
    redirecting_ = false;
    char* next = nullptr;
    curl_easy_getinfo(easy_.get(), CURLINFO_REDIRECT_URL, &next);
    std::string target = next == nullptr ? "" : next;
    const auto to = parse_http_url(target), from = parse_http_url(request_.url);
    answer_.leads_away = request_.redirects_within && !(to && from && same_origin(*from, *to));
    if (answer_.leads_away) return false;
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

  /// Tells the caller. Call once, after the handle was taken off the multi handle.
  void complete(CURLcode ended) {
    flush();  // first: what the taker throws says more than how the connection ended
    if (!failed_ && ended != CURLE_OK && !(ended == CURLE_WRITE_ERROR && has_enough_)) {
      fail_from_curl(ended);
    }
    // libcurl takes a connection that ends within the headers for the end of an empty body.
    if (!head_done_) fail(errc::unavailable, "the connection ended within the headers");
    finish();
  }
  void complete_with(const std::error_code& code, diagnostics what) {
    take_failure(code, std::move(what));
    finish();
  }
  void complete_canceled() {
    flush();  // who stops a request that hangs goes on behind what came
    complete_with(errc::canceled, {.what = "the request was cancelled"});
  }

 private:
  void flush() {
    guarded(0, [this] {
      receiver_.flush();
      return 0;
    });
  }

  void finish() {
    handler done = std::move(done_);
    done(failed_, std::move(answer_));
  }

  void fail(errc code, std::string what) {
    if (!failed_) take_failure(code, {.what = std::move(what)});
  }

  /// A failure that names no place is the request's: what takes its bytes may name a file.
  void take_failure(const std::error_code& code, diagnostics what) {
    failed_ = code;
    where_ = std::move(what);
    if (where_.url.empty()) where_.url = request_.shown_name();
  }

  void fail_from_curl(CURLcode ended) {
    std::string cause = error_text_[0] != '\0' ? error_text_ : curl_easy_strerror(ended);
    for (char& c : cause) {
      if (static_cast<unsigned char>(c) < 0x20) c = ' ';
    }
    if (ended == CURLE_PEER_FAILED_VERIFICATION || ended == CURLE_SSL_CACERT_BADFILE) {
      return take_failure(
          code_of_curl(ended),
          {.what = "the server's certificate is not trusted; where a proxy inspects TLS, "
                   "SSL_CERT_FILE or CURL_CA_BUNDLE names the file of its authority",
           .cause = std::move(cause)});
    }
    take_failure(code_of_curl(ended), {.what = "the request failed", .cause = std::move(cause)});
  }

  [[nodiscard]] static errc code_of_curl(CURLcode code) noexcept {
    switch (code) {
      case CURLE_URL_MALFORMAT:
      case CURLE_UNSUPPORTED_PROTOCOL:
      case CURLE_SSL_CACERT_BADFILE: return errc::invalid_argument;
      case CURLE_PEER_FAILED_VERIFICATION:
      case CURLE_SSL_ISSUER_ERROR:
      case CURLE_SSL_PINNEDPUBKEYNOTMATCH: return errc::permission_denied;
      case CURLE_WEIRD_SERVER_REPLY:
      case CURLE_BAD_CONTENT_ENCODING:
#if LIBCURL_VERSION_NUM >= 0x080600
      case CURLE_TOO_LARGE:
#endif
      case CURLE_TOO_MANY_REDIRECTS: return errc::corrupt;
      case CURLE_OUT_OF_MEMORY:
      case CURLE_BAD_FUNCTION_ARGUMENT:
      case CURLE_UNKNOWN_OPTION:
      case CURLE_NOT_BUILT_IN: return errc::io_error;
      default: return errc::unavailable;
    }
  }

  void set_callbacks() {
    CURL* const easy = easy_.get();
    set_option(easy, CURLOPT_ERRORBUFFER, error_text_);
    set_option(easy, CURLOPT_HEADERFUNCTION, &on_header);
    set_option(easy, CURLOPT_HEADERDATA, this);
    set_option(easy, CURLOPT_WRITEFUNCTION, &on_body);
    set_option(easy, CURLOPT_WRITEDATA, this);
    set_option(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  }

  [[nodiscard]] const http_time_limits& limits() const noexcept {
    return request_.time ? *request_.time : options_->time;
  }

  void set_limits() {
    CURL* const easy = easy_.get();
    const http_time_limits& time = limits();
    set_option(easy, CURLOPT_NOSIGNAL, 1L);
    set_option(easy, CURLOPT_QUICK_EXIT, 1L);
    set_option(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(time.connect.count()));
    set_option(easy, CURLOPT_LOW_SPEED_LIMIT, static_cast<long>(time.bytes_per_second));
    set_option(easy, CURLOPT_LOW_SPEED_TIME, static_cast<long>(time.window.count()));
    set_total_limit();
    // One recv takes what is there; a buffer beyond what is expected is memory for nothing.
    const std::uint64_t expected = receiver_.has_sink() ? receiver_.sink().room() : 0;
    set_option(easy, CURLOPT_BUFFERSIZE,
               static_cast<long>(std::clamp<std::uint64_t>(expected, 16 << 10, 512 << 10)));
  }

  /// What is left of the total, which redirects share.
  void set_total_limit() {
    if (limits().total.count() == 0) return;
    const auto left = limits().total - std::chrono::duration_cast<std::chrono::milliseconds>(
                                           std::chrono::steady_clock::now() - started_);
    set_option(easy_.get(), CURLOPT_TIMEOUT_MS, std::max(1L, static_cast<long>(left.count())));
  }

  void set_security() {
    CURL* const easy = easy_.get();
    set_option(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    set_option(easy, CURLOPT_FOLLOWLOCATION, 0L);
    const auto name = [easy](const std::string& value, auto... options) {
      if (!value.empty()) (set_option(easy, options, value.c_str()), ...);
    };
    name(options_->ca_file, CURLOPT_CAINFO, CURLOPT_PROXY_CAINFO);
    name(options_->ca_directory, CURLOPT_CAPATH, CURLOPT_PROXY_CAPATH);
    name(options_->client_certificate, CURLOPT_SSLCERT);
    name(options_->client_key, CURLOPT_SSLKEY);
    name(options_->proxy, CURLOPT_PROXY);
    if (options_->direct) set_option(easy, CURLOPT_PROXY, "");
  }

  void set_message() {
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
    if (request_.method == "HEAD") set_option(easy, CURLOPT_NOBODY, 1L);
    set_option(easy, CURLOPT_CUSTOMREQUEST, request_.method.c_str());
    set_headers();
  }

  void set_headers() {
    lines_.clear();
    for (const http_header& each : request_.headers) {
      lines_.add(each.value.empty() ? each.name + ';' : each.name + ": " + each.value);
    }
    lines_.add("Expect:");  // waiting for leave to send costs a round trip, or a second
    set_option(easy_.get(), CURLOPT_HTTPHEADER, lines_.get());
  }

  /// Whatever may be a credential stays with the server that it was meant for.
  void drop_private_headers() {
    std::erase_if(request_.headers, [](const http_header& each) {
      return !equal_ignoring_case(each.name, "Range") &&
             !equal_ignoring_case(each.name, "Accept") &&
             !starts_with_ignoring_case(each.name, "If-");
    });
  }

  /// Runs a callback of libcurl's; what it throws ends the transfer.
  template <class Result, class F>
  Result guarded(Result on_failure, F f) noexcept {
    try {
      return f();
    } catch (const error& e) {
      if (!failed_) take_failure(e.code(), e.where());
    } catch (const std::exception& e) {
      fail(errc::io_error, std::string("handling the answer failed: ") + e.what());
    } catch (...) {
      fail(errc::io_error, "handling the answer failed");
    }
    return on_failure;
  }

  static std::size_t on_header(char* data, std::size_t one, std::size_t count,
                               void* self) noexcept {
    auto& transfer = *static_cast<http_transfer*>(self);
    return transfer.guarded(std::size_t{0}, [&] {
      return transfer.take_header({data, one * count}) ? one * count : std::size_t{0};
    });
  }

  bool take_header(std::string_view line) {
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

  void begin_answer() {
    answer_.headers.clear();
    head_done_ = false;
  }

  bool head_is_complete() {
    long status = 0;
    curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
    if (status < 200) return true;  // the final answer is still to come
    head_done_ = true;
    answer_.status = static_cast<int>(status);
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

  [[nodiscard]] bool is_followed() const {
    const int s = answer_.status;
    const bool moved = s == 301 || s == 302 || s == 303 || s == 307 || s == 308;
    return moved && redirects_left_ > 0 && answer_.headers.find("Location") &&
           (request_.method == "GET" || request_.method == "HEAD");
  }

  static std::size_t on_body(char* data, std::size_t one, std::size_t count, void* self) noexcept {
    auto& transfer = *static_cast<http_transfer*>(self);
    return transfer.guarded(std::size_t{0}, [&] {
      return transfer.take_body({reinterpret_cast<const std::byte*>(data), one * count});
    });
  }

  /// Returns fewer bytes than it was given to end the transfer.
  std::size_t take_body(bytes_view bytes) {
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

  static std::size_t on_more(char* into, std::size_t one, std::size_t count, void* self) noexcept {
    auto& transfer = *static_cast<http_transfer*>(self);
    return transfer.guarded(std::size_t{CURL_READFUNC_ABORT}, [&] {
      return transfer.give_body({reinterpret_cast<std::byte*>(into), one * count});
    });
  }

  std::size_t give_body(mutable_bytes into) {
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

  /// A connection that died before it took the request is replaced: the body begins again.
  static int on_seek(void* self, curl_off_t offset, int origin) noexcept {
    auto& transfer = *static_cast<http_transfer*>(self);
    const bool possible = !transfer.request_.body.pull && origin == SEEK_SET && offset >= 0 &&
                          static_cast<std::uint64_t>(offset) <= transfer.request_.body.size();
    if (possible) transfer.sent_ = static_cast<std::uint64_t>(offset);
    return possible ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL;
  }

  http_request request_;
  std::shared_ptr<const http_client_options> options_;
  std::stop_token stop_;
  diagnostics& where_;
  handler done_;
  body_receiver receiver_;
  unsigned redirects_left_;

  curl_easy_handle easy_;
  curl_list lines_, forgotten_;
  std::chrono::steady_clock::time_point started_;
  http_response answer_;
  std::error_code failed_;
  std::size_t header_bytes_ = 0;
  std::uint64_t sent_ = 0;
  bool head_done_ = false;
  bool to_sink_ = false;
  bool redirecting_ = false;
  bool has_enough_ = false;
  char error_text_[CURL_ERROR_SIZE] = {};
};

}  // namespace mdstream::inline v0::net::detail
