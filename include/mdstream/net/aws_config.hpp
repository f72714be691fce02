#pragma once

/// What AWS's command line and SDKs share on a machine: ~/.aws/config and ~/.aws/credentials.

#include <mdstream/core/warning.hpp>
#include <mdstream/net/environment.hpp>
#include <mdstream/net/ini.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace mdstream::inline v0::net {

/// Both files, merged.
struct aws_config {
  std::string config_file{}, credentials_file{};  ///< where they were looked for
  ini_sections profiles{};
  ini_sections sso_sessions{};
  ini_sections services{};      ///< by the name that a profile's `services` has
  std::string profile{};        ///< the one that is used
  bool profile_chosen = false;  ///< it was asked for by name

  /// The settings of the profile that is used; none where it does not exist.
  [[nodiscard]] const ini_section* active() const;
  /// A setting of the profile that is used.
  [[nodiscard]] std::optional<std::string> get(std::string_view name) const;
  /// A setting that the profile's `services` section has for one service, such as `s3`.
  [[nodiscard]] std::optional<std::string> get(std::string_view service,
                                               std::string_view name) const;
};

/// Reads AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE (default: ~/.aws/config and
/// ~/.aws/credentials; of equal settings the credentials' count) for the given profile, else
/// AWS_PROFILE's, AWS_DEFAULT_PROFILE's, or `default`. Throws `errc::invalid_argument`, with file
/// and line, where one can not be understood, and where a profile that was asked for is in neither.
/// `warn` is told of files with keys that everybody may read.
[[nodiscard]] aws_config load_aws_config(const environment& variables, std::string profile = {},
                                         const warning_function& warn = {});

}  // namespace mdstream::inline v0::net

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/aws_config.ipp>
#endif
