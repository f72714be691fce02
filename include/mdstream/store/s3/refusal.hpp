#pragma once

/// What an answer other than 2xx means. Pure.

#include <mdstream/core/error.hpp>
#include <mdstream/net/http_message.hpp>
#include <mdstream/store/cloud/call.hpp>
#include <mdstream/store/s3/messages.hpp>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

namespace mdstream::inline v0::store {

/// A status, S3's own code for it, and what of the signature may be cured.
class s3_refusal {
 public:
  explicit s3_refusal(const net::http_response& answer)
      : status_(answer.status),
        has_words_(!answer.text.empty()),
        said_(parse_s3_error(answer.text)) {
    if (const auto region = answer.headers.find("x-amz-bucket-region")) said_.region = *region;
  }

  /// Where the bucket is, if the answer says that the request was signed for, or sent to, another
  /// region.
  [[nodiscard]] std::string region() const {
    const bool about_region = status_ == 301 || status_ == 307 || status_ == 400 || status_ == 403;
    return about_region ? said_.region : std::string();
  }

  [[nodiscard]] cloud_refusal words(bool requester_pays) const {
    cloud_refusal out{.code = said_.code, .message = said_.message};
    out.keys_expired = is_one_of({"ExpiredToken", "ExpiredTokenException", "InvalidToken",
                                  "TokenRefreshRequired", "InvalidAccessKeyId"}) ||
                       silent_400();
    if (!said_.code.empty()) out.wrong_time = said_.code == "RequestTimeTooSkewed";
    out.failure = code_of_answer();
    if (out.failure == errc::permission_denied && !requester_pays &&
        (said_.code.empty() || said_.code == "AccessDenied")) {
      out.advice =
          "the keys may not do this; if it is the requester who pays for this bucket, "
          "MOSAICML_STREAMING_AWS_REQUESTER_PAYS has to name it";
    }
    return out;
  }

 private:
  [[nodiscard]] bool is_one_of(std::initializer_list<std::string_view> of) const noexcept {
    return std::find(of.begin(), of.end(), said_.code) != of.end();
  }

  /// S3's answer to a HEAD with expired keys has nothing but this status.
  [[nodiscard]] bool silent_400() const noexcept { return !has_words_ && status_ == 400; }

  [[nodiscard]] errc code_of_answer() const {
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

  int status_;
  bool has_words_;
  s3_error said_;
};

}  // namespace mdstream::inline v0::store
