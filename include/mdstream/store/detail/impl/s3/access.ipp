#pragma once

#include <mdstream/core/detail/hex.hpp>
#include <mdstream/net/v4_chunked_body.hpp>
#include <mdstream/store/detail/s3/access.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <system_error>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE s3_signer::s3_signer(const store::s3_settings& settings, store::s3_payload payload,
                                     std::function<void(bytes_view)> body_read)
    : service_(settings.is_directory_bucket() ? "s3express" : "s3"),
      sessions_(settings.sessions),
      payload_(payload),
      body_read_(std::move(body_read)),
      region_(settings.region) {}

MDSTREAM_INLINE std::string s3_signer::region() const {
  const std::lock_guard lock(mutex_);
  return region_;
}

MDSTREAM_INLINE void s3_signer::set_region(std::string region) {
  const std::lock_guard lock(mutex_);
  region_ = std::move(region);
}

MDSTREAM_INLINE std::string s3_signer::take_session_token(net::aws_credentials& keys) const {
  return sessions_ ? std::exchange(keys.session_token, {}) : std::string();
}

MDSTREAM_INLINE void s3_signer::sign(net::http_request& request, net::aws_credentials keys,
                                     net::wall_clock::time_point at) {
  net::v4_request signed_part = signed_part_of(request);
  if (auto token = take_session_token(keys); !token.empty()) {
    signed_part.headers.emplace_back("x-amz-s3session-token", std::move(token));
  }
  const bool chunks = signed_part.payload_hash == net::streaming_payload;
  const bytes_view body = request.body.span;
  if (chunks) {
    signed_part.headers.emplace_back("Content-Encoding", "aws-chunked");
    signed_part.headers.emplace_back("x-amz-decoded-content-length", std::to_string(body.size()));
  }
  const net::v4_signing_key key = signing_key(keys, at);
  std::string seed = net::v4_sign(signed_part, keys, key, at);
  request.headers.clear();
  for (auto& [name, value] : signed_part.headers) {
    request.headers.push_back({std::move(name), std::move(value)});
  }
  if (!chunks) return;
  auto framed = std::make_shared<net::v4_chunked_body>(
      net::v4_chunk_signer(key, at, std::move(seed)), body, body_read_);
  request.body = net::http_body::from([framed](mutable_bytes into) { return framed->pull(into); },
                                      net::v4_chunked_body::framed_size(body.size()));
}

MDSTREAM_INLINE std::string s3_signer::presigned(const net::http_request& request,
                                                 net::aws_credentials keys,
                                                 net::wall_clock::time_point at,
                                                 std::chrono::seconds lifetime) {
  const std::size_t path = request.url.find('/', request.url.find("://") + 3);
  net::v4_request signed_part = signed_part_of(request);
  if (auto token = take_session_token(keys); !token.empty()) {
    signed_part.query.emplace_back("X-Amz-S3session-Token", std::move(token));
  }
  return request.url.substr(0, path) +
         net::v4_presign(std::move(signed_part), keys, signing_key(keys, at), at, lifetime);
}

MDSTREAM_INLINE net::v4_request s3_signer::signed_part_of(const net::http_request& request) const {
  net::v4_request out{.method = request.method};
  std::string_view url = request.url;
  url.remove_prefix(url.find("://") + 3);
  const std::size_t slash = url.find('/'), question = url.find('?');
  out.host = url.substr(0, slash);
  out.path = url.substr(slash, question - slash);
  url.remove_prefix(question == std::string_view::npos ? url.size() : question + 1);
  while (!url.empty()) {
    const std::string_view one = url.substr(0, url.find('&'));
    const std::size_t equals = one.find('=');
    out.query.emplace_back(net::percent_decode(one.substr(0, equals)).value_or(""),
                           net::percent_decode(one.substr(equals + 1)).value_or(""));
    url.remove_prefix(std::min(one.size() + 1, url.size()));
  }
  for (const net::http_header& each : request.headers) {
    out.headers.emplace_back(each.name, each.value);
  }
  out.payload_hash = hash_of(request.body);
  return out;
}

MDSTREAM_INLINE std::string s3_signer::hash_of(const net::http_body& body) const {
  if (!body.present || body.size() == 0) return std::string(net::empty_payload);
  switch (payload_) {
    case store::s3_payload::none: return std::string(net::unsigned_payload);
    case store::s3_payload::chunks: return std::string(net::streaming_payload);
    default: break;
  }
  if (!body_read_) return net::sha256_hex(body.span);
  return to_hex(net::sha256(body.span, body_read_));
}

MDSTREAM_INLINE net::v4_signing_key s3_signer::signing_key(const net::aws_credentials& keys,
                                                           net::wall_clock::time_point at) {
  const std::lock_guard lock(mutex_);
  std::string name = net::basic_timestamp(at).substr(0, 8) + region_ + ' ' + keys.access_key_id +
                     ' ' + keys.secret_access_key;
  if (!key_ || key_name_ != name) {
    key_.emplace(keys, at, region_, service_);
    key_name_ = std::move(name);
  }
  return *key_;
}

MDSTREAM_INLINE void s3_access::async_find(std::stop_token stop, diagnostics& where,
                                           net::access_handler done) const {
  keys_.async_find(std::move(stop), where,
                   [signer = signer_, secrets = secrets_, done = std::move(done)](
                       std::error_code code, std::optional<net::aws_credentials> found) mutable {
                     if (code || !found) return done(code, std::nullopt);
                     net::access out = access_of(*std::move(found), signer);
                     out.secrets.insert(out.secrets.end(), secrets.begin(), secrets.end());
                     done({}, std::move(out));
                   });
}

MDSTREAM_INLINE net::access s3_access::access_of(net::aws_credentials found,
                                                 const std::shared_ptr<s3_signer>& signer) {
  net::access out{.expires = found.expires, .source = found.source};
  if (found.anonymous()) return out;
  out.secrets = {found.session_token, found.secret_access_key, found.access_key_id};
  const auto keys = std::make_shared<const net::aws_credentials>(std::move(found));
  out.authorize = [signer, keys](net::http_request& request, net::wall_clock::time_point at) {
    signer->sign(request, *keys, at);
  };
  out.presign = [signer, keys](const net::http_request& request, net::wall_clock::time_point at,
                               std::chrono::seconds lifetime) {
    return signer->presigned(request, *keys, at, lifetime);
  };
  return out;
}

}  // namespace mdstream::inline v0::detail
