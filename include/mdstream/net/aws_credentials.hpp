#pragma once

/// The keys with which requests to AWS, and to what speaks its protocols, are signed, and their
/// providers.

#include <mdstream/core/detail/unique_function.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/net/aws_config.hpp>
#include <mdstream/net/environment.hpp>
#include <mdstream/net/key_supply.hpp>
#include <mdstream/net/time_text.hpp>

#include <optional>
#include <stop_token>
#include <string>
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

/// Whether these are the credentials that a server has refused.
[[nodiscard]] bool same_keys(const aws_credentials& a, const aws_credentials& b);

using aws_credentials_handler = keys_handler<aws_credentials>;

template <class P>
concept aws_credentials_provider = keys_provider<P, aws_credentials>;

using any_aws_credentials = any_keys<aws_credentials>;

/// These keys.
class explicit_aws_credentials {
 public:
  explicit explicit_aws_credentials(aws_credentials keys);

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

  void async_find(std::stop_token, diagnostics& where, aws_credentials_handler done) const;

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

  void async_find(std::stop_token, diagnostics& where, aws_credentials_handler done) const;

 private:
  static std::optional<aws_credentials> read(const aws_config& config);

  std::string profile_;
  environment variables_;
};

static_assert(aws_credentials_provider<explicit_aws_credentials> &&
              aws_credentials_provider<anonymous_aws_credentials> &&
              aws_credentials_provider<environment_aws_credentials> &&
              aws_credentials_provider<profile_aws_credentials> &&
              aws_credentials_provider<any_aws_credentials>);

}  // namespace mdstream::inline v0::net

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/aws_credentials.ipp>
#endif
