#pragma once

/// What may be said about an S3 store, and what follows from it, the URL and the environment. Pure
/// but for the files of AWS's profiles.

#include <mdstream/core/sizes.hpp>
#include <mdstream/net/aws_credentials.hpp>
#include <mdstream/net/environment.hpp>
#include <mdstream/net/http_message.hpp>
#include <mdstream/net/uri.hpp>
#include <mdstream/schedule/retry.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mdstream::inline v0::store {

/// Where the bucket stands in a request's URL.
enum class s3_addressing : std::uint8_t {
  automatic,     ///< in the host at AWS, in the path elsewhere
  path,          ///< https://endpoint/bucket/key
  virtual_host,  ///< https://bucket.endpoint/key
};

/// How the bytes of an upload are covered by its signature.
enum class s3_payload : std::uint8_t {
  automatic,  ///< not over TLS, which covers them already; else `whole`
  whole,      ///< their hash is made before the first is sent
  chunks,     ///< each 64 KiB is signed as it is sent: no pass over the bytes before
  none,
};

/// Options of `store::s3`. What is set stands before the URL, the URL before the environment, that
/// before the profile.
struct s3_options {
  /// `http[s]://host[:port][/path]`. Unset: S3_ENDPOINT_URL, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL,
  /// the profile's endpoint_url, else AWS.
  std::string endpoint{};
  /// Unset: AWS_REGION, AWS_DEFAULT_REGION, the profile's, else us-east-1. A bucket that says that
  /// it is elsewhere is believed.
  std::string region{};
  /// Of ~/.aws. Unset: AWS_PROFILE, else `default`. When set here, its keys come before those of
  /// the environment.
  std::string profile{};
  /// Who supplies the keys of this store. Unset: the environment, the profile, else nobody: then
  /// requests are not signed, as public buckets want them.
  std::optional<net::any_aws_credentials> credentials{};
  s3_addressing addressing = s3_addressing::automatic;
  /// Whether requests pay (x-amz-request-payer). Unset: when the comma-separated
  /// MOSAICML_STREAMING_AWS_REQUESTER_PAYS names the bucket.
  std::optional<bool> requester_pays{};
  /// x-amz-acl of uploads. Unset: S3_CANNED_ACL.
  std::string canned_acl{};
  s3_payload payload = s3_payload::automatic;
  /// Larger objects are uploaded in parts of at least this size (S3 wants 5 MiB and takes 10,000
  /// parts), so many at a time, each repeated as `part_retry` says.
  byte_size part_bytes = 16_MiB;
  unsigned parallel_parts = 4;
  retry_policy part_retry = patient_parts;
  /// `ca_file` unset: AWS_CA_BUNDLE.
  net::http_client_options http{};
  net::environment variables = net::process_environment();
  /// Told of a file of keys that everybody may read, when the store is opened.
  warning_function warn = &warn_on_stderr;
};

/// What `s3_options`, URL and environment come down to.
struct s3_settings {
  std::string bucket{};
  std::string root{};  ///< prefix of all keys; empty, or without a slash at either end
  net::uri endpoint{};
  bool aws = false;  ///< the endpoint is AWS's own, whose host has the region in it
  bool bucket_in_host = false;
  std::string region{};
  bool requester_pays = false;
  std::string canned_acl{};
  std::string scheme = "s3://", service = "S3";  ///< for messages
};

}  // namespace mdstream::inline v0::store

namespace mdstream::inline v0::detail::s3 {

[[nodiscard]] bool is_bucket_name(std::string_view name) noexcept;

/// Takes `s3://bucket/prefix?name=value&…` apart: bucket and prefix go into the settings, the
/// parameters into the options. Bucket and prefix are literal, nothing in them is an escape.
void apply_s3_url(std::string_view url, store::s3_settings& out, store::s3_options& options);

/// Whether the comma-separated list, spaces trimmed, has `name`.
[[nodiscard]] bool list_has(std::string_view list, std::string_view name) noexcept;

[[nodiscard]] bool is_region(std::string_view text) noexcept;

[[nodiscard]] bool is_aws_host(std::string_view host) noexcept;

[[nodiscard]] bool is_address(std::string_view host) noexcept;

[[nodiscard]] net::uri parse_endpoint(const std::string& text);

}  // namespace mdstream::inline v0::detail::s3

namespace mdstream::inline v0::store {

/// The host of AWS's S3 in a region.
[[nodiscard]] std::string aws_s3_host(std::string_view region);

/// The settings for a URL; completes `options` by its parameters and by what the environment says.
/// Throws `errc::invalid_argument` for what can not be right.
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
