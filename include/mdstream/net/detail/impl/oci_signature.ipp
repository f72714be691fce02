#pragma once

#include <mdstream/core/detail/base64.hpp>
#include <mdstream/net/oci_signature.hpp>
#include <mdstream/net/sha256.hpp>
#include <mdstream/version.hpp>

#include <vector>

namespace mdstream::inline v0::net::detail {

MDSTREAM_INLINE std::string header_of(const http_request& request, std::string_view name) {
  for (const http_header& each : request.headers) {
    if (mdstream::detail::equal_ignoring_case(each.name, name)) return each.value;
  }
  return {};
}

/// As HTTP clients send it: without the port that the scheme has anyway.
MDSTREAM_INLINE std::string host_field(const uri& url) {
  const bool usual = url.port && *url.port == (url.scheme == "https" ? 443 : 80);
  return usual ? url.host : url.authority();
}

/// Bodies are signed but for those of PUT: in Object Storage these are objects and their parts,
/// which the documentation exempts.
MDSTREAM_INLINE std::vector<std::string_view> oci_signed_headers(const http_request& request,
                                                                 bool host) {
  std::vector<std::string_view> out{"date", "(request-target)"};
  if (host) out.push_back("host");
  if (request.method == "POST") {
    out.insert(out.end(), {"content-length", "content-type", "x-content-sha256"});
  }
  return out;
}

}  // namespace mdstream::inline v0::net::detail

namespace mdstream::inline v0::net {

MDSTREAM_INLINE std::string oci_string_to_sign(const http_request& request, bool signs_host) {
  const uri url = parse_uri(request.url);
  std::string out;
  for (const std::string_view name : detail::oci_signed_headers(request, signs_host)) {
    if (!out.empty()) out += '\n';
    out += std::string(name) + ": ";
    if (name == "(request-target)") {
      out += detail::to_lower(request.method) + ' ' + (url.path.empty() ? "/" : url.path);
      if (!url.query.empty()) out += '?' + url.query;
    } else if (name == "host") {
      out += detail::host_field(url);
    } else if (name == "content-length") {
      out += std::to_string(request.body.size());
    } else {
      out += detail::header_of(request, name);
    }
  }
  return out;
}

MDSTREAM_INLINE void sign_for_oci(http_request& request, const oci_signer& who,
                                  wall_clock::time_point at) {
  request.headers.push_back({"Date", http_date(at)});
  const std::vector<std::string_view> names = detail::oci_signed_headers(request, who.signs_host);
  if (request.method == "POST") {
    if (detail::header_of(request, "Content-Type").empty()) {
      request.headers.push_back({"Content-Type", "application/json"});
    }
    request.body.present = true;
    request.headers.push_back(
        {"X-Content-SHA256", mdstream::detail::to_base64(sha256(request.body.span))});
  }
  std::string list;
  for (const std::string_view name : names) list += (list.empty() ? "" : " ") + std::string(name);
  request.headers.push_back(
      {"Authorization",
       "Signature version=\"1\",keyId=\"" + who.id + "\",algorithm=\"rsa-sha256\",headers=\"" +
           list + "\",signature=\"" +
           mdstream::detail::to_base64(who.key.sign(oci_string_to_sign(request, who.signs_host))) +
           '"'});
}

}  // namespace mdstream::inline v0::net
