#pragma once

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/detail/base64.hpp>
#include <mdstream/net/azure_signature.hpp>
#include <mdstream/net/percent.hpp>
#include <mdstream/net/sha256.hpp>
#include <mdstream/version.hpp>

#include <map>

namespace mdstream::inline v0::net {

MDSTREAM_INLINE std::string azure_string_to_sign(const http_request& request,
                                                 std::string_view account) {
  const auto value_of = [&](std::string_view name) {
    for (const http_header& each : request.headers) {
      if (detail::equal_ignoring_case(each.name, name)) return each.value;
    }
    return std::string();
  };
  std::string out = request.method + '\n';
  const std::uint64_t length = request.body.present ? request.body.size() : 0;
  out += value_of("Content-Encoding") + '\n' + value_of("Content-Language") + '\n' +
         (length == 0 ? "" : std::to_string(length)) + '\n';
  for (const char* const name : {"Content-MD5", "Content-Type", "Date", "If-Modified-Since",
                                 "If-Match", "If-None-Match", "If-Unmodified-Since", "Range"}) {
    out += value_of(name) + '\n';
  }
  std::map<std::string, std::string> sorted;
  for (const http_header& each : request.headers) {
    const std::string name = detail::to_lower(each.name);
    if (name.starts_with("x-ms-")) sorted[name] = each.value;
  }
  for (const auto& [name, value] : sorted) out += name + ':' + value + '\n';
  const uri url = parse_uri(request.url);
  out += '/' + std::string(account) + (url.path.empty() ? "/" : url.path);
  sorted.clear();
  for (std::string_view left = url.query; !left.empty();) {
    const std::size_t end = left.find('&');
    const std::string_view one = left.substr(0, end);
    left.remove_prefix(end == std::string_view::npos ? left.size() : end + 1);
    const std::size_t equals = one.find('=');
    const std::string name =
        detail::to_lower(percent_decode(one.substr(0, equals)).value_or(std::string()));
    sorted[name] = equals == std::string_view::npos
                       ? ""
                       : percent_decode(one.substr(equals + 1)).value_or(std::string());
  }
  for (const auto& [name, value] : sorted) out += '\n' + name + ':' + value;
  return out;
}

MDSTREAM_INLINE void sign_for_azure(http_request& request, const azure_account_key& keys,
                                    wall_clock::time_point at) {
  request.headers.push_back({"x-ms-date", http_date(at)});
  const std::string text = azure_string_to_sign(request, keys.account);
  request.headers.push_back(
      {"Authorization", "SharedKey " + keys.account + ':' +
                            mdstream::detail::to_base64(hmac_sha256(keys.key, as_bytes(text)))});
}

}  // namespace mdstream::inline v0::net
