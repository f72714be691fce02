#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/net/aws_config.hpp>
#include <mdstream/net/http_url.hpp>
#include <mdstream/net/percent.hpp>
#include <mdstream/store/s3/options.hpp>
#include <mdstream/version.hpp>

#include <cstddef>
#include <utility>

namespace mdstream::inline v0::detail::s3 {

MDSTREAM_INLINE bool is_bucket_name(std::string_view name) noexcept {
  if (name.empty() || name.size() > 255 || name.front() == '.' || name.back() == '.') return false;
  char before = 0;
  for (const char c : name) {
    if (!net::is_unreserved(c) || c == '~' || (c == '.' && before == '.')) return false;
    before = c;
  }
  return true;
}

MDSTREAM_INLINE void apply_s3_url(std::string_view url, store::s3_settings& out,
                                  store::s3_options& options) {
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
      options.addressing = store::s3_addressing::path;
    else if (name == "addressing" && *value == "virtual")
      options.addressing = store::s3_addressing::virtual_host;
    else
      fail(
          "s3:// URLs have the parameters endpoint, region, profile, anonymous=true and "
          "addressing=path or virtual; not \"" +
          std::string(name) + '"');
  }
}

MDSTREAM_INLINE bool list_has(std::string_view list, std::string_view name) noexcept {
  while (true) {
    const std::size_t comma = list.find(',');
    if (net::detail::trimmed(list.substr(0, comma)) == name) return true;
    if (comma == std::string_view::npos) return false;
    list.remove_prefix(comma + 1);
  }
}

MDSTREAM_INLINE bool is_region(std::string_view text) noexcept {
  if (text.empty() || text.size() > 64) return false;
  for (const char c : text) {
    if (!net::is_unreserved(c) || c == '~') return false;
  }
  return true;
}

MDSTREAM_INLINE bool is_aws_host(std::string_view host) noexcept {
  return host.ends_with(".amazonaws.com") || host.ends_with(".amazonaws.com.cn");
}

MDSTREAM_INLINE bool is_address(std::string_view host) noexcept {
  return host.starts_with('[') ||
         (!host.empty() && host.find_first_not_of("0123456789.") == std::string_view::npos);
}

MDSTREAM_INLINE net::uri parse_endpoint(const std::string& text) {
  const auto endpoint = net::parse_http_url(text);
  if (!endpoint || !endpoint->user_info.empty() || !endpoint->query.empty()) {
    throw error(errc::invalid_argument,
                {.what = "an S3 endpoint is http(s)://host[:port], without user or query",
                 .url = net::redacted_url(text)});
  }
  return *endpoint;
}

}  // namespace mdstream::inline v0::detail::s3

namespace mdstream::inline v0::store {

MDSTREAM_INLINE std::string aws_s3_host(std::string_view region) {
  return "s3." + std::string(region) + ".amazonaws.com" + (region.starts_with("cn-") ? ".cn" : "");
}

MDSTREAM_INLINE s3_settings resolve_s3(std::string_view url, s3_options& options) {
  s3_settings out;
  detail::s3::apply_s3_url(url, out, options);
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
  if (!detail::s3::is_region(options.region)) {
    throw error(errc::invalid_argument, "the S3 region \"" + options.region + "\" is none");
  }
  out.region = options.region;
  out.canned_acl = options.canned_acl;
  out.requester_pays = options.requester_pays.value_or(detail::s3::list_has(
      variables("MOSAICML_STREAMING_AWS_REQUESTER_PAYS").value_or(""), out.bucket));
  out.aws = options.endpoint.empty();
  out.endpoint =
      out.aws ? net::uri{.scheme = "https"} : detail::s3::parse_endpoint(options.endpoint);
  // A certificate for *.s3.… does not cover names with further dots.
  const bool can_be_in_host =
      !detail::s3::is_address(out.endpoint.host) &&
      (out.endpoint.scheme != "https" || out.bucket.find('.') == std::string::npos) &&
      net::detail::to_lower(out.bucket) == out.bucket;
  const bool at_aws = out.aws || detail::s3::is_aws_host(out.endpoint.host);
  out.bucket_in_host = options.addressing == s3_addressing::virtual_host ||
                       (options.addressing == s3_addressing::automatic && at_aws && can_be_in_host);
  return out;
}

MDSTREAM_INLINE std::string s3_place::url(const s3_settings& settings) const {
  return settings.endpoint.scheme + "://" + host + path;
}

MDSTREAM_INLINE s3_place place_of(const s3_settings& settings, std::string_view region,
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
