#pragma once

#include <mdstream/net/aws_metadata.hpp>
#include <mdstream/net/aws_process.hpp>
#include <mdstream/net/aws_profile.hpp>
#include <mdstream/net/aws_sso.hpp>
#include <mdstream/net/aws_sts.hpp>
#include <mdstream/net/settings_file.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstddef>

namespace mdstream::inline v0::net {

MDSTREAM_INLINE aws_key_sources::aws_key_sources(runtime& t, const http_client_options& options,
                                                 environment v, std::string r, warning_function w)
    : threads(&t),
      far(t, options),
      near(fetcher::near(t, options)),
      variables(std::move(v)),
      region(std::move(r)),
      warn(detail::each_once(std::move(w))) {}

}  // namespace mdstream::inline v0::net

namespace mdstream::inline v0::net::detail {

MDSTREAM_INLINE std::optional<any_aws_credentials> aws_profile_ways::way() const {
  std::vector<std::string> passed;
  return way_of(config_.profile, passed);
}

MDSTREAM_INLINE error aws_profile_ways::refused(const std::string& profile,
                                                const std::string& why) {
  return {errc::permission_denied, "the profile \"" + profile + "\" " + why};
}

MDSTREAM_INLINE std::optional<any_aws_credentials> aws_profile_ways::way_of(
    const std::string& name, std::vector<std::string>& passed) const {
  const auto at = config_.profiles.find(name);
  if (at == config_.profiles.end()) return std::nullopt;
  const ini_section& profile = at->second;
  const bool again = std::find(passed.begin(), passed.end(), name) != passed.end();
  passed.push_back(name);
  // A role may be assumed with the credentials that stand beside it.
  if (!again && setting(profile, "role_arn")) return role_of(name, profile, passed);
  if (auto login = login_of(name, profile)) return login;
  if (setting(profile, "aws_access_key_id") || setting(profile, "aws_secret_access_key")) {
    return profile_aws_credentials(name, sources_.variables);
  }
  if (const auto command = setting(profile, "credential_process")) {
    return process_aws_credentials(*sources_.threads, *command, name);
  }
  return std::nullopt;
}

MDSTREAM_INLINE std::optional<any_aws_credentials> aws_profile_ways::role_of(
    const std::string& name, const ini_section& profile, std::vector<std::string>& passed) const {
  if (setting(profile, "mfa_serial")) {
    throw refused(name, "wants a second factor, which nobody is here to type; use aws sso login");
  }
  const aws_role role{.arn = *setting(profile, "role_arn"),
                      .session_name = setting(profile, "role_session_name").value_or("mdstream"),
                      .external_id = setting(profile, "external_id").value_or(""),
                      .duration_seconds = setting(profile, "duration_seconds").value_or("")};
  const sts_place place =
      sts_place::from(sources_.variables, setting(profile, "region").value_or(sources_.region));
  if (const auto file = setting(profile, "web_identity_token_file")) {
    return web_identity_aws_credentials(sources_.far, place, role, *file);
  }
  return assumed_role_aws_credentials(sources_.far, place, role, others_of(name, profile, passed));
}

MDSTREAM_INLINE any_aws_credentials aws_profile_ways::others_of(
    const std::string& name, const ini_section& profile, std::vector<std::string>& passed) const {
  if (const auto source = setting(profile, "source_profile")) {
    constexpr std::size_t longest = 8;
    if (passed.size() > longest) throw refused(name, "leads to itself by source_profile");
    auto others = way_of(*source, passed);
    if (!others)
      throw refused(name, "has a source_profile without credentials, \"" + *source + '"');
    return *std::move(others);
  }
  const auto source = setting(profile, "credential_source").value_or("");
  if (source == "Environment") return environment_aws_credentials(sources_.variables);
  if (source == "Ec2InstanceMetadata") {
    return instance_aws_credentials(sources_.near, sources_.variables);
  }
  if (source == "EcsContainer") {
    return container_aws_credentials(sources_.near, sources_.variables);
  }
  throw refused(name,
                "has a role, but says neither by source_profile nor by credential_source "
                "nor by web_identity_token_file who takes it");
}

MDSTREAM_INLINE std::optional<any_aws_credentials> aws_profile_ways::login_of(
    const std::string& name, const ini_section& profile) const {
  const auto session = setting(profile, "sso_session");
  const auto url = setting(profile, "sso_start_url");
  if (!session && !url) return std::nullopt;
  const ini_section* about = &profile;
  if (session) {
    const auto at = config_.sso_sessions.find(*session);
    if (at == config_.sso_sessions.end()) {
      throw refused(name, "has an sso_session that is not there");
    }
    about = &at->second;
  }
  const auto account = setting(profile, "sso_account_id"), role = setting(profile, "sso_role_name"),
             region = setting(*about, "sso_region");
  if (!account || !role || !region) {
    throw refused(name, "lacks sso_account_id, sso_role_name or sso_region");
  }
  return sso_aws_credentials(
      sources_.far, {.profile = name,
                     .account = *account,
                     .role = *role,
                     .region = *region,
                     .cached_as = session ? *session : *url,
                     .cache = in_home(sources_.variables, "~/.aws/sso/cache"),
                     .endpoint = sources_.variables("AWS_ENDPOINT_URL_SSO")
                                     .value_or("https://portal.sso." + *region + ".amazonaws.com"),
                     .token_endpoint = sources_.variables("AWS_ENDPOINT_URL_SSO_OIDC")
                                           .value_or("https://oidc." + *region + ".amazonaws.com"),
                     .warn = sources_.warn});
}

}  // namespace mdstream::inline v0::net::detail

