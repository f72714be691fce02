#pragma once

/// The texts in which services and programs hand out keys for AWS. Pure; errors name what is
/// missing and quote nothing.

#include <mdstream/core/error.hpp>
#include <mdstream/net/aws_credentials.hpp>

#include <string>
#include <string_view>

namespace mdstream::inline v0::net {

namespace detail {

[[nodiscard]] error keys_refused(const std::string& source, const std::string& why);

/// Keys with nothing missing.
[[nodiscard]] aws_credentials complete_keys(aws_credentials keys, const std::string& expires,
                                            const std::string& source);

}  // namespace detail

/// Reads `{"AccessKeyId": …, "SecretAccessKey": …, "Token" or "SessionToken": …, "Expiration": …}`,
/// as the metadata services of EC2 and of containers and a `credential_process` write it. Throws
/// `errc::permission_denied` for anything else, naming `source`.
[[nodiscard]] aws_credentials parse_aws_keys_json(std::string_view text, const std::string& source);

/// Reads the answer of AWS's Security Token Service to AssumeRole and AssumeRoleWithWebIdentity.
/// Throws as `parse_aws_keys_json`.
[[nodiscard]] aws_credentials parse_sts_keys(std::string_view text, const std::string& source);

/// Reads the answer of S3 to CreateSession, the credentials of a session with a directory bucket.
/// Throws as `parse_aws_keys_json`.
[[nodiscard]] aws_credentials parse_s3_session(std::string_view text, const std::string& source);

/// The `<Code>` of the Security Token Service's error, such as `ExpiredTokenException`; empty where
/// there is none.
[[nodiscard]] std::string parse_sts_error(std::string_view text);

}  // namespace mdstream::inline v0::net

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/aws_key_texts.ipp>
#endif
