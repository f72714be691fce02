#pragma once

/// Keys of a role, from AWS's Security Token Service. Needs libcurl and OpenSSL: link mdstream::s3.

#include <mdstream/net/aws_credentials.hpp>
#include <mdstream/net/fetch.hpp>

#include <stop_token>
#include <string>

namespace mdstream::inline v0::net {

/// Where the service is asked: AWS_ENDPOINT_URL_STS, else AWS's in the region.
struct sts_place {
  std::string endpoint{};
  std::string region{};

  [[nodiscard]] static sts_place from(const environment& variables, std::string region);
};

/// A role and how its session is named.
struct aws_role {
  std::string arn{};
  std::string session_name = "mdstream";
  std::string external_id{};
  std::string duration_seconds{};  ///< empty: the service's
};

/// The keys of a role for a process with a token of an identity provider, as pods on EKS have it.
/// The file is read each time: the token in it is renewed.
class web_identity_aws_credentials {
 public:
  web_identity_aws_credentials(fetcher from, sts_place place, aws_role role,
                               std::string token_file);

  void async_find(std::stop_token stop, diagnostics& where, aws_credentials_handler done) const;

 private:
  fetcher from_;
  sts_place place_;
  aws_role role_;
  std::string token_file_;
};

/// The keys of a role that others may assume, asked for with their keys.
class assumed_role_aws_credentials {
 public:
  assumed_role_aws_credentials(fetcher from, sts_place place, aws_role role,
                               any_aws_credentials others);

  void async_find(std::stop_token stop, diagnostics& where, aws_credentials_handler done) const;

 private:
  fetcher from_;
  sts_place place_;
  aws_role role_;
  any_aws_credentials others_;
};

static_assert(aws_credentials_provider<web_identity_aws_credentials> &&
              aws_credentials_provider<assumed_role_aws_credentials>);

}  // namespace mdstream::inline v0::net

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/aws_sts.ipp>
#endif
