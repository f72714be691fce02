#pragma once

/// The options of an S3 store, and the settings that follow from them, the URL and the environment.
/// Pure, except that it reads the files of AWS's profiles.

#include <mdstream/core/sizes.hpp>
#include <mdstream/net/aws_credentials.hpp>
#include <mdstream/net/environment.hpp>
#include <mdstream/net/http_headers.hpp>
#include <mdstream/net/http_message.hpp>
#include <mdstream/net/uri.hpp>
#include <mdstream/schedule/retry.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::store {

/// The place of the bucket in a request's URL.
enum class s3_addressing : std::uint8_t {
  automatic,     ///< in the host at AWS, in the path elsewhere
  path,          ///< https://endpoint/bucket/key
  virtual_host,  ///< https://bucket.endpoint/key
};

/// How the bytes of an upload are covered by its signature.
enum class s3_payload : std::uint8_t {
  automatic,  ///< `none` over TLS, which protects them already; otherwise `whole`
  whole,      ///< they are hashed before the first is sent
  chunks,     ///< each 64 KiB is signed when it is sent: no pass over the bytes before
  none,
};

/// Options of `store::s3`. An option that is set here comes first, then the URL, then the
/// environment, then the profile.
///
///     mds::store::s3 bucket(threads, "s3://bucket/c4",
///                           {.endpoint = "https://minio.local:9000", .profile = "dev"});
struct s3_options {
  /// `http[s]://host[:port][/path]`. The default is the first of S3_ENDPOINT_URL,
  /// AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the `s3` settings of the profile's `services`, its
  /// endpoint_url, and AWS. If AWS_IGNORE_CONFIGURED_ENDPOINT_URLS is true, only S3_ENDPOINT_URL
  /// counts.
  std::string endpoint{};
  /// The default is AWS_REGION, AWS_DEFAULT_REGION, the profile's, or us-east-1. If the bucket
  /// answers that it is in another region, the store uses that one.
  std::string region{};
  /// A profile of ~/.aws. The default is AWS_PROFILE or `default`. If set here, its credentials
  /// come before those of the environment.
  std::string profile{};
  /// The credentials provider of this store. The default is the environment, then the profile.
  /// Without credentials requests are not signed, which is enough for public buckets.
  std::optional<net::any_aws_credentials> credentials{};
  /// `automatic`: the profile's s3.addressing_style, if set.
  s3_addressing addressing = s3_addressing::automatic;
  /// Use AWS's hosts that also have IPv6 addresses. The default is AWS_USE_DUALSTACK_ENDPOINT, then
  /// the profile's use_dualstack_endpoint.
  std::optional<bool> dual_stack{};
  /// Use AWS's hosts with FIPS 140 modules. The default is AWS_USE_FIPS_ENDPOINT, then the
  /// profile's use_fips_endpoint.
  std::optional<bool> fips{};
  /// Whether the requester pays (x-amz-request-payer). The default is true if the comma-separated
  /// MOSAICML_STREAMING_AWS_REQUESTER_PAYS names the bucket.
  std::optional<bool> requester_pays{};
  /// x-amz-acl of uploads. The default is S3_CANNED_ACL.
  std::string canned_acl{};
  /// x-amz-storage-class of uploads, such as `INTELLIGENT_TIERING`. The default is the bucket's.
  std::string storage_class{};
  /// x-amz-server-side-encryption of uploads: `AES256`, `aws:kms` or `aws:kms:dsse`. The default is
  /// the bucket's.
  std::string server_side_encryption{};
  /// ID or ARN of the KMS key that encrypts uploads, with `aws:kms` or `aws:kms:dsse`. The default
  /// is the account's own.
  std::string kms_key_id{};
  /// The key, 32 bytes, by which S3 encrypts uploads and decrypts reads, and which S3 does not keep
  /// (SSE-C): reading needs the same key. It is sent with each request, over https only (or to this
  /// machine), and never appears in a message.
  std::string customer_key{};
  /// Tags of uploaded objects by name, at most ten.
  std::vector<std::pair<std::string, std::string>> tags{};
  /// Signed headers of every request, such as x-amz-expected-bucket-owner.
  std::vector<std::pair<std::string, std::string>> headers{};
  /// How the bytes of an upload are covered by its signature: `automatic`, `whole`, `chunks` or
  /// `none`.
  s3_payload payload = s3_payload::automatic;
  /// Larger objects are uploaded in parts of at least this size (S3 requires 5 MiB and allows
  /// 10,000 parts).
  byte_size part_bytes = 16_MiB;
  unsigned parallel_parts = 4;              ///< of an object at a time
  retry_policy part_retry = patient_parts;  ///< how a request of an upload is retried
  /// Connections, proxy, certificates. Its `ca_file` defaults to AWS_CA_BUNDLE, then to the
  /// profile's ca_bundle.
  net::http_client_options http{};
  net::environment variables = net::process_environment();  ///< looks up the variables
  /// Gets a warning if everybody may read a file of credentials, when the store is opened.
  warning_function warn = &warn_on_stderr;
};

