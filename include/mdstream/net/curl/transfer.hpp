#pragma once

/// One request on its way through libcurl: options in, callbacks, what came of it.

#include <mdstream/net/body_receiver.hpp>
#include <mdstream/net/curl/handles.hpp>
#include <mdstream/net/http_message.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>

namespace mdstream::inline v0::net::detail {

/// The state of one request from `async_send` to its completion. For the io thread, once begun.
class http_transfer {
 public:
  using handler = mdstream::detail::unique_function<void(std::error_code, http_response)>;

  http_transfer(http_request request, std::shared_ptr<const http_client_options> options,
                std::stop_token stop, diagnostics& where, handler done);
  http_transfer(const http_transfer&) = delete;
  http_transfer& operator=(const http_transfer&) = delete;

  [[nodiscard]] const std::stop_token& stop() const noexcept;
  [[nodiscard]] CURL* easy() const noexcept;

  /// Puts the request's options on a handle that has none. Throws what is wrong with them.
  void prepare(curl_easy_handle easy);

  /// `host:port` of the server that the request goes to, as libcurl keeps what it has resolved.
  [[nodiscard]] std::string server() const;
  /// The address and port that it was, or is, connected with.
  [[nodiscard]] std::string peer() const;
  /// What libcurl has resolved before is not taken. For a prepared request.
  void resolve_anew();
  /// The socket of its connection, which libcurl tells nobody before the end.
  void uses(curl_socket_t socket) noexcept { socket_ = socket; }

  /// How the exchange ended, where libcurl says so: an upload that stood still ran out of time.
  [[nodiscard]] CURLcode end_of(CURLcode ended) const noexcept;
  /// Whether an exchange ended so because of its connection.
  [[nodiscard]] static bool connection_failed(CURLcode ended) noexcept;

  [[nodiscard]] curl_easy_handle take_handle() noexcept;

  /// Whether the ended exchange was a redirect that is followed: then the handle is ready for the
  /// next one.
  [[nodiscard]] bool follow(CURLcode ended);

  /// Tells the caller. Call once, after the handle was taken off the multi handle.
  void complete(CURLcode ended);
  void complete_with(const std::error_code& code, diagnostics what);
  void complete_canceled();

 private:
  void flush();

  void finish();

  void fail(errc code, std::string what);

  /// A failure that names no place is the request's: what takes its bytes may name a file.
  void take_failure(const std::error_code& code, diagnostics what);

  void fail_from_curl(CURLcode ended);

  void set_callbacks();

  [[nodiscard]] const http_time_limits& limits() const noexcept;

  void set_limits();

  /// libcurl counts an upload's bytes when the system takes them, which may keep megabytes; a slow
  /// line has minutes to do with these. What moves here is what the other side has got.
  [[nodiscard]] bool upload_stands_still(curl_off_t moved);
  [[nodiscard]] curl_off_t kept_by_system() const noexcept;

  /// libcurl calls it often while bytes move, and each second for the speed limit's sake. A slow
  /// answer's bytes are handed out then, so that what counts or shows them waits for no full block.
  static int on_progress(void* self, curl_off_t, curl_off_t got, curl_off_t,
                         curl_off_t put) noexcept;
  [[nodiscard]] bool hand_out_each_second();

  /// What is left of the total, which redirects share.
  void set_total_limit();

  void set_security();

  void set_message();

  void set_headers();

  /// Whatever may be a credential stays with the server that it was meant for.
  void drop_private_headers();

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

  static std::size_t on_header(char* data, std::size_t one, std::size_t count, void* self) noexcept;

  bool take_header(std::string_view line);

  void begin_answer();

  bool head_is_complete();

  [[nodiscard]] bool is_followed() const;

  static std::size_t on_body(char* data, std::size_t one, std::size_t count, void* self) noexcept;

  /// Returns fewer bytes than it was given to end the transfer.
  std::size_t take_body(bytes_view bytes);

  static std::size_t on_more(char* into, std::size_t one, std::size_t count, void* self) noexcept;

  std::size_t give_body(mutable_bytes into);

  /// A connection that died before it took the request is replaced: the body begins again.
  static int on_seek(void* self, curl_off_t offset, int origin) noexcept;

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
  curl_socket_t socket_ = CURL_SOCKET_BAD;
  curl_off_t moved_ = 0;  // when it moved last
  std::chrono::steady_clock::time_point moved_at_, handed_out_at_;
  bool stalled_ = false;
  bool head_done_ = false;
  bool to_sink_ = false;
  bool redirecting_ = false;
  bool has_enough_ = false;
  char error_text_[CURL_ERROR_SIZE] = {};
};

}  // namespace mdstream::inline v0::net::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/curl/transfer.ipp>
#endif
