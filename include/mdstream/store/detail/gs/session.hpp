#pragma once

/// A resumable upload to Google Cloud Storage. Needs libcurl: link mdstream::gs. Source: "Resumable
/// uploads" of Cloud Storage's JSON API.

#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/detail/cloud/client.hpp>
#include <mdstream/store/detail/cloud/upload.hpp>
#include <mdstream/store/detail/shared_retry_budget.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace mdstream::inline v0::detail::gs {

/// A resumable upload's session, whose URL lets in by itself.
struct upload_session {
  std::string url{};
  bool keyless = false;  ///< of another server than the endpoint, which gets no credentials
  std::vector<net::http_header> headers{};  ///< of each of its requests
};

[[nodiscard]] upload_session session_of(const net::http_response& answer,
                                        std::string_view endpoint);

/// How many bytes the service has kept, by the answer 308: `Range: bytes=0-LAST`, or none at all.
[[nodiscard]] std::uint64_t kept_of(const net::http_response& answer);

}  // namespace mdstream::inline v0::detail::gs

namespace mdstream::inline v0::detail {

/// What of an upload by a session is its API's and not its course.
struct gs_upload {
  std::string key{};
  cloud_call open{};       ///< asks for the session
  std::string endpoint{};  ///< gets the credentials
  /// Reads the session of the answer to `open`. If not set, `session_of` does.
  std::function<gs::upload_session(const net::http_response&)> read_session{};
  std::function<void(const net::http_response&)> require_whole{};  ///< looks at the last answer
};

/// One object sent by a session, part after part, for a session takes bytes in their order. Where a
/// part is not answered for, the session is asked how far it came, and goes on from there. Keeps
/// itself until it completes; one that fails or is stopped is aborted. An attempt after which the
/// service has 256 KiB more than before counts as the first again. Where the service has given the
/// session up, or made an object of other bytes, the upload may be begun anew; else it has been
/// repeated as far as `plan` allows.
class gs_session_upload : public std::enable_shared_from_this<gs_session_upload> {
 public:
  gs_session_upload(cloud_client client, upload_plan plan, gs_upload about, bytes_view bytes,
                    std::stop_token stop, diagnostics& where, store_handler<> done);

  void begin();

 private:
  void send(retry_policy retry, cloud_call call, repeated_call::handler then);

  /// The code of what `f` throws.
  template <class F>
  [[nodiscard]] static std::error_code read(diagnostics& about, F f) {
    try {
      f();
    } catch (const error& e) {
      about = e.where();
      return e.code();
    }
    return {};
  }

  /// The next part; or, where the last was not answered for, the question how far it came.
  void next();

  void take(std::error_code code, const net::http_response& answer, diagnostics about);

  void take_end(const net::http_response& answer);

  /// What is sent next begins behind what the service has, also where that is less than before.
  void take_kept(std::uint64_t kept);

  /// Its bytes are gone with it.
  void session_is_gone(diagnostics about);

  void abort(std::error_code code, diagnostics about);

  void complete(std::error_code code, diagnostics about);

  const cloud_client client_;
  const upload_plan plan_;
  const gs_upload about_;
  const bytes_view bytes_;
  call_attempts made_;  // since the service had more than before
  const std::stop_token stop_;
  diagnostics& where_;
  store_handler<> done_;
  detail::gs::upload_session session_{};
  std::uint64_t kept_ = 0, led_on_at_ = 0, sent_ = 0;  // first bytes of the object
  bool is_unsure_ = false;                             // `kept_` is not what the service last said
  bool begins_anew_ = false;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/gs/session.ipp>
#endif
