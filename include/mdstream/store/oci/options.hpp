#pragma once

/// What may be said about a store of Oracle Cloud Infrastructure, and what follows from it, the
/// URL, the environment and the profile. Reads the profile's file, and nothing else.

#include <mdstream/store/detail/cloud/settings.hpp>

#include <string>
#include <string_view>

namespace mdstream::inline v0::store {

/// Options of `store::oci`. What is set stands before the URL, the URL before the environment.
///
///     mds::store::oci_options options;
///     options.region = "eu-frankfurt-1";
struct oci_options : detail::cloud_options {
  /// Namespace of the bucket. Default: the URL's, else one request asks for it.
  std::string namespace_name{};
  /// Name or three letters of the region. Default: OCI_CLI_REGION, the profile's, OCI_REGION,
  /// OCI_RESOURCE_PRINCIPAL_REGION.
  std::string region{};
  /// A profile of ~/.oci/config. Default: the URL's, OCI_CLI_PROFILE, DEFAULT.
  std::string profile{};
};

/// A profile as `~/.oci/config` has it, with what variables put in its settings' place. Unset are
/// empty.
struct oci_profile {
  std::string tenancy{}, user{}, fingerprint{}, region{};
  std::string key_file{}, key_text{}, pass_phrase{};
  std::string security_token_file{};
  std::string auth{};    ///< OCI_CLI_AUTH
  std::string source{};  ///< for messages
};

/// What options, URL, environment and profile come down to.
struct oci_settings {
  std::string bucket{};
  std::string namespace_name{};  ///< empty: the service is asked
  std::string root{};
  std::string endpoint{};  ///< without a slash at the end
  std::string shown{};     ///< the URL of the root for messages, without a slash at the end
  oci_profile profile{};
};

}  // namespace mdstream::inline v0::store

namespace mdstream::inline v0::detail::oci {

/// Letters, digits and `-_.`: of buckets and namespaces.
[[nodiscard]] bool is_name(std::string_view text) noexcept;

/// `oci://bucket@namespace/prefix`, whose `@` is no user's. The namespace is taken out of `url`.
[[nodiscard]] std::string take_namespace(std::string& url);

/// The profile of that name, whose settings fall back to those of DEFAULT. `required`: whether one
/// that is not there is an error.
[[nodiscard]] store::oci_profile read_profile(const net::environment& variables,
                                              const warning_function& warn, const std::string& name,
                                              bool required);

/// Puts the variables of OCI's command line in the place of the profile's settings.
void put_variables(const net::environment& variables, store::oci_profile& into);

}  // namespace mdstream::inline v0::detail::oci

namespace mdstream::inline v0::store {

/// Throws `errc::invalid_argument` for what cannot be right.
[[nodiscard]] oci_settings resolve_oci(std::string_view url, const oci_options& options);

}  // namespace mdstream::inline v0::store

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/oci/options.ipp>
#endif
