#pragma once

/// The kinds of files with credentials of Google, as its tools write them. Pure. Source: AIPs 4110
/// to 4117 and "Application Default Credentials".

#include <mdstream/net/http_headers.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace mdstream::inline v0::net::detail {

/// `service_account`: a key that signs requests for tokens.
struct google_service_account {
  std::string email{}, private_key{}, key_id{}, token_url{};
};

/// `authorized_user`: a user's login.
struct google_user {
  std::string client_id{}, client_secret{}, refresh_token{}, token_url{};
};

/// How a file or a URL has a token: as it is, or as a field of JSON.
struct google_token_form {
  std::optional<std::string> field{};
};

/// The sources of the token that a federated workload has from elsewhere.
struct google_file_source {
  std::string path{};
  google_token_form form{};
};
struct google_url_source {
  std::string url{};
  std::vector<http_header> headers{};
  google_token_form form{};
};
struct google_aws_source {
  std::string region_url{}, keys_url{}, session_token_url{};  ///< of the machine's metadata
  std::string identity_url{};  ///< of GetCallerIdentity, with `{region}` in it
};
struct google_program_source {
  std::string command{};
  std::string output_file{};  ///< where the program keeps its last answer; empty: nowhere
  std::chrono::milliseconds most_time{};
};

/// `external_account`: a workload that has a token of another provider (workload identity
/// federation).
struct google_federation {
  std::string audience{}, token_type{}, token_url{};
  std::string workforce_project{};  ///< of users of a workforce pool
  std::variant<google_file_source, google_url_source, google_aws_source, google_program_source>
      source{};
};

/// A service account whose token is asked for by that of another.
struct google_impersonation {
  std::string url{};
  std::vector<std::string> delegates{};  ///< accounts between the one that asks and this one
  std::string lifetime{};                ///< `3600s`; empty: the service's
};

/// What a file of credentials says.
struct google_file {
  std::string path{};
  std::string kind{};  ///< its `type`
  std::variant<google_service_account, google_user, google_federation> who{};
  std::optional<google_impersonation> impersonated{};
  std::string quota_project{};  ///< that pays for requests
};

/// Throws `errc::invalid_argument`, naming the file and what is wrong, quoting nothing of it.
[[nodiscard]] google_file parse_google_file(const std::string& path, std::string_view text);

}  // namespace mdstream::inline v0::net::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/google_files.ipp>
#endif
