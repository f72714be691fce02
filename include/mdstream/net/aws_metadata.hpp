#pragma once

/// Keys of the machine that a program runs on: an EC2 instance's, or a container's. Needs libcurl:
/// link mdstream::curl.

#include <mdstream/net/aws_credentials.hpp>
#include <mdstream/net/fetch.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace mdstream::inline v0::net {

/// The keys of an EC2 instance's role, by version 2 of its metadata service. Not asked where
/// AWS_EC2_METADATA_DISABLED is `true`; AWS_EC2_METADATA_SERVICE_ENDPOINT is where it is asked. A
/// machine that has no such service, or no role, has no credentials, which takes up to a few
/// seconds to know. A service that is busy (429, 5xx) is asked again and its failure told.
class instance_aws_credentials {
 public:
  explicit instance_aws_credentials(fetcher from, environment variables = process_environment())
      : from_(std::move(from)), variables_(std::move(variables)) {}

  void async_find(std::stop_token stop, diagnostics& where, aws_credentials_handler done) const;

 private:
  static constexpr const char* source = "the EC2 instance's role";

  struct question {
    fetcher from;
    std::string base, token, role;
    std::stop_token stop;
    diagnostics& where;
    aws_credentials_handler done;
  };

  static void ask_token(const std::shared_ptr<question>& state);

  static http_request get(const question& state, const std::string& role);

  static void ask_role(const std::shared_ptr<question>& state);

  static void ask_keys(const std::shared_ptr<question>& state);

  fetcher from_;
  environment variables_;
};

/// The keys of a container's role (ECS, EKS pod identity): AWS_CONTAINER_CREDENTIALS_RELATIVE_URI,
/// or AWS_CONTAINER_CREDENTIALS_FULL_URI, with AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE or
/// AWS_CONTAINER_AUTHORIZATION_TOKEN. Without TLS only this machine and the services' own addresses
/// are asked.
class container_aws_credentials {
 public:
  explicit container_aws_credentials(fetcher from, environment variables = process_environment())
      : from_(std::move(from)), variables_(std::move(variables)) {}

  void async_find(std::stop_token stop, diagnostics& where, aws_credentials_handler done) const;

 private:
  static constexpr const char* source = "the container's role";

  [[nodiscard]] std::optional<std::string> url_of_service() const;

  [[nodiscard]] static bool is_near(std::string_view host);

  [[nodiscard]] std::optional<std::string> authorization() const;

  fetcher from_;
  environment variables_;
};

static_assert(aws_credentials_provider<instance_aws_credentials> &&
              aws_credentials_provider<container_aws_credentials>);

}  // namespace mdstream::inline v0::net

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/aws_metadata.ipp>
#endif
