#pragma once

#include <mdstream/core/detail/base64.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/net/aws_config.hpp>
#include <mdstream/net/detail/token_bounds.hpp>
#include <mdstream/net/http_url.hpp>
#include <mdstream/net/percent.hpp>
#include <mdstream/store/detail/cloud/checksums.hpp>
#include <mdstream/store/s3/options.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
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

MDSTREAM_INLINE std::string_view zone_of(std::string_view bucket) noexcept {
  for (const std::string_view end : {"--x-s3", "--xa-s3"}) {
    if (!bucket.ends_with(end)) continue;
    const std::string_view named = bucket.substr(0, bucket.size() - end.size());
    const std::size_t at = named.rfind("--");
    if (at != std::string_view::npos && at != 0) return named.substr(at + 2);
  }
  return {};
}

MDSTREAM_INLINE std::optional<access_point> parse_access_point(std::string_view text,
                                                               std::string_view& left) {
  // arn : partition : service : region : account : accesspoint, then : or / and the name
  const auto next = [&text](std::string_view ends) {
    const std::string_view part = text.substr(0, text.find_first_of(ends));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    return part;
  };
  const bool is_arn = next(":") == "arn" && next(":").starts_with("aws") && next(":") == "s3";
  access_point out;
  out.region = next(":");
  out.account = next(":");
  if (!is_arn || next(":/") != "accesspoint") return std::nullopt;
  out.name = text.substr(0, text.find('/'));
  left = text.substr(out.name.size());
  const auto consists_of = [](std::string_view word, std::string_view allowed) {
    return !word.empty() && word.find_first_not_of(allowed) == std::string_view::npos;
  };
  const bool fits = is_region(out.region) && consists_of(out.account, "0123456789") &&
                    consists_of(out.name, "abcdefghijklmnopqrstuvwxyz0123456789-");
  return fits ? std::optional(std::move(out)) : std::nullopt;
}

inline constexpr const char* multi_region_refusal =
    "multi-region access points are not supported, because their requests are signed for all "
    "regions at once (SigV4A); name a bucket or an access point of one region";

