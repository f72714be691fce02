#pragma once

/// Signs requests to S3. Needs OpenSSL: link mdstream::s3.

#include <mdstream/net/access.hpp>
#include <mdstream/net/signature_v4.hpp>
#include <mdstream/store/s3/options.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// What a store's requests are signed for. The region is the bucket's, as far as it is known.
/// Thread-safe.
class s3_signer {
 public:
  /// `body_read` as `net::http_client_options` has it.
  s3_signer(const store::s3_settings& settings, store::s3_payload payload,
            std::function<void(bytes_view)> body_read = {});

  [[nodiscard]] std::string region() const;
  void set_region(std::string region);
  [[nodiscard]] bool reads_bodies() const noexcept { return payload_ == store::s3_payload::whole; }

  /// Adds the headers that sign the request, and frames its body where chunks are signed.
  void sign(net::http_request& request, net::aws_credentials keys, net::wall_clock::time_point at);

  /// The URL of a request without headers, signed.
  [[nodiscard]] std::string presigned(const net::http_request& request, net::aws_credentials keys,
                                      net::wall_clock::time_point at,
                                      std::chrono::seconds lifetime);

 private:
  /// The URL is taken apart as `place_of` and `v4_query` put it together.
  [[nodiscard]] net::v4_request signed_part_of(const net::http_request& request) const;

  /// What is signed in place of the body's bytes.
  [[nodiscard]] std::string hash_of(const net::http_body& body) const;

  /// The key of a day and region is made once.
  [[nodiscard]] net::v4_signing_key signing_key(const net::aws_credentials& keys,
                                                net::wall_clock::time_point at);

  /// Takes out the token of a session, which goes under a name of its own; empty for other
  /// credentials.
  [[nodiscard]] std::string take_session_token(net::aws_credentials& keys) const;

  const std::string service_;
  const bool sessions_;
  const store::s3_payload payload_;
  const std::function<void(bytes_view)> body_read_;
  mutable std::mutex mutex_;  // over what follows
  std::string region_;
  std::optional<net::v4_signing_key> key_;
  std::string key_name_;
};

/// AWS's keys as what lets a store's requests in.
class s3_access {
 public:
  /// `secrets` are further texts of the requests that no message may hold.
  s3_access(net::any_aws_credentials keys, std::shared_ptr<s3_signer> signer,
            std::vector<std::string> secrets = {})
      : keys_(std::move(keys)), signer_(std::move(signer)), secrets_(std::move(secrets)) {}

  void async_find(std::stop_token stop, diagnostics& where, net::access_handler done) const;

 private:
  [[nodiscard]] static net::access access_of(net::aws_credentials found,
                                             const std::shared_ptr<s3_signer>& signer);

  net::any_aws_credentials keys_;
  std::shared_ptr<s3_signer> signer_;
  std::vector<std::string> secrets_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/s3/access.ipp>
#endif
