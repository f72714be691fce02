#pragma once

/// AWS Signature Version 4 as S3 wants it: requests signed in their headers, presigned URLs, bodies
/// signed chunk by chunk. Source: "Authenticating Requests (AWS Signature Version 4)" of the Amazon
/// S3 API Reference. Needs OpenSSL's libcrypto: link mdstream::openssl.

#include <mdstream/core/hex.hpp>
#include <mdstream/net/aws_credentials.hpp>
#include <mdstream/net/percent.hpp>
#include <mdstream/net/sha256.hpp>
#include <mdstream/net/time_text.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::net {

/// A name and a value: a header field, or a parameter of a query before it is encoded.
using name_value = std::pair<std::string, std::string>;

/// What of a request is signed, and sent exactly as it is here.
struct v4_request {
  std::string method = "GET";
  std::string host{};               ///< as in the Host field: with a port unless it is the default
  std::string path = "/";           ///< percent-encoded, see `v4_path`
  std::vector<name_value> query{};  ///< not encoded; `v4_query` makes the text that is sent
  std::vector<name_value> headers{};  ///< to be signed, besides Host
  std::string payload_hash{};         ///< `sha256_hex` of the body, or one of the words below
};

inline constexpr std::string_view unsigned_payload = "UNSIGNED-PAYLOAD";
inline constexpr std::string_view streaming_payload = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD";
/// `sha256_hex` of no bytes.
inline constexpr std::string_view empty_payload =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// The path of an object or bucket: every byte but the unreserved ones and `/` escaped, once.
/// Nothing is normalised: `a//b` and `a/../b` are keys like others.
[[nodiscard]] inline std::string v4_path(std::string_view key) { return percent_encode(key, "/"); }

/// The query in canonical form, which is also the form to send: encoded, sorted by name, then by
/// value; `name=` for an empty value.
[[nodiscard]] inline std::string v4_query(const std::vector<name_value>& query) {
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

namespace detail {

/// A field's value as it is signed: without space around it, runs of space as one.
[[nodiscard]] inline std::string folded_value(std::string_view value) {
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
[[nodiscard]] inline std::map<std::string, std::string> canonical_headers(
    const v4_request& request) {
  std::map<std::string, std::string> out{{"host", request.host}};
  for (const auto& [name, value] : request.headers) {
    std::string lower = name;
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const auto [at, is_new] = out.emplace(std::move(lower), folded_value(value));
    if (!is_new) at->second += ',' + folded_value(value);
  }
  return out;
}

[[nodiscard]] inline std::string signed_header_names(const v4_request& request) {
  std::string out;
  for (const auto& [name, value] : canonical_headers(request)) {
    if (!out.empty()) out += ';';
    out += name;
  }
  return out;
}

}  // namespace detail

/// The canonical request, whose hash is what is signed.
[[nodiscard]] inline std::string v4_canonical_request(const v4_request& request) {
  std::string out = request.method + '\n' + request.path + '\n' + v4_query(request.query) + '\n';
  for (const auto& [name, value] : detail::canonical_headers(request)) {
    out += name + ':' + value + '\n';
  }
  return out + '\n' + detail::signed_header_names(request) + '\n' + request.payload_hash;
}

/// The key of one day, region and service, and what is signed with it. Immutable: any number of
/// threads may share one. Making one costs four HMACs, signing one HMAC and one hash.
class v4_signing_key {
 public:
  v4_signing_key(const aws_credentials& credentials, wall_clock::time_point at, std::string region,
                 std::string service = "s3")
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

  /// `20130524`: the day for which this key is.
  [[nodiscard]] const std::string& date() const noexcept { return date_; }
  /// `20130524/us-east-1/s3/aws4_request`.
  [[nodiscard]] const std::string& scope() const noexcept { return scope_; }

  /// The signature over a request, in hexadecimal. `timestamp` is of this key's day.
  [[nodiscard]] std::string sign(std::string_view timestamp, const v4_request& request) const {
    return sign_text("AWS4-HMAC-SHA256", timestamp,
                     sha256_hex(as_bytes(v4_canonical_request(request))));
  }

  /// The signature over one chunk of a body, after that of the chunk before it.
  [[nodiscard]] std::string sign_chunk(std::string_view timestamp, std::string_view previous,
                                       bytes_view chunk) const {
    std::string rest(previous);
    rest += '\n';
    rest += empty_payload;
    rest += '\n' + sha256_hex(chunk);
    return sign_text("AWS4-HMAC-SHA256-PAYLOAD", timestamp, rest);
  }

 private:
  [[nodiscard]] std::string sign_text(std::string_view algorithm, std::string_view timestamp,
                                      std::string_view rest) const {
    std::string text(algorithm);
    for (const std::string_view line : {timestamp, std::string_view(scope_), rest}) {
      text += '\n';
      text += line;
    }
    return to_hex(hmac_sha256(key_, as_bytes(text)));
  }

  std::string date_;
  std::string scope_;
  sha256_digest key_{};
};

/// Adds to the request the header fields that sign it: X-Amz-Date, X-Amz-Content-Sha256,
/// X-Amz-Security-Token where there is one, and Authorization. Returns the signature, which seeds
/// those of the chunks where the body is signed that way.
inline std::string v4_sign(v4_request& request, const aws_credentials& credentials,
                           const v4_signing_key& key, wall_clock::time_point now) {
  const std::string timestamp = basic_timestamp(now);
  request.headers.emplace_back("x-amz-date", timestamp);
  request.headers.emplace_back("x-amz-content-sha256", request.payload_hash);
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

/// The path and query of a URL that carries its own signature and serves whoever has it until
/// `lifetime` (at most seven days) has passed. The headers of the request have to be sent with it.
/// It is as secret as the keys.
[[nodiscard]] inline std::string v4_presign(v4_request request, const aws_credentials& credentials,
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

/// Frames a body whose chunks are signed one after another: `next` before each chunk's bytes, then
/// "\r\n" after them, and `next({})` with a last "\r\n" at the end.
class v4_chunk_signer {
 public:
  /// `seed` is the signature of the request, whose payload hash is `streaming_payload` and which
  /// has x-amz-decoded-content-length.
  v4_chunk_signer(v4_signing_key key, wall_clock::time_point now, std::string seed)
      : key_(std::move(key)), timestamp_(basic_timestamp(now)), previous_(std::move(seed)) {}

  /// The line before the bytes of `chunk`.
  [[nodiscard]] std::string next(bytes_view chunk) {
    previous_ = key_.sign_chunk(timestamp_, previous_, chunk);
    return hex_size(chunk.size()) + ";chunk-signature=" + previous_ + "\r\n";
  }

  /// Bytes of the framed body of `size` bytes in chunks of `chunk` bytes.
  [[nodiscard]] static std::uint64_t framed_size(std::uint64_t size, std::uint64_t chunk) {
    constexpr std::uint64_t around = 17 + 64 + 2 + 2;  // ";chunk-signature=", digits, two line ends
    const auto one = [](std::uint64_t bytes) { return hex_size(bytes).size() + around + bytes; };
    const std::uint64_t rest = size % chunk;
    return size / chunk * one(chunk) + (rest == 0 ? 0 : one(rest)) + one(0);
  }

 private:
  [[nodiscard]] static std::string hex_size(std::uint64_t value) {
    const std::string digits = mdstream::detail::hex_digits(value);
    return digits.substr(std::min(digits.find_first_not_of('0'), digits.size() - 1));
  }

  v4_signing_key key_;
  std::string timestamp_;
  std::string previous_;
};

}  // namespace mdstream::inline v0::net
