#pragma once

/// AWS Signature Version 4 as S3 wants it: requests signed in their headers, presigned URLs, bodies
/// signed chunk by chunk. Source: "Authenticating Requests (AWS Signature Version 4)" of the Amazon
/// S3 API Reference. Needs OpenSSL's libcrypto: link mdstream::openssl.

#include <mdstream/net/aws_credentials.hpp>
#include <mdstream/net/percent.hpp>
#include <mdstream/net/sha256.hpp>
#include <mdstream/net/time_text.hpp>

#include <chrono>
#include <cstdint>
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
  bool sends_payload_hash = true;     ///< X-Amz-Content-Sha256, which S3 needs
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
[[nodiscard]] std::string v4_query(const std::vector<name_value>& query);

/// The canonical request, whose hash is what is signed.
[[nodiscard]] std::string v4_canonical_request(const v4_request& request);

/// The key of one day, region and service, and what is signed with it. Immutable: any number of
/// threads may share one. Making one costs four HMACs, signing one HMAC and one hash.
class v4_signing_key {
 public:
  v4_signing_key(const aws_credentials& credentials, wall_clock::time_point at, std::string region,
                 std::string service = "s3");

  /// `20130524`: the day for which this key is.
  [[nodiscard]] const std::string& date() const noexcept { return date_; }
  /// `20130524/us-east-1/s3/aws4_request`.
  [[nodiscard]] const std::string& scope() const noexcept { return scope_; }

  /// The signature over a request, in hexadecimal. `timestamp` is of this key's day.
  [[nodiscard]] std::string sign(std::string_view timestamp, const v4_request& request) const;

  /// The signature over one chunk of a body, after that of the chunk before it.
  [[nodiscard]] std::string sign_chunk(std::string_view timestamp, std::string_view previous,
                                       bytes_view chunk) const;

 private:
  [[nodiscard]] std::string sign_text(std::string_view algorithm, std::string_view timestamp,
                                      std::string_view rest) const;

  std::string date_;
  std::string scope_;
  sha256_digest key_{};
};

/// Adds to the request the header fields that sign it: X-Amz-Date, X-Amz-Content-Sha256,
/// X-Amz-Security-Token where there is one, and Authorization. Returns the signature, which seeds
/// those of the chunks where the body is signed that way.
std::string v4_sign(v4_request& request, const aws_credentials& credentials,
                    const v4_signing_key& key, wall_clock::time_point now);

/// The path and query of a URL that carries its own signature and serves all that have it until
/// `lifetime` (at most seven days) has passed. The headers of the request have to be sent with it.
/// It is as secret as the credentials.
[[nodiscard]] std::string v4_presign(v4_request request, const aws_credentials& credentials,
                                     const v4_signing_key& key, wall_clock::time_point now,
                                     std::chrono::seconds lifetime);

/// Frames a body whose chunks are signed one after another: `next` before each chunk's bytes, then
/// "\r\n" after them, and `next({})` with a last "\r\n" at the end.
class v4_chunk_signer {
 public:
  /// `seed` is the signature of the request, whose payload hash is `streaming_payload` and which
  /// has x-amz-decoded-content-length.
  v4_chunk_signer(v4_signing_key key, wall_clock::time_point now, std::string seed);

  /// The line before the bytes of `chunk`.
  [[nodiscard]] std::string next(bytes_view chunk);

  /// Bytes of the framed body of `size` bytes in chunks of `chunk` bytes.
  [[nodiscard]] static std::uint64_t framed_size(std::uint64_t size, std::uint64_t chunk);

 private:
  [[nodiscard]] static std::string hex_size(std::uint64_t value);

  v4_signing_key key_;
  std::string timestamp_;
  std::string previous_;
};

}  // namespace mdstream::inline v0::net

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/signature_v4.ipp>
#endif
