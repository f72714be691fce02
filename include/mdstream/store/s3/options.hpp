#pragma once

/// What may be said about an S3 store, and what follows from it, the URL and the environment. Pure
/// but for the files of AWS's profiles.

#include <mdstream/core/error.hpp>
#include <mdstream/core/sizes.hpp>
#include <mdstream/net/aws_config.hpp>
#include <mdstream/net/aws_credentials.hpp>
#include <mdstream/net/credential_chain.hpp>
#include <mdstream/net/environment.hpp>
#include <mdstream/net/http_message.hpp>
#include <mdstream/net/http_url.hpp>
#include <mdstream/net/percent.hpp>
#include <mdstream/net/uri.hpp>
#include <mdstream/schedule/retry.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace mdstream::inline v0::store {

/// Where the bucket stands in a request's URL.
enum class s3_addressing : std::uint8_t {
  automatic,     ///< in the host at AWS, in the path elsewhere
  path,          ///< https://endpoint/bucket/key
  virtual_host,  ///< https://bucket.endpoint/key
};

/// How the bytes of an upload are covered by its signature.
enum class s3_payload : std::uint8_t {
  automatic,  ///< not over TLS, which covers them already; else `whole`
  whole,      ///< their hash is made before the first is sent
  chunks,     ///< each 64 KiB is signed as it is sent: no pass over the bytes before
  none,
};

struct s3_options {
  /// `http[s]://host[:port][/path]`. Unset: S3_ENDPOINT_URL, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL,
  /// the profile's endpoint_url, else AWS.
  std::string endpoint{};
  /// Unset: AWS_REGION, AWS_DEFAULT_REGION, the profile's, else us-east-1. A bucket that says that
  /// it is elsewhere is believed.
  std::string region{};
  /// Of ~/.aws. Unset: AWS_PROFILE, else `default`. When set here, its keys come before those of
  /// the environment.
  std::string profile{};
  /// Who supplies the keys of this store. Unset: the environment, the profile, else nobody: then
  /// requests are not signed, as public buckets want them.
  std::optional<net::any_aws_credentials> credentials{};
  s3_addressing addressing = s3_addressing::automatic;
  /// Whether requests pay (x-amz-request-payer). Unset: when the comma-separated
  /// MOSAICML_STREAMING_AWS_REQUESTER_PAYS names the bucket.
  std::optional<bool> requester_pays{};
  /// x-amz-acl of uploads. Unset: S3_CANNED_ACL.
  std::string canned_acl{};
  s3_payload payload = s3_payload::automatic;
  /// Larger objects are uploaded in parts of at least this size (S3 wants 5 MiB and takes 10,000
  /// parts), so many at a time, each repeated as `part_retry` says.
  byte_size part_bytes = 16_MiB;
  unsigned parallel_parts = 4;
  retry_policy part_retry = patient_parts;
  /// `ca_file` unset: AWS_CA_BUNDLE.
  net::http_client_options http{};
  net::environment variables = net::process_environment();
  /// Told of a file of keys that everybody may read, when the store is opened.
  warning_function warn = &warn_on_stderr;
};

/// What `s3_options`, URL and environment come down to.
struct s3_settings {
  std::string bucket{};
  std::string root{};  ///< prefix of all keys; empty, or without a slash at either end
  net::uri endpoint{};
  bool aws = false;  ///< the endpoint is AWS's own, whose host has the region in it
  bool bucket_in_host = false;
  std::string region{};
  bool requester_pays = false;
  std::string canned_acl{};
  std::string scheme = "s3://", service = "S3";  ///< for messages
};

