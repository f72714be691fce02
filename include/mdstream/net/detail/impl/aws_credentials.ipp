#pragma once

#include <mdstream/net/aws_credentials.hpp>
#include <mdstream/version.hpp>

#include <cstring>

namespace mdstream::inline v0::net {

MDSTREAM_INLINE bool same_keys(const aws_credentials& a, const aws_credentials& b) {
  return a.access_key_id == b.access_key_id && a.session_token == b.session_token;
}

MDSTREAM_INLINE explicit_aws_credentials::explicit_aws_credentials(aws_credentials keys)
    : keys_(std::move(keys)) {
  if (keys_.source.empty()) keys_.source = "the program";
}

MDSTREAM_INLINE void environment_aws_credentials::async_find(std::stop_token, diagnostics& where,
                                                             aws_credentials_handler done) const {
  const auto id = variables_("AWS_ACCESS_KEY_ID");
  const auto secret = variables_("AWS_SECRET_ACCESS_KEY");
  if (id.has_value() != secret.has_value()) {
    where.what = std::string("the environment has ") +
                 (id ? "AWS_ACCESS_KEY_ID without AWS_SECRET_ACCESS_KEY"
                     : "AWS_SECRET_ACCESS_KEY without AWS_ACCESS_KEY_ID");
    return done(errc::permission_denied, std::nullopt);
  }
  if (!id) return done({}, std::nullopt);
  done({}, aws_credentials{.access_key_id = *id,
                           .secret_access_key = *secret,
                           .session_token = variables_("AWS_SESSION_TOKEN").value_or(""),
                           .source = "the environment (AWS_ACCESS_KEY_ID)"});
}

MDSTREAM_INLINE void profile_aws_credentials::async_find(std::stop_token, diagnostics& where,
                                                         aws_credentials_handler done) const {
  std::optional<aws_credentials> keys;
  try {
    keys = read(load_aws_config(variables_, profile_));
  } catch (const error& e) {
    where = e.where();
    return done(errc::permission_denied, std::nullopt);
  }
  done({}, std::move(keys));
}

MDSTREAM_INLINE std::optional<aws_credentials> profile_aws_credentials::read(
    const aws_config& config) {
  const auto id = config.get("aws_access_key_id"), secret = config.get("aws_secret_access_key");
  const std::string source = "the profile \"" + config.profile + "\" of " + config.credentials_file;
  if (id.has_value() != secret.has_value()) {
    throw error(errc::permission_denied, source + " has only one of the two keys");
  }
  if (!id) return std::nullopt;
  return aws_credentials{.access_key_id = *id,
                         .secret_access_key = *secret,
                         .session_token = config.get("aws_session_token").value_or(""),
                         .source = source};
}

}  // namespace mdstream::inline v0::net
