#pragma once

#include <mdstream/net/percent.hpp>
#include <mdstream/net/uri.hpp>
#include <mdstream/store/detail/cloud/settings.hpp>
#include <mdstream/store/store.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail::cloud {

MDSTREAM_INLINE error bad_url(std::string_view url, std::string what) {
  return {errc::invalid_argument, {.what = std::move(what), .url = shown(url)}};
}

MDSTREAM_INLINE std::string without_slashes(std::string_view text) {
  while (text.starts_with('/')) text.remove_prefix(1);
  while (text.ends_with('/')) text.remove_suffix(1);
  return std::string(text);
}

MDSTREAM_INLINE cloud_url parse_cloud_url(std::string_view url) {
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
    throw bad_url(url, "credentials do not belong in this URL");
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

MDSTREAM_INLINE std::string checked_endpoint(std::string text, const std::string& of) {
  const auto parts = net::parse_http_url(text);
  if (!parts || !parts->user_info.empty() || !parts->query.empty()) {
    throw error(errc::invalid_argument,
                {.what = "the endpoint of " + of + " has to be http(s)://host[:port][/path]",
                 .url = net::redacted_url(text)});
  }
  while (text.ends_with('/')) text.pop_back();
  return text;
}

MDSTREAM_INLINE void require_signed_url(std::string_view url, const net::uri& service,
                                        const std::string& what) {
  const auto to = net::parse_http_url(url);
  if (to && to->user_info.empty() && (to->scheme == "https" || service.scheme == "http")) return;
  throw error(errc::permission_denied, what + ' ' + net::redacted_url(url));
}

MDSTREAM_INLINE std::string with_scheme(std::string host) {
  return host.find("://") == std::string::npos ? "https://" + host : host;
}

}  // namespace mdstream::inline v0::detail::cloud
