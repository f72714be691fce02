#pragma once

/// The keys with which requests to AWS, and to what speaks its protocols, are signed, and who
/// supplies them.

#include <mdstream/core/error.hpp>
#include <mdstream/core/unique_function.hpp>
#include <mdstream/net/aws_config.hpp>
#include <mdstream/net/environment.hpp>
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

/// No code and keys; no code and nothing: this provider is not set up here, another may be asked;
/// or a code: it is set up and failed, which is to be told.
using aws_credentials_handler =
    unique_function<void(std::error_code, std::optional<aws_credentials>)>;

/// Who supplies keys. `async_find` completes exactly once, on any thread, also before it returns;
/// the diagnostics stay until then. It is called again when what it gave is about to expire or was
/// refused.
template <class P>
concept aws_credentials_provider =
    requires(const P& provider, std::stop_token stop, diagnostics& where,
             aws_credentials_handler done) { provider.async_find(stop, where, std::move(done)); };

/// Any provider, shared by its copies.
class any_aws_credentials {
 public:
  template <class P>
    requires(!std::same_as<P, any_aws_credentials> && aws_credentials_provider<P>)
  any_aws_credentials(P provider)  // implicit: an option takes any provider
      : provider_(std::make_shared<model<P>>(std::move(provider))) {}

  void async_find(std::stop_token stop, diagnostics& where, aws_credentials_handler done) const {
    provider_->find(std::move(stop), where, std::move(done));
  }

 private:
  struct interface {
    virtual ~interface() = default;
    virtual void find(std::stop_token, diagnostics&, aws_credentials_handler) const = 0;
  };
  template <class P>
  struct model final : interface {
    explicit model(P p) : provider(std::move(p)) {}
    void find(std::stop_token stop, diagnostics& where,
              aws_credentials_handler done) const override {
      provider.async_find(std::move(stop), where, std::move(done));
    }
    P provider;
  };

  std::shared_ptr<const interface> provider_;
};

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