/// What `s3_options`, URL and environment come down to.
struct s3_settings {
  std::string bucket{};  ///< as the URL names it: an access point's ARN, too
  std::string label{};   ///< how hosts and paths name it
  std::string root{};    ///< prefix of all keys; empty, or without a slash at either end
  net::uri endpoint{};
  bool aws = false;  ///< the endpoint is AWS's own, whose host has the region in it
  bool access_point = false, dual_stack = false, fips = false;
  bool bucket_in_host = false;
  /// The zone of a directory bucket (S3 Express One Zone), such as `usw2-az1`. Otherwise empty.
  std::string zone{};
  bool sessions = false;  ///< requests are signed with the credentials of a session
  std::string region{};
  bool requester_pays = false;
  std::vector<net::http_header> all_headers{};     ///< of every request
  std::vector<net::http_header> object_headers{};  ///< of requests that read or write an object
  std::vector<net::http_header> upload_headers{};  ///< of requests that begin a write
  std::vector<std::string> secrets{};              ///< of these headers: never in a message
  std::string scheme = "s3://", service = "S3";    ///< for messages

  /// Whether it is a directory bucket, or an access point of one.
  [[nodiscard]] bool is_directory_bucket() const noexcept { return !zone.empty(); }
};

}  // namespace mdstream::inline v0::store

namespace mdstream::inline v0::detail::s3 {

[[nodiscard]] bool is_bucket_name(std::string_view name) noexcept;

/// An access point by its ARN, `arn:aws:s3:REGION:ACCOUNT:accesspoint/NAME`.
struct access_point {
  std::string region{}, account{}, name{};
};

/// Nothing where the text is no such ARN; `left` is what follows the name.
[[nodiscard]] std::optional<access_point> parse_access_point(std::string_view text,
                                                             std::string_view& left);

/// The zone of a directory bucket, `NAME--ZONE--x-s3`, or of an access point of one,
/// `NAME--ZONE--xa-s3`; empty for all other names.
[[nodiscard]] std::string_view zone_of(std::string_view bucket) noexcept;

/// Takes `s3://bucket/prefix?name=value&…` apart: bucket and prefix go into the settings, the
/// parameters into the options. Bucket and prefix are literal, nothing in them is an escape.
void apply_s3_url(std::string_view url, store::s3_settings& out, store::s3_options& options);

/// Whether the comma-separated list, spaces trimmed, has `name`.
[[nodiscard]] bool list_has(std::string_view list, std::string_view name) noexcept;

[[nodiscard]] bool is_region(std::string_view text) noexcept;

[[nodiscard]] bool is_aws_host(std::string_view host) noexcept;

[[nodiscard]] bool is_address(std::string_view host) noexcept;

[[nodiscard]] net::uri parse_endpoint(const std::string& text);

/// The host of AWS's S3 in a region, as the settings want it.
[[nodiscard]] std::string aws_host(const store::s3_settings& settings, std::string_view region);

/// Throws `errc::invalid_argument` for options that directory buckets do not have.
void refuse_in_directory_buckets(const store::s3_options& options);

/// Puts the headers that the options ask for into the settings. `endpoint_of_url`: the dataset's
/// URL names the endpoint.
void apply_headers(const store::s3_options& options, bool endpoint_of_url, store::s3_settings& out);

}  // namespace mdstream::inline v0::detail::s3

namespace mdstream::inline v0::store {

/// The settings for a URL; completes `options` by its parameters and by what the environment says.
/// Throws `errc::invalid_argument` for what cannot be right.
[[nodiscard]] s3_settings resolve_s3(std::string_view url, s3_options& options);

/// Where a request goes: `url` is scheme, host and path, as they are sent and signed.
struct s3_place {
  std::string host{};  ///< with a port that is not the default
  std::string path{};  ///< percent-encoded

  [[nodiscard]] std::string url(const s3_settings& settings) const;
};

/// The place of a key, or of the bucket where the key is empty.
[[nodiscard]] s3_place place_of(const s3_settings& settings, std::string_view region,
                                std::string_view key);

}  // namespace mdstream::inline v0::store

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/s3/options.ipp>
#endif
