#pragma once

#include <mdstream/store/detail/s3/refusal.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE s3_refusal::s3_refusal(const net::http_response& answer)
    : status_(answer.status), has_words_(!answer.text.empty()), said_(parse_s3_error(answer.text)) {
  if (const auto region = answer.headers.find("x-amz-bucket-region")) said_.region = *region;
}

MDSTREAM_INLINE std::string s3_refusal::region() const {
  const bool about_region = status_ == 301 || status_ == 307 || status_ == 400 || status_ == 403;
  return about_region ? said_.region : std::string();
}

MDSTREAM_INLINE cloud_refusal s3_refusal::words(bool requester_pays) const {
  cloud_refusal out{.code = said_.code, .message = said_.message};
  out.keys_expired = is_one_of({"ExpiredToken", "ExpiredTokenException", "InvalidToken",
                                "TokenRefreshRequired", "InvalidAccessKeyId"}) ||
                     silent_400();
  if (!said_.code.empty()) out.wrong_time = said_.code == "RequestTimeTooSkewed";
  out.failure = code_of_answer();
  if (out.failure == errc::permission_denied && !requester_pays &&
      (said_.code.empty() || said_.code == "AccessDenied")) {
    out.advice =
        "these credentials may not do this; if it is the requester who pays for this bucket, "
        "MOSAICML_STREAMING_AWS_REQUESTER_PAYS has to name it";
  } else {
    out.advice = advice();
  }
  return out;
}

MDSTREAM_INLINE std::string_view s3_refusal::advice() const noexcept {
  if (status_ == 301) return "the bucket is in another region; AWS_REGION has to name it";
  if (is_one_of({"SignatureDoesNotMatch"}))
    return "the secret key is not that of the key id, or a part of it is missing";
  if (is_one_of({"InvalidAccessKeyId"}))
    return "the key id is of another service, or was deleted: check AWS_ENDPOINT_URL as well";
  if (is_one_of({"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired"}))
    return "get new credentials, by aws sso login say; AWS_SESSION_TOKEN is of the old ones";
  if (is_one_of({"RequestTimeTooSkewed"})) return "set the clock of this machine";
  return {};
}

MDSTREAM_INLINE errc s3_refusal::code_of_answer() const {
  if (is_one_of({"RequestTimeout", "SlowDown", "InternalError", "ServiceUnavailable",
                 "OperationAborted", "BadDigest", "ConditionalRequestConflict",
                 "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch", "IncompleteBody"})) {
    return errc::unavailable;
  }
  if (silent_400() ||
      is_one_of({"ExpiredToken", "ExpiredTokenException", "InvalidToken", "TokenRefreshRequired",
                 "InvalidAccessKeyId", "SignatureDoesNotMatch", "AuthorizationHeaderMalformed",
                 "InvalidSecurity", "RequestTimeTooSkewed"})) {
    return errc::permission_denied;
  }
  return static_cast<errc>(net::error_of_status(status_).value());
}

}  // namespace mdstream::inline v0::detail
