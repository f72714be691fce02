#pragma once

/// The keys with which requests to AWS, and to what speaks its protocols, are signed, and who
/// supplies them.

#include <mdstream/core/error.hpp>
#include <mdstream/core/unique_function.hpp>
#include <mdstream/net/aws_config.hpp>
#include <mdstream/net/environment.hpp>
#include <mdstream/net/key_supply.hpp>
#include <mdstream/net/time_text.hpp>

#include <concepts>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::net {

/// Keys and where they came from. Only `source` may appear in messages.
struct aws_credentials {
  std::string access_key_id{};  ///< empty: anonymous, requests are not signed
  std::string secret_access_key{};
  std::string session_token{};                      ///< of temporary keys; else empty
  std::optional<wall_clock::time_point> expires{};  ///< of temporary keys, where it is known
  std::string source{};                             ///< which provider supplied them

  [[nodiscard]] bool anonymous() const noexcept { return access_key_id.empty(); }
};

/// Whether these are the keys that a server has refused.
[[nodiscard]] inline bool same_keys(const aws_credentials& a, const aws_credentials& b) {
  return a.access_key_id == b.access_key_id && a.session_token == b.session_token;
}

using aws_credentials_handler = keys_handler<aws_credentials>;

template <class P>
concept aws_credentials_provider = keys_provider<P, aws_credentials>;

using any_aws_credentials = any_keys<aws_credentials>;

/// These keys.
class explicit_aws_credentials {
 public:
  explicit explicit_aws_credentials(aws_credentials keys) : keys_(std::move(keys)) {
    if (keys_.source.empty()) keys_.source = "the program";
  }

  void async_find(std::stop_token, diagnostics&, aws_credentials_handler done) const {
    done({}, keys_);
  }

 private:
  aws_credentials keys_;
};

/// No keys: requests are not signed, as public buckets take them.
class anonymous_aws_credentials {
 public:
  void async_find(std::stop_token, diagnostics&, aws_credentials_handler done) const {
    done({}, aws_credentials{.source = "nobody (anonymous)"});
  }
};

/// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, for temporary keys, AWS_SESSION_TOKEN.
class environment_aws_credentials {
 public:
  explicit environment_aws_credentials(environment variables = process_environment())
      : variables_(std::move(variables)) {}

  void async_find(std::stop_token, diagnostics& where, aws_credentials_handler done) const {
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

 private:
  environment variables_;
};

/// The keys that stand in the files of a profile. They are read each time, so that keys that
/// another program renews are seen.
class profile_aws_credentials {
 public:
  explicit profile_aws_credentials(std::string profile = {},
                                   environment variables = process_environment())
      : profile_(std::move(profile)), variables_(std::move(variables)) {}

  void async_find(std::stop_token, diagnostics& where, aws_credentials_handler done) const {
    std::optional<aws_credentials> keys;
    try {
      keys = read(load_aws_config(variables_, profile_));
    } catch (const error& e) {
      where = e.where();
      return done(errc::permission_denied, std::nullopt);
    }
    done({}, std::move(keys));
  }

 private:
  static std::optional<aws_credentials> read(const aws_config& config) {
    const auto id = config.get("aws_access_key_id"), secret = config.get("aws_secret_access_key");
    const std::string source =
        "the profile \"" + config.profile + "\" of " + config.credentials_file;
    if (id.has_value() != secret.has_value()) {
      throw error(errc::permission_denied, source + " has only one of the two keys");
    }
    if (!id) return std::nullopt;
    return aws_credentials{.access_key_id = *id,
                           .secret_access_key = *secret,
                           .session_token = config.get("aws_session_token").value_or(""),
                           .source = source};
  }

  std::string profile_;
  environment variables_;
};

static_assert(aws_credentials_provider<explicit_aws_credentials> &&
              aws_credentials_provider<anonymous_aws_credentials> &&
              aws_credentials_provider<environment_aws_credentials> &&
              aws_credentials_provider<profile_aws_credentials> &&
              aws_credentials_provider<any_aws_credentials>);

}  // namespace mdstream::inline v0::net
