#pragma once

/// What an answer other than 2xx means. Pure.

#include <mdstream/core/error.hpp>
#include <mdstream/net/http_message.hpp>
#include <mdstream/store/detail/cloud/call.hpp>
#include <mdstream/store/detail/s3/messages.hpp>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

namespace mdstream::inline v0::detail {

/// A status, S3's own code for it, and what of the signature may be cured.
class s3_refusal {
 public:
  explicit s3_refusal(const net::http_response& answer);

  /// Where the bucket is, if the answer says that the request was signed for, or sent to, another
  /// region.
  [[nodiscard]] std::string region() const;

  [[nodiscard]] cloud_refusal words(bool requester_pays) const;

 private:
  [[nodiscard]] bool is_one_of(std::initializer_list<std::string_view> of) const noexcept {
    return std::find(of.begin(), of.end(), said_.code) != of.end();
  }

  /// S3's answer to a HEAD with expired keys has nothing but this status.
  [[nodiscard]] bool silent_400() const noexcept { return !has_words_ && status_ == 400; }

  /// What its user may do about it; empty where nobody knows.
  [[nodiscard]] std::string_view advice() const noexcept;

  [[nodiscard]] errc code_of_answer() const;

  int status_;
  bool has_words_;
  s3_error said_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/s3/refusal.ipp>
#endif