namespace mdstream::inline v0::net {

MDSTREAM_INLINE void described_aws_credentials::async_find(std::stop_token stop, diagnostics& where,
                                                           aws_credentials_handler done) const {
  sources_.threads->post(
      [self = *this, stop = std::move(stop), &where, done = std::move(done)]() mutable {
        if (stop.stop_requested()) return done(errc::canceled, std::nullopt);
        std::optional<any_aws_credentials> way;
        try {
          way = self.read();
        } catch (const error& e) {
          where = e.where();
          return done(errc::permission_denied, std::nullopt);
        }
        if (!way) return done({}, std::nullopt);
        way->async_find(std::move(stop), where, std::move(done));
      });
}

MDSTREAM_INLINE std::optional<any_aws_credentials> described_aws_credentials::read() const {
  return detail::aws_profile_ways(sources_, load_aws_config(sources_.variables, profile_)).way();
}

MDSTREAM_INLINE void environment_web_identity::async_find(std::stop_token stop, diagnostics& where,
                                                          aws_credentials_handler done) const {
  const auto file = sources_.variables("AWS_WEB_IDENTITY_TOKEN_FILE");
  const auto arn = sources_.variables("AWS_ROLE_ARN");
  if (!file || !arn) return done({}, std::nullopt);
  aws_role role{.arn = *arn};
  if (const auto name = sources_.variables("AWS_ROLE_SESSION_NAME")) role.session_name = *name;
  web_identity_aws_credentials(sources_.far, sts_place::from(sources_.variables, sources_.region),
                               role, *file)
      .async_find(std::move(stop), where, std::move(done));
}

MDSTREAM_INLINE aws_credential_chain default_aws_credentials(const aws_key_sources& sources,
                                                             const std::string& profile) {
  std::vector<any_aws_credentials> providers;
  const described_aws_credentials described(sources, profile);
  if (!profile.empty()) providers.emplace_back(described);
  providers.emplace_back(environment_aws_credentials(sources.variables));
  providers.emplace_back(environment_web_identity(sources));
  if (profile.empty()) providers.emplace_back(described);
  providers.emplace_back(container_aws_credentials(sources.near, sources.variables));
  providers.emplace_back(instance_aws_credentials(sources.near, sources.variables));
  return aws_credential_chain(std::move(providers));
}

}  // namespace mdstream::inline v0::net
