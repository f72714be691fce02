#pragma once

/// Who signs requests to Oracle Cloud Infrastructure. Needs OpenSSL's libcrypto: link
/// mdstream::oci.

#include <mdstream/net/access.hpp>
#include <mdstream/net/oci_signature.hpp>
#include <mdstream/net/settings_file.hpp>
#include <mdstream/store/oci/options.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0::store {

/// Signatures by a user's API key, or by the key of a session with the session's token.
[[nodiscard]] inline net::access oci_key_access(net::oci_signer signer, std::string source,
                                                std::vector<std::string> secrets) {
  auto shared = std::make_shared<const net::oci_signer>(std::move(signer));
  return {.authorize =
              [shared](net::http_request& request, net::wall_clock::time_point at) {
                net::sign_for_oci(request, *shared, at);
              },
          .secrets = std::move(secrets),
          .source = std::move(source)};
}

namespace oci_detail {

[[nodiscard]] inline error incomplete(const oci_profile& profile, const char* what) {
  return {errc::permission_denied, profile.source + " has no " + what};
}

[[nodiscard]] inline std::string read_required(const net::environment& variables,
                                               const std::string& path, const char* what,
                                               const net::warning_function& warn) {
  const std::string file = net::detail::in_home(variables, path);
  auto text = net::detail::read_secret(file, warn);
  if (!text) {
    throw error(errc::permission_denied,
                {.what = "there is no " + std::string(what) + " that can be read", .url = file});
  }
  return *std::move(text);
}

/// The access that a profile describes; nothing where it describes none.
[[nodiscard]] inline std::optional<net::access> profile_access(const oci_profile& profile,
                                                               const net::environment& variables,
                                                               const net::warning_function& warn) {
  if (!profile.auth.empty() && profile.auth != "api_key" && profile.auth != "security_token") {
    throw error(errc::unsupported,
                "OCI_CLI_AUTH may be api_key or security_token: other ways to sign are not built");
  }
  const bool has_key = !profile.key_file.empty() || !profile.key_text.empty();
  if (!has_key && profile.user.empty()) return std::nullopt;
  if (!has_key) throw incomplete(profile, "key_file");
  const bool session = profile.auth == "security_token" ||
                       (profile.user.empty() && !profile.security_token_file.empty());
  std::string id;
  if (session) {
    if (profile.security_token_file.empty()) throw incomplete(profile, "security_token_file");
    id = "ST$" + net::detail::header_token(
                     read_required(variables, profile.security_token_file, "security token", warn));
  } else {
    if (profile.tenancy.empty()) throw incomplete(profile, "tenancy");
    if (profile.user.empty()) throw incomplete(profile, "user");
    if (profile.fingerprint.empty()) throw incomplete(profile, "fingerprint");
    id = profile.tenancy + '/' + profile.user + '/' + profile.fingerprint;
  }
  if (id.find_first_of("\"\r\n") != std::string::npos) {
    throw error(errc::permission_denied, profile.source + " has settings that no header may hold");
  }
  const bool from_text = !profile.key_text.empty();
  const std::string place = from_text ? "OCI_CLI_KEY_CONTENT" : profile.key_file;
  const std::string pem =
      from_text ? profile.key_text : read_required(variables, profile.key_file, "key file", warn);
  std::vector<std::string> secrets{pem, id};
  if (!profile.pass_phrase.empty()) secrets.push_back(profile.pass_phrase);
  return oci_key_access({id, net::rsa_key::from_pem(pem, place, profile.pass_phrase)},
                        profile.source, std::move(secrets));
}

}  // namespace oci_detail

/// The keys of variables and profile, read anew each time: a session's token is replaced while
/// programs run. Nobody after them.
[[nodiscard]] inline net::any_access default_oci_access(const oci_settings& settings,
                                                        const oci_options& options) {
  return net::computed_access(
      [profile = settings.profile, variables = options.variables, warn = options.warn] {
        return oci_detail::profile_access(profile, variables, warn);
      });
}

}  // namespace mdstream::inline v0::store