namespace s3_detail {

[[nodiscard]] inline bool is_bucket_name(std::string_view name) noexcept {
  if (name.empty() || name.size() > 255 || name.front() == '.' || name.back() == '.') return false;
  char before = 0;
  for (const char c : name) {
    if (!net::is_unreserved(c) || c == '~' || (c == '.' && before == '.')) return false;
    before = c;
  }
  return true;
}

/// Takes `s3://bucket/prefix?name=value&…` apart: bucket and prefix go into the settings, the
/// parameters into the options. Bucket and prefix are literal, nothing in them is an escape.
inline void apply_s3_url(std::string_view url, s3_settings& out, s3_options& options) {
  constexpr std::string_view scheme = "s3://";
  const auto fail = [&](std::string what) {
    // With an @ it may hold keys, which some tools take there, and a secret key may hold a slash.
    const bool may_hold_keys = url.find('@') < url.find('?');
    throw error(errc::invalid_argument,
                {.what = std::move(what),
                 .url = may_hold_keys ? std::string(scheme) : net::redacted_url(url)});
  };
  if (net::detail::to_lower(url.substr(0, scheme.size())) != scheme) fail("not an s3:// URL");
  std::string_view place = url.substr(scheme.size());
  const std::size_t question = place.find('?');
  std::string_view query = question == std::string_view::npos ? "" : place.substr(question + 1);
  place = place.substr(0, question);
  const std::size_t slash = place.find('/');
  out.bucket = place.substr(0, slash);
  if (!is_bucket_name(out.bucket)) fail("an s3:// URL begins with the name of a bucket");
  if (slash != std::string_view::npos)
    place.remove_prefix(slash);
  else
    place = {};
  while (place.starts_with('/')) place.remove_prefix(1);
  while (place.ends_with('/')) place.remove_suffix(1);
  if (place.find('\0') != std::string_view::npos) fail("the prefix holds a NUL");
  out.root = place;
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view one = query.substr(0, end);
    query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);
    const std::size_t equals = one.find('=');
    const std::string_view name = one.substr(0, equals);
    const auto value = equals == std::string_view::npos
                           ? std::optional<std::string>()
                           : net::percent_decode(one.substr(equals + 1));
    if (!value) fail("a parameter of the URL has no value, or a broken escape");
    if (name == "endpoint")
      options.endpoint = *value;
    else if (name == "region")
      options.region = *value;
    else if (name == "profile")
      options.profile = *value;
    else if (name == "anonymous" && *value == "true")
      options.credentials = net::anonymous_aws_credentials();
    else if (name == "addressing" && *value == "path")
      options.addressing = s3_addressing::path;
    else if (name == "addressing" && *value == "virtual")
      options.addressing = s3_addressing::virtual_host;
    else
      fail(
          "s3:// URLs have the parameters endpoint, region, profile, anonymous=true and "
          "addressing=path or virtual; not \"" +
          std::string(name) + '"');
  }
}

/// Whether the comma-separated list, spaces trimmed, has `name`.
[[nodiscard]] inline bool list_has(std::string_view list, std::string_view name) noexcept {
  while (true) {
    const std::size_t comma = list.find(',');
    if (net::detail::trimmed(list.substr(0, comma)) == name) return true;
    if (comma == std::string_view::npos) return false;
    list.remove_prefix(comma + 1);
  }
}

[[nodiscard]] inline bool is_region(std::string_view text) noexcept {
  if (text.empty() || text.size() > 64) return false;
  for (const char c : text) {
    if (!net::is_unreserved(c) || c == '~') return false;
  }
  return true;
}

[[nodiscard]] inline bool is_aws_host(std::string_view host) noexcept {
  return host.ends_with(".amazonaws.com") || host.ends_with(".amazonaws.com.cn");
}

[[nodiscard]] inline bool is_address(std::string_view host) noexcept {
  return host.starts_with('[') ||
         (!host.empty() && host.find_first_not_of("0123456789.") == std::string_view::npos);
}

[[nodiscard]] inline net::uri parse_endpoint(const std::string& text) {
  const auto endpoint = net::parse_http_url(text);
  if (!endpoint || !endpoint->user_info.empty() || !endpoint->query.empty()) {
    throw error(errc::invalid_argument,
                {.what = "an S3 endpoint is http(s)://host[:port], without user or query",
                 .url = net::redacted_url(text)});
  }
  return *endpoint;
}

}  // namespace s3_detail

