#pragma once

#include <mdstream/core/detail/hex.hpp>
#include <mdstream/net/signature_v4.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <map>

namespace mdstream::inline v0::net {

MDSTREAM_INLINE std::string v4_query(const std::vector<name_value>& query) {
  std::vector<name_value> encoded;
  encoded.reserve(query.size());
  for (const auto& [name, value] : query) {
    encoded.emplace_back(percent_encode(name), percent_encode(value));
  }
  std::sort(encoded.begin(), encoded.end());
  std::string out;
  for (const auto& [name, value] : encoded) {
    if (!out.empty()) out += '&';
    out += name;
    out += '=';
    out += value;
  }
  return out;
}

}  // namespace mdstream::inline v0::net

namespace mdstream::inline v0::net::detail {

/// A field's value as it is signed: without space around it, runs of space as one.
MDSTREAM_INLINE std::string folded_value(std::string_view value) {
  std::string out;
  bool gap = false;
  for (const char c : value) {
    if (c == ' ' || c == '\t') {
      gap = !out.empty();
      continue;
    }
    if (std::exchange(gap, false)) out += ' ';
    out += c;
  }
  return out;
}

/// Lower-case names, sorted; values of equal names joined.
MDSTREAM_INLINE std::map<std::string, std::string> canonical_headers(const v4_request& request) {
  std::map<std::string, std::string> out{{"host", request.host}};
  for (const auto& [name, value] : request.headers) {
    std::string lower = name;
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const auto [at, is_new] = out.emplace(std::move(lower), folded_value(value));
    if (!is_new) at->second += ',' + folded_value(value);
  }
  return out;
}

MDSTREAM_INLINE std::string signed_header_names(const v4_request& request) {
  std::string out;
  for (const auto& [name, value] : canonical_headers(request)) {
    if (!out.empty()) out += ';';
    out += name;
  }
  return out;
}

}  // namespace mdstream::inline v0::net::detail

namespace mdstream::inline v0::net {

MDSTREAM_INLINE std::string v4_canonical_request(const v4_request& request) {
  std::string out = request.method + '\n' + request.path + '\n' + v4_query(request.query) + '\n';
  for (const auto& [name, value] : detail::canonical_headers(request)) {
    out += name + ':' + value + '\n';
  }
  return out + '\n' + detail::signed_header_names(request) + '\n' + request.payload_hash;
}

MDSTREAM_INLINE v4_signing_key::v4_signing_key(const aws_credentials& credentials,
                                               wall_clock::time_point at, std::string region,
                                               std::string service)
    : date_(basic_timestamp(at).substr(0, 8)),
      scope_(date_ + '/' + region + '/' + service + "/aws4_request") {
  const std::string secret = "AWS4" + credentials.secret_access_key;
  sha256_digest key = hmac_sha256(as_bytes(secret), as_bytes(date_));
  for (const std::string_view part :
       {std::string_view(region), std::string_view(service), std::string_view("aws4_request")}) {
    key = hmac_sha256(key, as_bytes(part));
  }
  key_ = key;
}

MDSTREAM_INLINE std::string v4_signing_key::sign(std::string_view timestamp,
                                                 const v4_request& request) const {
  return sign_text("AWS4-HMAC-SHA256", timestamp,
                   sha256_hex(as_bytes(v4_canonical_request(request))));
}

MDSTREAM_INLINE std::string v4_signing_key::sign_chunk(std::string_view timestamp,
                                                       std::string_view previous,
                                                       bytes_view chunk) const {
  std::string rest(previous);
  rest += '\n';
  rest += empty_payload;
  rest += '\n' + sha256_hex(chunk);
  return sign_text("AWS4-HMAC-SHA256-PAYLOAD", timestamp, rest);
}

MDSTREAM_INLINE std::string v4_signing_key::sign_text(std::string_view algorithm,
                                                      std::string_view timestamp,
                                                      std::string_view rest) const {
  std::string text(algorithm);
  for (const std::string_view line : {timestamp, std::string_view(scope_), rest}) {
    text += '\n';
    text += line;
  }
  return mdstream::detail::to_hex(hmac_sha256(key_, as_bytes(text)));
}

MDSTREAM_INLINE std::string v4_sign(v4_request& request, const aws_credentials& credentials,
                                    const v4_signing_key& key, wall_clock::time_point now) {
  const std::string timestamp = basic_timestamp(now);
  request.headers.emplace_back("x-amz-date", timestamp);
  if (request.sends_payload_hash) {
    request.headers.emplace_back("x-amz-content-sha256", request.payload_hash);
  }
  if (!credentials.session_token.empty()) {
    request.headers.emplace_back("x-amz-security-token", credentials.session_token);
  }
  std::string signature = key.sign(timestamp, request);
  request.headers.emplace_back(
      "Authorization", "AWS4-HMAC-SHA256 Credential=" + credentials.access_key_id + '/' +
                           key.scope() + ", SignedHeaders=" + detail::signed_header_names(request) +
                           ", Signature=" + signature);
  return signature;
}

MDSTREAM_INLINE std::string v4_presign(v4_request request, const aws_credentials& credentials,
                                       const v4_signing_key& key, wall_clock::time_point now,
                                       std::chrono::seconds lifetime) {
  const std::string timestamp = basic_timestamp(now);
  request.payload_hash = unsigned_payload;
  request.query.emplace_back("X-Amz-Algorithm", "AWS4-HMAC-SHA256");
  request.query.emplace_back("X-Amz-Credential", credentials.access_key_id + '/' + key.scope());
  request.query.emplace_back("X-Amz-Date", timestamp);
  request.query.emplace_back("X-Amz-Expires", std::to_string(lifetime.count()));
  request.query.emplace_back("X-Amz-SignedHeaders", detail::signed_header_names(request));
  if (!credentials.session_token.empty()) {
    request.query.emplace_back("X-Amz-Security-Token", credentials.session_token);
  }
  const std::string signature = key.sign(timestamp, request);
  return request.path + '?' + v4_query(request.query) + "&X-Amz-Signature=" + signature;
}

MDSTREAM_INLINE v4_chunk_signer::v4_chunk_signer(v4_signing_key key, wall_clock::time_point now,
                                                 std::string seed)
    : key_(std::move(key)), timestamp_(basic_timestamp(now)), previous_(std::move(seed)) {}

MDSTREAM_INLINE std::string v4_chunk_signer::next(bytes_view chunk) {
  previous_ = key_.sign_chunk(timestamp_, previous_, chunk);
  return hex_size(chunk.size()) + ";chunk-signature=" + previous_ + "\r\n";
}

MDSTREAM_INLINE std::uint64_t v4_chunk_signer::framed_size(std::uint64_t size,
                                                           std::uint64_t chunk) {
  constexpr std::uint64_t around = 17 + 64 + 2 + 2;  // ";chunk-signature=", digits, two line ends
  const auto one = [](std::uint64_t bytes) { return hex_size(bytes).size() + around + bytes; };
  const std::uint64_t rest = size % chunk;
  return size / chunk * one(chunk) + (rest == 0 ? 0 : one(rest)) + one(0);
}

MDSTREAM_INLINE std::string v4_chunk_signer::hex_size(std::uint64_t value) {
  const std::string digits = mdstream::detail::hex_digits(value);
  return digits.substr(std::min(digits.find_first_not_of('0'), digits.size() - 1));
}

}  // namespace mdstream::inline v0::net
