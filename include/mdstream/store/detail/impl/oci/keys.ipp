#pragma once

#include <mdstream/net/quote.hpp>
#include <mdstream/net/rsa.hpp>
#include <mdstream/net/settings_file.hpp>
#include <mdstream/store/detail/oci/access.hpp>
#include <mdstream/store/detail/oci/instance.hpp>
#include <mdstream/store/detail/oci/keys.hpp>
#include <mdstream/store/detail/oci/variables.hpp>
#include <mdstream/store/detail/oci/workload.hpp>
#include <mdstream/version.hpp>

#include <utility>
#include <vector>

namespace mdstream::inline v0::detail::oci {

MDSTREAM_INLINE error incomplete(const store::oci_profile& profile, const char* what) {
  return {errc::permission_denied, profile.source + " has no " + what};
}

MDSTREAM_INLINE std::string read_required(const net::environment& variables,
                                          const std::string& path, const char* what,
                                          const warning_function& warn) {
  const std::string file = net::detail::in_home(variables, path);
  auto text = net::detail::read_secret(file, warn);
  if (!text) {
    throw error(errc::permission_denied,
                {.what = "there is no " + std::string(what) + " that can be read", .url = file});
  }
  return *std::move(text);
}

MDSTREAM_INLINE std::optional<net::access> profile_access(const store::oci_profile& profile,
                                                          const net::environment& variables,
                                                          const warning_function& warn) {
  if (!profile.auth.empty() && profile.auth != "api_key" && profile.auth != "security_token") {
    throw error(errc::unsupported,
                "OCI_CLI_AUTH may be api_key, security_token, instance_principal, "
                "resource_principal or oke_workload_identity: other ways to sign are not built");
  }
  const bool has_key = !profile.key_file.empty() || !profile.key_text.empty();
  if (!has_key && profile.user.empty()) return std::nullopt;
  if (!has_key) throw incomplete(profile, "key_file");
  const bool session = profile.auth == "security_token" ||
                       (profile.user.empty() && !profile.security_token_file.empty());
  std::string token;
  if (session) {
    if (profile.security_token_file.empty()) throw incomplete(profile, "security_token_file");
    token = net::detail::token_of_file(
        read_required(variables, profile.security_token_file, "security token", warn),
        profile.security_token_file);
  } else {
    if (profile.tenancy.empty()) throw incomplete(profile, "tenancy");
    if (profile.user.empty()) throw incomplete(profile, "user");
    if (profile.fingerprint.empty()) throw incomplete(profile, "fingerprint");
  }
  const bool from_text = !profile.key_text.empty();
  const std::string place = from_text ? variable::key_content : profile.key_file;
  const std::string pem =
      from_text ? profile.key_text : read_required(variables, profile.key_file, "key file", warn);
  net::rsa_key key = net::rsa_key::from_pem(pem, place, profile.pass_phrase);
  std::vector<std::string> secrets{pem};
  if (!profile.pass_phrase.empty()) secrets.push_back(profile.pass_phrase);
  if (session) return oci_token_access(token, std::move(key), profile.source, std::move(secrets));
  std::string id = profile.tenancy + '/' + profile.user + '/' + profile.fingerprint;
  if (!detail::oci::fits_key_id(id)) {
    throw error(errc::permission_denied, profile.source + " has settings that no header may hold");
  }
  secrets.push_back(id);
  return oci_key_access({std::move(id), std::move(key)}, profile.source, std::move(secrets));
}

MDSTREAM_INLINE std::optional<value_or_file> value_or_file::of(const net::environment& variables,
                                                               const char* name,
                                                               const warning_function& warn) {
  auto value = variables(name);
  if (!value) return std::nullopt;
  if (!value->starts_with('/')) return value_or_file{*std::move(value), name};
  return value_or_file{read_required(variables, *value, name, warn), *value};
}

MDSTREAM_INLINE std::optional<net::access> resource_access(const net::environment& variables,
                                                           const warning_function& warn) {
  const auto version = variables(variable::resource_version);
  if (!version) return std::nullopt;
  if (*version != "2.2") {
    throw error(errc::unsupported,
                "OCI_RESOURCE_PRINCIPAL_VERSION is " + net::quotable(*version, {}) +
                    ", but only resource principals of version 2.2 are built; a profile with an "
                    "API key, or OCI_CLI_AUTH=instance_principal or oke_workload_identity, are "
                    "other ways in");
  }
  const std::string source = "the resource principal of the environment";
  const auto token = value_or_file::of(variables, variable::resource_token, warn);
  const auto pem = value_or_file::of(variables, variable::resource_key, warn);
  if (!token || !pem) {
    throw error(errc::permission_denied,
                source + " has no " +
                    (token ? "OCI_RESOURCE_PRINCIPAL_PRIVATE_PEM" : "OCI_RESOURCE_PRINCIPAL_RPST"));
  }
  const auto phrase = value_or_file::of(variables, variable::resource_pass_phrase, warn);
  const std::string pass_phrase = phrase ? net::detail::header_token(phrase->text) : "";
  std::vector<std::string> secrets{pem->text};
  if (!pass_phrase.empty()) secrets.push_back(pass_phrase);
  return oci_token_access(net::detail::token_of_file(token->text, token->place),
                          net::rsa_key::from_pem(pem->text, pem->place, pass_phrase), source,
                          std::move(secrets));
}

}  // namespace mdstream::inline v0::detail::oci

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE net::any_access default_oci_access(runtime& threads,
                                                   const store::oci_settings& settings,
                                                   const store::oci_options& options) {
  const std::string& chosen = settings.profile.auth;
  if (chosen == "instance_principal") {
    return oci_instance_access(threads, options.http, options.variables);
  }
  if (chosen == "oke_workload_identity") {
    return oci_workload_access(threads, options.http,
                               detail::oci::workload_place::of(options.variables));
  }
  const warning_function warn = net::detail::each_once(options.warn);
  const net::any_access resource =
      net::computed_access([variables = options.variables, warn, chosen] {
        auto found = detail::oci::resource_access(variables, warn);
        if (!found && !chosen.empty()) {
          throw error(errc::permission_denied, "OCI_RESOURCE_PRINCIPAL_VERSION is not set");
        }
        return found;
      });
  if (chosen == "resource_principal") return resource;
  const net::any_access profile =
      net::computed_access([of = settings.profile, variables = options.variables, warn] {
        return detail::oci::profile_access(of, variables, warn);
      });
  if (!chosen.empty()) return profile;
  return net::access_chain({profile, resource});
}

}  // namespace mdstream::inline v0::detail