/// The host of AWS's S3 in a region.
[[nodiscard]] inline std::string aws_s3_host(std::string_view region) {
  return "s3." + std::string(region) + ".amazonaws.com" + (region.starts_with("cn-") ? ".cn" : "");
}

/// The settings for a URL; completes `options` by its parameters and by what the environment says.
/// Throws `errc::invalid_argument` for what can not be right.
[[nodiscard]] inline s3_settings resolve_s3(std::string_view url, s3_options& options) {
  s3_settings out;
  s3_detail::apply_s3_url(url, out, options);
  const net::environment& variables = options.variables;
  const net::aws_config config = net::load_aws_config(variables, options.profile, options.warn);
  const auto or_else = [](std::string& value, std::optional<std::string> other) {
    if (value.empty() && other) value = *std::move(other);
  };
  or_else(options.endpoint, net::first_set(variables, {"S3_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3",
                                                       "AWS_ENDPOINT_URL"}));
  or_else(options.endpoint, config.get("endpoint_url"));
  or_else(options.region, net::first_set(variables, {"AWS_REGION", "AWS_DEFAULT_REGION"}));
  or_else(options.region, config.get("region"));
  or_else(options.region, "us-east-1");
  or_else(options.canned_acl, variables("S3_CANNED_ACL"));
  or_else(options.http.ca_file, variables("AWS_CA_BUNDLE"));
  if (!s3_detail::is_region(options.region)) {
    throw error(errc::invalid_argument, "the S3 region \"" + options.region + "\" is none");
  }
  out.region = options.region;
  out.canned_acl = options.canned_acl;
  out.requester_pays = options.requester_pays.value_or(s3_detail::list_has(
      variables("MOSAICML_STREAMING_AWS_REQUESTER_PAYS").value_or(""), out.bucket));
  out.aws = options.endpoint.empty();
  out.endpoint =
      out.aws ? net::uri{.scheme = "https"} : s3_detail::parse_endpoint(options.endpoint);
  // A certificate for *.s3.… does not cover names with further dots.
  const bool can_be_in_host =
      !s3_detail::is_address(out.endpoint.host) &&
      (out.endpoint.scheme != "https" || out.bucket.find('.') == std::string::npos) &&
      net::detail::to_lower(out.bucket) == out.bucket;
  const bool at_aws = out.aws || s3_detail::is_aws_host(out.endpoint.host);
  out.bucket_in_host = options.addressing == s3_addressing::virtual_host ||
                       (options.addressing == s3_addressing::automatic && at_aws && can_be_in_host);
  return out;
}

/// Where a request goes: `url` is scheme, host and path, as they are sent and signed.
struct s3_place {
  std::string host{};  ///< with a port that is not the default
  std::string path{};  ///< percent-encoded

  [[nodiscard]] std::string url(const s3_settings& settings) const {
    return settings.endpoint.scheme + "://" + host + path;
  }
};

/// The place of a key, or of the bucket where the key is empty.
[[nodiscard]] inline s3_place place_of(const s3_settings& settings, std::string_view region,
                                       std::string_view key) {
  net::uri at = settings.endpoint;
  if (settings.aws) at.host = aws_s3_host(region);
  const bool default_port = !at.port || *at.port == (at.scheme == "https" ? 443 : 80);
  std::string host = default_port ? at.host : at.authority();
  std::string path = at.path;
  while (path.ends_with('/')) path.pop_back();
  if (settings.bucket_in_host) {
    host.insert(0, settings.bucket + '.');
  } else {
    path += '/' + settings.bucket;
  }
  if (!key.empty()) path += '/' + net::percent_encode(key, "/");
  if (path.empty()) path = "/";
  return {std::move(host), std::move(path)};
}

}  // namespace mdstream::inline v0::store
