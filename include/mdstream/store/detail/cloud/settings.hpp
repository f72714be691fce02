#pragma once

/// What the stores of all clouds are told in the same way. Pure.

#include <mdstream/core/error.hpp>
#include <mdstream/core/sizes.hpp>
#include <mdstream/core/warning.hpp>
#include <mdstream/net/access.hpp>
#include <mdstream/net/environment.hpp>
#include <mdstream/net/http_message.hpp>
#include <mdstream/net/http_url.hpp>
#include <mdstream/schedule/retry.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

struct cloud_options {
  /// `http[s]://host[:port][/path]`. The default is the service's own.
  std::string endpoint{};
  /// The credentials provider of this store. The default is what the cloud's own tools use: see the
  /// store.
  std::optional<net::any_access> credentials{};
  /// Larger objects are uploaded in parts of at least this size.
  byte_size part_bytes = 16_MiB;
  unsigned parallel_parts = 4;              ///< of an object at a time, if the API allows it
  retry_policy part_retry = patient_parts;  ///< how a request of an upload is retried
  net::http_client_options http{};          ///< connections, proxy, certificates
  net::environment variables = net::process_environment();  ///< looks up the variables
  /// Gets a warning if everybody may read a file of credentials, when the store is opened.
  warning_function warn = &warn_on_stderr;
};

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0::detail::cloud {

/// `scheme://place/prefix?name=value&…`, where place and prefix are literal.
struct cloud_url {
  std::string scheme{};  ///< lower case
  std::string place{};   ///< what stands before the first slash
  std::string prefix{};  ///< the rest, without a slash at either end
  std::string query{};   ///< as it is written
  std::vector<std::pair<std::string, std::string>> parameters{};  ///< decoded
};

/// What of such a URL may stand in messages: no query, and nothing that may be a password.
[[nodiscard]] inline std::string shown(std::string_view url) { return net::redacted_url(url); }

[[nodiscard]] error bad_url(std::string_view url, std::string what);

[[nodiscard]] std::string without_slashes(std::string_view text);

[[nodiscard]] cloud_url parse_cloud_url(std::string_view url);

/// An endpoint without a slash at its end.
[[nodiscard]] std::string checked_endpoint(std::string text, const std::string& of);

/// For a URL that a service names and that lets in by itself: it is of https, or of http where the
/// service itself is asked so. Throws `errc::permission_denied`, `what` and the place, otherwise.
void require_signed_url(std::string_view url, const net::uri& service, const std::string& what);

/// A host that may be given without its scheme, as an endpoint.
[[nodiscard]] std::string with_scheme(std::string host);

}  // namespace mdstream::inline v0::detail::cloud

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/cloud/settings.ipp>
#endif
