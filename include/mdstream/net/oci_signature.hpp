#pragma once

/// Signatures of requests to Oracle Cloud Infrastructure. Needs OpenSSL's libcrypto: link
/// mdstream::openssl. Source: "Request Signatures", OCI documentation, version 1, which is
/// draft-cavage-http-signatures-08 by RSA-SHA256.

#include <mdstream/core/base64.hpp>
#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/net/http_message.hpp>
#include <mdstream/net/http_url.hpp>
#include <mdstream/net/rsa.hpp>
#include <mdstream/net/sha256.hpp>
#include <mdstream/net/time_text.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::net {

/// Who signs: `id` is `<tenancy>/<user>/<fingerprint>` of an API key, `ST$<security token>`, or
/// `<tenancy>/fed-x509/<fingerprint>` of a machine's certificate, which signs no `Host`.
struct oci_signer {
  std::string id{};
  rsa_key key{};
  bool signs_host = true;
};

namespace detail {

[[nodiscard]] inline std::string header_of(const http_request& request, std::string_view name) {
  for (const http_header& each : request.headers) {
    if (equal_ignoring_case(each.name, name)) return each.value;
  }
  return {};
}

/// As HTTP clients send it: without the port that the scheme has anyway.
[[nodiscard]] inline std::string host_field(const uri& url) {
  const bool usual = url.port && *url.port == (url.scheme == "https" ? 443 : 80);
  return usual ? url.host : url.authority();
}

/// Bodies are signed but for those of PUT: in Object Storage these are objects and their parts,
/// which the documentation exempts.
[[nodiscard]] inline std::vector<std::string_view> oci_signed_headers(const http_request& request,
                                                                      bool host) {
  std::vector<std::string_view> out{"date", "(request-target)"};
  if (host) out.push_back("host");
  if (request.method == "POST") {
    out.insert(out.end(), {"content-length", "content-type", "x-content-sha256"});
  }
  return out;
}

}  // namespace detail

/// What is signed: `request` with all its headers, `Date` among them; with `X-Content-SHA256` and
/// `Content-Type` where the body is signed.
[[nodiscard]] inline std::string oci_string_to_sign(const http_request& request,
                                                    bool signs_host = true) {
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

/// Adds `Date`, `Authorization` and what a signed body needs. A body that is signed has to lie in
/// memory.
inline void sign_for_oci(http_request& request, const oci_signer& who, wall_clock::time_point at) {
  request.headers.push_back({"Date", http_date(at)});
  const std::vector<std::string_view> names = detail::oci_signed_headers(request, who.signs_host);
  if (request.method == "POST") {
    if (detail::header_of(request, "Content-Type").empty()) {
      request.headers.push_back({"Content-Type", "application/json"});
    }
    request.body.present = true;
    request.headers.push_back({"X-Content-SHA256", to_base64(sha256(request.body.span))});
  }
  std::string list;
  for (const std::string_view name : names) list += (list.empty() ? "" : " ") + std::string(name);
  request.headers.push_back(
      {"Authorization", "Signature version=\"1\",keyId=\"" + who.id +
                            "\",algorithm=\"rsa-sha256\",headers=\"" + list + "\",signature=\"" +
                            to_base64(who.key.sign(oci_string_to_sign(request, who.signs_host))) +
                            '"'});
}

}  // namespace mdstream::inline v0::net
