#pragma once

/// Sessions with directory buckets (S3 Express One Zone). Needs libcurl and OpenSSL: link
/// mdstream::s3. Source: Amazon S3 API Reference, CreateSession.

#include <mdstream/net/aws_credentials.hpp>
#include <mdstream/net/fetch.hpp>
#include <mdstream/store/s3/options.hpp>

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>

namespace mdstream::inline v0::detail {

/// The credentials of a session, which the bucket gives for requests signed with others. They
/// are good for five minutes and for this bucket alone.
class s3_session_credentials {
 public:
  /// Before their end credentials are asked for anew. Those of a session do not last longer than
  /// the usual margin.
  static constexpr std::chrono::seconds margin = std::chrono::minutes(1);

  s3_session_credentials(net::fetcher from, const store::s3_settings& settings,
                         net::any_aws_credentials others);

  void async_find(std::stop_token stop, diagnostics& where,
                  net::aws_credentials_handler done) const;

 private:
  struct question;

  struct shared {
    net::fetcher from;
    store::s3_settings settings;
    net::cached_keys<net::aws_credentials> others;
    std::string source;
  };

  std::shared_ptr<const shared> shared_;
};

static_assert(net::aws_credentials_provider<s3_session_credentials>);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/s3/session.ipp>
#endif
