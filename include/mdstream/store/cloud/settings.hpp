#pragma once

/// What the stores of all clouds are told in the same way. Pure.

#include <mdstream/core/error.hpp>
#include <mdstream/core/sizes.hpp>
#include <mdstream/net/access.hpp>
#include <mdstream/net/environment.hpp>
#include <mdstream/net/http_headers.hpp>
#include <mdstream/net/http_message.hpp>
#include <mdstream/net/http_url.hpp>
#include <mdstream/net/percent.hpp>
#include <mdstream/net/settings_file.hpp>
#include <mdstream/net/uri.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/store.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::store {

struct cloud_options {
  /// `http[s]://host[:port][/path]` in place of the provider's own.
  std::string endpoint{};
  /// Who supplies the keys of this store. Unset: the provider's own chain.
  std::optional<net::any_access> keys{};
  /// Larger objects are uploaded in parts of at least this size, so many at a time where the API
  /// allows it, each repeated as `part_retry` says.
  byte_size part_bytes = 16_MiB;
  unsigned parallel_parts = 4;
  retry_policy part_retry = patient_parts;
  net::http_client_options http{};
  net::environment variables = net::process_environment();
  /// Told of files of keys that everybody may read.
  warning_function warn = &warn_on_stderr;
};

namespace cloud_detail {

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

[[nodiscard]] inline error bad_url(std::string_view url, std::string what) {
  return {errc::invalid_argument, {.what = std::move(what), .url = shown(url)}};
}

[[nodiscard]] inline std::string without_slashes(std::string_view text) {
  while (text.starts_with('/')) text.remove_prefix(1);
  while (text.ends_with('/')) text.remove_suffix(1);
  return std::string(text);
}

[[nodiscard]] inline cloud_url parse_cloud_url(std::string_view url) {
  cloud_url out;
  const std::size_t slashes = url.find("://");
  if (slashes == std::string_view::npos) throw bad_url(url, "this URL has no ://");
  out.scheme = net::detail::to_lower(url.substr(0, slashes));
  std::string_view rest = url.substr(slashes + 3);
  const std::size_t question = rest.find('?');
  if (question != std::string_view::npos) out.query = rest.substr(question + 1);
  rest = rest.substr(0, question);
  const std::size_t slash = rest.find('/');
  out.place = rest.substr(0, slash);
  if (slash != std::string_view::npos) out.prefix = without_slashes(rest.substr(slash));
  if (out.place.find('@') != std::string::npos) {
    throw bad_url(url, "keys do not belong into this URL");
  }
  if (!out.prefix.empty() && !key_is_safe(out.prefix)) {
    throw bad_url(url, "the path of this URL has an empty part, . or ..");
  }
  for (std::string_view left = out.query; !left.empty();) {
    const std::size_t end = left.find('&');
    const std::string_view one = left.substr(0, end);
    left.remove_prefix(end == std::string_view::npos ? left.size() : end + 1);
    const std::size_t equals = one.find('=');
    const auto value = net::percent_decode(
        equals == std::string_view::npos ? std::string_view() : one.substr(equals + 1));
    if (!value) throw bad_url(url, "a parameter of this URL has a broken escape");
    out.parameters.emplace_back(one.substr(0, equals), *value);
  }
  return out;
}

/// An endpoint without a slash at its end.
[[nodiscard]] inline std::string checked_endpoint(std::string text, const std::string& of) {
  const auto parts = net::parse_http_url(text);
  if (!parts || !parts->user_info.empty() || !parts->query.empty()) {
    throw error(errc::invalid_argument,
                {.what = "the endpoint of " + of + " has to be http(s)://host[:port][/path]",
                 .url = net::redacted_url(text)});
  }
  while (text.ends_with('/')) text.pop_back();
  return text;
}

/// A host that may be given without its scheme, as an endpoint.
[[nodiscard]] inline std::string with_scheme(std::string host) {
  return host.find("://") == std::string::npos ? "https://" + host : host;
}

}  // namespace cloud_detail

}  // namespace mdstream::inline v0::store
