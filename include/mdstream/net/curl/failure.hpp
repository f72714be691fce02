#pragma once

/// What libcurl's ways to fail mean to a caller. Pure.

#include <mdstream/core/error.hpp>

#include <curl/curl.h>

#include <string>
#include <string_view>

namespace mdstream::inline v0::net::detail {

struct curl_failure {
  errc code = errc::unavailable;
  std::string what{};
};

[[nodiscard]] errc code_of_curl(CURLcode ended) noexcept;

/// `text`: what libcurl says. `client_certificate`: the file that the request was to show, if any.
[[nodiscard]] curl_failure failure_of_curl(CURLcode ended, std::string_view text,
                                           const std::string& client_certificate);

}  // namespace mdstream::inline v0::net::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/curl/failure.ipp>
#endif
