#pragma once

/// What is sent to a web server and what comes back. Needs no library; `http_client` sends it.

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/detail/unique_function.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/net/environment.hpp>
#include <mdstream/net/http_headers.hpp>
#include <mdstream/net/http_url.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace mdstream::inline v0::net {

/// An answer. Its body is where the request's sink put it, or in `text`.
struct http_response {
  int status = 0;
  http_headers headers{};
  std::uint64_t received = 0;  ///< bytes that the sink got
  std::string text{};          ///< the body, where it did not go into the sink
  bool leads_away = false;     ///< a redirect that `http_request::redirects_within` leaves
  std::string leads_to{};      ///< where that goes, as a whole URL

  [[nodiscard]] bool ok() const noexcept { return status >= 200 && status < 300; }
};

/// Where the body of an answer goes: into memory, or to a function that takes its bytes in their
/// order. More bytes than there is room for are a failure, so that no server writes beyond what was
/// asked for.
struct http_sink {
  mutable_bytes into{};
  std::uint64_t skip = 0;   ///< bytes of the body to drop before the first one is kept
  bool until_full = false;  ///< a longer body is no failure: the transfer ends once full
  /// In place of `into`; called on an io thread, whose other transfers stand still meanwhile: may
  /// write to a local file, must not wait for a call or a consumer. Throwing ends the transfer.
  std::function<void(bytes_view)> take{};
  std::uint64_t most = 0;  ///< that `take` gets

  [[nodiscard]] std::uint64_t room() const noexcept { return take ? most : into.size(); }
};

/// Bytes that are sent. The empty one sends no body and no Content-Length of its own.
struct http_body {
  /// Called on the io thread for the next bytes: fills a part of the span and returns how many;
  /// never 0 before `bytes` were given. Throwing gives the request up.
  using pull_function = mdstream::detail::unique_function<std::size_t(mutable_bytes)>;

  bool present = false;
  bytes_view span{};             ///< stays until the completion
  pull_function pull{};          ///< used in place of `span` where it is set
  std::uint64_t pull_bytes = 0;  ///< all that `pull` will give

  [[nodiscard]] static http_body of(bytes_view bytes) { return {.present = true, .span = bytes}; }
  [[nodiscard]] static http_body from(pull_function pull, std::uint64_t bytes);
  [[nodiscard]] std::uint64_t size() const noexcept { return pull ? pull_bytes : span.size(); }
};

/// How long a request may take, from when it is sent. Zero: no limit; for `connect`, libcurl's own.
struct http_time_limits {
  std::chrono::milliseconds total{0};  ///< of the whole request; 0: no limit
  std::chrono::milliseconds connect = std::chrono::seconds(10);  ///< to get a connection
  /// A transfer slower than `bytes_per_second` for the whole of `window` fails.
  std::uint32_t bytes_per_second = 1024;
  std::chrono::seconds window = std::chrono::seconds(20);  ///< see `bytes_per_second`
};

struct http_request {
  /// Looks at status and headers before the first byte of the body, on the io thread. May change
  /// the request's sink, and refuses the answer by returning a code (with diagnostics). Called for
  /// the final answer alone, whatever its status; must not wait.
  using head_function = mdstream::detail::unique_function<std::error_code(
      const http_response&, http_sink&, diagnostics&)>;

  std::string method = "GET";
  std::string url{};                   ///< http or https; sent byte for byte as it is here
  std::string name{};                  ///< of what it asks for, in messages; empty: its URL
  std::vector<http_header> headers{};  ///< sent as they are; an empty value sends an empty header
  http_body body{};
  /// for bodies of 2xx answers; others, and without it all, are text
  std::optional<http_sink> sink{};
  head_function on_head{};
  std::size_t most_text = 1 << 20;  ///< bytes of `text`; error bodies are cut there
  /// Redirects to follow (GET and HEAD alone), to http and https, never from https to http. To
  /// another server go only Range, Accept and If-… headers. 0: a redirect is an answer.
  unsigned redirects = 0;
  bool redirects_within = false;           ///< a redirect to another server is an answer, too
  std::optional<http_time_limits> time{};  ///< in place of the client's
  /// Sent once at most: over a connection of its own. On one that was used before, libcurl sends a
  /// request again where that ends without an answer, which may be after the server has done it.
  bool once = false;

  /// What messages call it: no secret, no signed query.
  [[nodiscard]] std::string shown_name() const { return name.empty() ? redacted_url(url) : name; }
};

struct http_client_options {
  http_time_limits time{};       ///< how long a request may take
  std::size_t connections = 64;  ///< requests at a time; fewer if descriptors are few
  /// A file of certificate authorities (PEM), in place of the system's. If this and `ca_directory`
  /// are empty, the variables CURL_CA_BUNDLE, SSL_CERT_FILE, REQUESTS_CA_BUNDLE and SSL_CERT_DIR
  /// name them.
  std::string ca_file{};
  std::string ca_directory{};        ///< a directory of hashed certificates, see `ca_file`
  std::string client_certificate{};  ///< a file in PEM, for servers that ask for it
  std::string client_key{};          ///< the file of its private key, in PEM
  std::string proxy{};  ///< default: http_proxy, https_proxy, all_proxy and no_proxy decide
  bool direct = false;  ///< no proxy, whatever the environment says
  bool http2 = false;   ///< offer HTTP/2 over TLS; HTTP/1.1 moves bulk data faster
  std::string user_agent = "mdstream";         ///< the header User-Agent
  std::size_t most_headers = 256;              ///< headers of an answer, at most
  std::size_t most_header_bytes = 128 * 1024;  ///< bytes of an answer's headers, at most
  /// If set, called with each part of a request's body that was read from the caller's memory, to
  /// be hashed or sent: a program that maps a file can drop these pages. They are read again if
  /// the request is repeated. Called on any thread; must not wait. An exception that it throws ends
  /// the request before its last bytes are sent: throw if the bytes are no longer those of one
  /// file.
  std::function<void(bytes_view)> body_read{};
};

namespace detail {

/// The one rule for all stores about the certificates to trust.
[[nodiscard]] http_client_options with_trust(http_client_options options,
                                             const environment& variables);

/// Throws errc::invalid_argument for a request that no server shall see.
void require_sound(const http_request& request);

}  // namespace detail

/// What a status says about trying again and about whose fault it is; no code for 2xx.
[[nodiscard]] std::error_code error_of_status(int status) noexcept;

/// The failure that an answer is, none for 2xx: fills `where` with the status, the URL as it may be
/// shown, and the pause that the server asks for.
[[nodiscard]] std::error_code failure_of(const http_response& answer, std::string_view url,
                                         diagnostics& where);

}  // namespace mdstream::inline v0::net

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/http_message.ipp>
#endif