/// Of `arn:aws:s3::ACCOUNT:accesspoint/NAME`, which names no region.
MDSTREAM_INLINE bool is_multi_region(std::string_view arn) noexcept {
  const std::size_t at = arn.find(":s3::");
  if (at == std::string_view::npos) return false;
  arn.remove_prefix(at + 5);
  const std::size_t digits = arn.find_first_not_of("0123456789");
  return digits != 0 && digits != std::string_view::npos &&
         arn.substr(digits).starts_with(":accesspoint");
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
  if (place.starts_with("arn:")) {
    std::string_view left;
    const auto point = parse_access_point(place, left);
    if (is_multi_region(place)) fail(multi_region_refusal);
    if (!point) {
      fail(
          "an ARN in an s3:// URL is that of an access point in one region, "
          "arn:aws:s3:REGION:ACCOUNT:accesspoint/NAME");
    }
    out.access_point = true;
    out.bucket = place.substr(0, place.size() - left.size());
    out.label = point->name + '-' + point->account;
    options.region = point->region;
    place = left;
  } else {
    out.bucket = out.label = place.substr(0, place.find('/'));
    if (!is_bucket_name(out.bucket)) fail("an s3:// URL begins with the name of a bucket");
    out.zone = zone_of(out.bucket);
    place.remove_prefix(out.bucket.size());
  }
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

MDSTREAM_INLINE std::string aws_host(const store::s3_settings& settings, std::string_view region) {
  std::string out = settings.access_point            ? "s3-accesspoint"
                    : settings.is_directory_bucket() ? "s3express"
                                                     : "s3";
  if (settings.fips) out += "-fips";
  if (settings.is_directory_bucket()) out += '-' + settings.zone;
  if (settings.dual_stack) out += ".dualstack";
  out.append(".").append(region).append(".amazonaws.com");
  return region.starts_with("cn-") ? out + ".cn" : out;
}

MDSTREAM_INLINE void refuse_in_directory_buckets(const store::s3_options& options) {
  const std::pair<bool, const char*> given[] = {
      {options.requester_pays.value_or(false), "requester_pays"},
      {!options.canned_acl.empty(), "canned_acl"},
      {!options.tags.empty(), "tags"},
      {!options.customer_key.empty(), "customer_key"},
      {!options.server_side_encryption.empty(), "server_side_encryption: set it for the bucket"}};
  for (const auto& [is_given, name] : given) {
    if (!is_given) continue;
    throw error(errc::invalid_argument,
                std::string("a directory bucket (S3 Express One Zone) takes no ") + name);
  }
}

MDSTREAM_INLINE void apply_headers(const store::s3_options& options, bool endpoint_of_url,
                                   store::s3_settings& out) {
  const auto fail = [](std::string what) { throw error(errc::invalid_argument, std::move(what)); };
  const auto is_header_text = [](std::string_view text) {
    return std::ranges::none_of(text, [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
  };
  for (const auto& [name, value] : options.headers) {
    const std::string lower = net::detail::to_lower(name);
    const bool is_ours = lower == "host" || lower == "authorization" || lower == "content-length" ||
                         lower == "transfer-encoding";
    const bool is_name = !name.empty() && std::ranges::all_of(name, [](char c) {
      return net::is_unreserved(c) && c != '.' && c != '~';
    });
    if (!is_name || is_ours || !is_header_text(value)) {
      fail("\"" + net::percent_encode(name, "") + "\" is no header that S3 requests may be given");
    }
    out.all_headers.push_back({name, value});
  }
  const auto upload = [&](const char* name, const std::string& value) {
    if (value.empty()) return;
    if (!is_header_text(value)) fail(std::string("a value for ") + name + " has several lines");
    out.upload_headers.push_back({name, value});
  };
  upload("x-amz-acl", options.canned_acl);
  upload("x-amz-storage-class", options.storage_class);
  const std::string& encryption = options.server_side_encryption;
  const bool by_kms = encryption == "aws:kms" || encryption == "aws:kms:dsse";
  if (!encryption.empty() && !by_kms && encryption != "AES256") {
    fail("server_side_encryption is AES256, aws:kms or aws:kms:dsse, not \"" + encryption + '"');
  }
  if (!options.kms_key_id.empty() && !by_kms) {
    fail("kms_key_id goes with server_side_encryption aws:kms or aws:kms:dsse");
  }
  upload("x-amz-server-side-encryption", encryption);
  upload("x-amz-server-side-encryption-aws-kms-key-id", options.kms_key_id);
  if (options.tags.size() > 10) fail("an object of S3 has at most ten tags");
  std::string tagging;
  for (const auto& [name, value] : options.tags) {
    if (!tagging.empty()) tagging += '&';
    tagging += net::percent_encode(name, "") + '=' + net::percent_encode(value, "");
  }
  upload("x-amz-tagging", tagging);
  const std::string& key = options.customer_key;
  if (key.empty()) return;
  if (key.size() != 32) fail("customer_key is a key of 32 bytes, as they are, not as text");
  if (!encryption.empty()) fail("objects are encrypted by customer_key or server_side_encryption");
  if (!out.aws && !net::detail::is_private(out.endpoint)) {
    fail("customer_key is not sent over http, where everybody on the way could read it; use https");
  }
  if (endpoint_of_url) {
    fail(
        "customer_key is not sent to an endpoint that the dataset's URL names; if you trust it, "
        "name it by AWS_ENDPOINT_URL_S3 or the store's option endpoint");
  }
  const std::string text = to_base64(as_bytes(key));
  const std::string digest = cloud::content_md5(as_bytes(key), {}).value;
  if (digest.empty()) fail("customer_key needs MD5, which this OpenSSL refuses");
  const std::string prefix = "x-amz-server-side-encryption-customer-";
  out.object_headers = {
      {prefix + "algorithm", "AES256"}, {prefix + "key", text}, {prefix + "key-MD5", digest}};
  out.secrets = {key, text};
}

}  // namespace mdstream::inline v0::detail::s3

namespace mdstream::inline v0::store {

MDSTREAM_INLINE s3_settings resolve_s3(std::string_view url, s3_options& options) {
  s3_settings out;
  const std::string named = std::exchange(options.endpoint, {});
  detail::s3::apply_s3_url(url, out, options);
  const bool endpoint_of_url = named.empty() && !options.endpoint.empty();
  if (!named.empty()) options.endpoint = named;
  const net::environment& variables = options.variables;
  const net::aws_config config = net::load_aws_config(variables, options.profile, options.warn);
  const auto or_else = [](std::string& value, std::optional<std::string> other) {
    if (value.empty() && other) value = *std::move(other);
  };
  or_else(options.endpoint, variables("S3_ENDPOINT_URL"));
  if (net::detail::to_lower(variables("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS").value_or("")) !=
      "true") {
    or_else(options.endpoint,
            net::first_set(variables, {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}));
    or_else(options.endpoint, config.get("s3", "endpoint_url"));
    or_else(options.endpoint, config.get("endpoint_url"));
  }
  or_else(options.region, net::first_set(variables, {"AWS_REGION", "AWS_DEFAULT_REGION"}));
  or_else(options.region, config.get("region"));
  or_else(options.region, "us-east-1");
  if (out.is_directory_bucket()) {
    detail::s3::refuse_in_directory_buckets(options);
  } else {
    or_else(options.canned_acl, variables("S3_CANNED_ACL"));
  }
  or_else(options.http.ca_file, variables("AWS_CA_BUNDLE"));
  or_else(options.http.ca_file, config.get("ca_bundle"));
  if (!detail::s3::is_region(options.region)) {
    throw error(errc::invalid_argument, "the S3 region \"" + options.region + "\" is none");
  }
  out.region = options.region;
  out.requester_pays = options.requester_pays.value_or(detail::s3::list_has(
      variables("MOSAICML_STREAMING_AWS_REQUESTER_PAYS").value_or(""), out.bucket));
  out.aws = options.endpoint.empty();
  if (out.aws && out.bucket.ends_with(".mrap")) {  // the alias of one, which no bucket may have
    throw error(errc::invalid_argument,
                {.what = detail::s3::multi_region_refusal, .url = net::redacted_url(url)});
  }
  out.endpoint =
      out.aws ? net::uri{.scheme = "https"} : detail::s3::parse_endpoint(options.endpoint);
  const auto is_set = [&](std::optional<bool> given, const char* variable, const char* setting) {
    if (given) return *given;
    const auto text = variables(variable);
    return net::detail::to_lower(text ? *text : config.get(setting).value_or("")) == "true";
  };
  out.dual_stack =
      is_set(options.dual_stack, "AWS_USE_DUALSTACK_ENDPOINT", "use_dualstack_endpoint");
  out.fips = is_set(options.fips, "AWS_USE_FIPS_ENDPOINT", "use_fips_endpoint");
  out.sessions = out.is_directory_bucket() && !is_set({}, "AWS_S3_DISABLE_EXPRESS_SESSION_AUTH",
                                                      "s3_disable_express_session_auth");
  detail::s3::apply_headers(options, endpoint_of_url, out);
  const std::string style = config.get("s3.addressing_style").value_or("");
  if (options.addressing == s3_addressing::automatic && style == "path") {
    options.addressing = s3_addressing::path;
  } else if (options.addressing == s3_addressing::automatic && style == "virtual") {
    options.addressing = s3_addressing::virtual_host;
  }
  // A certificate for *.s3.… does not cover names with further dots.
  const bool can_be_in_host =
      !detail::s3::is_address(out.endpoint.host) &&
      (out.endpoint.scheme != "https" || out.bucket.find('.') == std::string::npos) &&
      net::detail::to_lower(out.bucket) == out.bucket;
  const bool at_aws = out.aws || detail::s3::is_aws_host(out.endpoint.host);
  out.bucket_in_host = out.access_point || (at_aws && out.is_directory_bucket()) ||
                       options.addressing == s3_addressing::virtual_host ||
                       (options.addressing == s3_addressing::automatic && at_aws && can_be_in_host);
  return out;
}

MDSTREAM_INLINE std::string s3_place::url(const s3_settings& settings) const {
  return settings.endpoint.scheme + "://" + host + path;
}

MDSTREAM_INLINE s3_place place_of(const s3_settings& settings, std::string_view region,
                                  std::string_view key) {
  net::uri at = settings.endpoint;
  if (settings.aws) at.host = detail::s3::aws_host(settings, region);
  const bool default_port = !at.port || *at.port == (at.scheme == "https" ? 443 : 80);
  std::string host = default_port ? at.host : at.authority();
  std::string path = at.path;
  while (path.ends_with('/')) path.pop_back();
  if (settings.bucket_in_host) {
    host.insert(0, settings.label + '.');
  } else {
    path += '/' + settings.label;
  }
  if (!key.empty()) path += '/' + net::percent_encode(key, "/");
  if (path.empty()) path = "/";
  return {std::move(host), std::move(path)};
}

}  // namespace mdstream::inline v0::store
