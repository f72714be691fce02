#pragma once

/// Keys as a profile of ~/.aws describes the way to them, and the whole chain of providers. Needs
/// libcurl and OpenSSL: link mdstream::s3.

#include <mdstream/async/runtime.hpp>
#include <mdstream/net/aws_config.hpp>
#include <mdstream/net/aws_credentials.hpp>
#include <mdstream/net/credential_chain.hpp>
#include <mdstream/net/fetch.hpp>

#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0::net {

/// What providers need to ask others. The runtime has to outlive their questions.
struct aws_key_sources {
  aws_key_sources(runtime& t, const http_client_options& options, environment v, std::string r,
                  warning_function w = {});

  runtime* threads;
  fetcher far, near;  ///< services of AWS, and of this machine
  environment variables;
  std::string region;     ///< of the Security Token Service
  warning_function warn;  ///< told of files of keys that everybody may read
};

namespace detail {

/// Finds the way to the credentials of a profile. Pure but for the files of the configuration.
class aws_profile_ways {
 public:
  aws_profile_ways(aws_key_sources sources, aws_config config)
      : sources_(std::move(sources)), config_(std::move(config)) {}

  /// The provider for the profile that is used; none where it says nothing of keys. Throws
  /// `errc::permission_denied` for settings that can not be right.
  [[nodiscard]] std::optional<any_aws_credentials> way() const;

 private:
  [[nodiscard]] static error refused(const std::string& profile, const std::string& why);

  std::optional<any_aws_credentials> way_of(const std::string& name,
                                            std::vector<std::string>& passed) const;

  std::optional<any_aws_credentials> role_of(const std::string& name, const ini_section& profile,
                                             std::vector<std::string>& passed) const;

  /// The credentials that assume the role.
  any_aws_credentials others_of(const std::string& name, const ini_section& profile,
                                std::vector<std::string>& passed) const;

  std::optional<any_aws_credentials> login_of(const std::string& name,
                                              const ini_section& profile) const;

  aws_key_sources sources_;
  aws_config config_;
};

}  // namespace detail

/// The keys of a profile, whatever the way to them: keys in the file, a role that another profile,
/// the environment or the machine assumes, a web identity, a login, a program. The files are read
/// each time, on the pool: they may lie on a file system that takes its time.
class described_aws_credentials {
 public:
  described_aws_credentials(aws_key_sources sources, std::string profile = {})
      : sources_(std::move(sources)), profile_(std::move(profile)) {}

  void async_find(std::stop_token stop, diagnostics& where, aws_credentials_handler done) const;

 private:
  [[nodiscard]] std::optional<any_aws_credentials> read() const;

  aws_key_sources sources_;
  std::string profile_;
};

/// The web identity that AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN and AWS_ROLE_SESSION_NAME name.
class environment_web_identity {
 public:
  explicit environment_web_identity(aws_key_sources sources) : sources_(std::move(sources)) {}

  void async_find(std::stop_token stop, diagnostics& where, aws_credentials_handler done) const;

 private:
  aws_key_sources sources_;
};

/// AWS's chain: the environment, a web identity, the profile, the container, the EC2 instance. With
/// a profile that is named here, that comes first.
[[nodiscard]] aws_credential_chain default_aws_credentials(const aws_key_sources& sources,
                                                           const std::string& profile);

static_assert(aws_credentials_provider<described_aws_credentials> &&
              aws_credentials_provider<environment_web_identity>);

}  // namespace mdstream::inline v0::net

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/aws_profile.ipp>
#endif
