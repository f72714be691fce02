#pragma once

/// What an answer other than 2xx means. Pure.

#include <mdstream/core/error.hpp>
#include <mdstream/net/aws_credentials.hpp>
#include <mdstream/net/http_message.hpp>
#include <mdstream/net/quote.hpp>
#include <mdstream/net/time_text.hpp>
#include <mdstream/store/s3/messages.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::store {

namespace s3_detail {

[[nodiscard]] inline bool is_one_of(std::string_view text,
                                    std::initializer_list<std::string_view> of) noexcept {
  return std::find(of.begin(), of.end(), text) != of.end();
}

/// A server's words, without what of the keys was sent to it.
[[nodiscard]] inline std::string quotable(std::string text, const net::aws_credentials& keys) {
  return net::quotable(std::move(text),
                       {keys.session_token, keys.secret_access_key, keys.access_key_id});
}

}  // namespace s3_detail

/// A status, S3's own code for it, and what of the signature may be cured.
class s3_refusal {
 public:
  s3_refusal(bool is_head, const net::http_response& answer)
      : is_head_(is_head), answer_status_(answer.status), said_(parse_s3_error(answer.text)) {
    if (const auto region = answer.headers.find("x-amz-bucket-region")) said_.region = *region;
    if (const auto pause = answer.headers.find("Retry-After")) {
      retry_after_ = net::parse_retry_after(*pause, net::wall_clock::now());
    }
  }

  /// Where the bucket is, if the answer says that the request was signed for, or sent to, another
  /// region.
  [[nodiscard]] std::string region() const {
    const bool about_region = answer_status_ == 301 || answer_status_ == 307 ||
                              answer_status_ == 400 || answer_status_ == 403;
    return about_region ? said_.region : std::string();
  }

  /// The service's time, if the answer says that the request's was too far from it. A HEAD's answer
  /// has no words for it: there a quarter of an hour between the clocks says it.
  [[nodiscard]] std::optional<net::wall_clock::time_point> clock(
      const net::http_response& answer, net::wall_clock::time_point signed_at) const {
    const auto text = answer.headers.find("Date");
    const auto there = text ? net::parse_http_date(*text) : std::nullopt;
    if (!there || answer_status_ != 403) return std::nullopt;
    const auto apart = std::chrono::abs(*there - signed_at);
    const bool silent = said_.code.empty() && apart > std::chrono::minutes(14);
    if (said_.code != "RequestTimeTooSkewed" && !silent) return std::nullopt;
    return there;
  }

  /// Whether other keys of the same provider may be taken.
  [[nodiscard]] bool keys_expired() const {
    return s3_detail::is_one_of(said_.code,
                                {"ExpiredToken", "ExpiredTokenException", "InvalidToken",
                                 "TokenRefreshRequired", "InvalidAccessKeyId"}) ||
           refused_head();
  }

  /// The failure's code and, in `where`, its words.
  [[nodiscard]] std::error_code explain(const net::aws_credentials& keys, bool requester_pays,
                                        diagnostics& where) const {
    const errc code = code_of_answer();
    where = {.what = "S3 answers " + std::to_string(answer_status_), .retry_after = retry_after_};
    if (!said_.code.empty()) {
      where.what += ' ' + s3_detail::quotable(said_.code, keys) + " (" +
                    s3_detail::quotable(said_.message, keys) + ')';
    }
    if (code == errc::permission_denied) {
      where.what += "; the keys are those of " + keys.source;
      if (!requester_pays && (said_.code.empty() || said_.code == "AccessDenied")) {
        where.cause =
            "the keys may not do this; if it is the requester who pays for this bucket, "
            "MOSAICML_STREAMING_AWS_REQUESTER_PAYS has to name it";
      }
    }
    return code;
  }

 private:
  /// S3's answer to a HEAD with expired keys has nothing but this status.
  [[nodiscard]] bool refused_head() const noexcept { return is_head_ && answer_status_ == 400; }

  [[nodiscard]] errc code_of_answer() const {
    if (s3_detail::is_one_of(said_.code,
                             {"RequestTimeout", "SlowDown", "InternalError", "ServiceUnavailable",
                              "OperationAborted", "BadDigest", "ConditionalRequestConflict",
                              "XAmzContentSHA256Mismatch", "IncompleteBody"})) {
      return errc::unavailable;
    }
    if (refused_head() ||
        s3_detail::is_one_of(said_.code, {"ExpiredToken", "ExpiredTokenException", "InvalidToken",
                                          "TokenRefreshRequired", "InvalidAccessKeyId",
                                          "SignatureDoesNotMatch", "AuthorizationHeaderMalformed",
                                          "InvalidSecurity", "RequestTimeTooSkewed"})) {
      return errc::permission_denied;
    }
    return static_cast<errc>(net::error_of_status(answer_status_).value());
  }

  bool is_head_;
  int answer_status_;
  s3_error said_;
  std::optional<std::chrono::milliseconds> retry_after_{};
};

}  // namespace mdstream::inline v0::store
