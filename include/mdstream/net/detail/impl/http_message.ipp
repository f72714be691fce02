#pragma once

#include <mdstream/net/http_message.hpp>
#include <mdstream/version.hpp>

#include <utility>

namespace mdstream::inline v0::net {

MDSTREAM_INLINE http_body http_body::from(pull_function pull, std::uint64_t bytes) {
  return {.present = true, .pull = std::move(pull), .pull_bytes = bytes};
}

}  // namespace mdstream::inline v0::net

namespace mdstream::inline v0::net::detail {

MDSTREAM_INLINE http_client_options with_trust(http_client_options options,
                                               const environment& variables) {
  if (!options.ca_file.empty() || !options.ca_directory.empty()) return options;
  options.ca_file =
      first_set(variables, {"CURL_CA_BUNDLE", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"}).value_or("");
  options.ca_directory = variables("SSL_CERT_DIR").value_or("");
  return options;
}

MDSTREAM_INLINE void require_sound(const http_request& request) {
  const auto refuse = [&](std::string what) {
    throw error(errc::invalid_argument, {.what = std::move(what), .url = request.shown_name()});
  };
  if (!parse_http_url(request.url)) refuse("this is no http or https URL that can be sent");
  for (const http_header& each : request.headers) {
    http_headers check;
    if (!check.add_line(each.name + ": " + each.value)) {
      refuse("the request has a header that cannot be sent");  // its text may be a secret
    }
  }
}

}  // namespace mdstream::inline v0::net::detail

namespace mdstream::inline v0::net {

MDSTREAM_INLINE std::error_code error_of_status(int status) noexcept {
  if (status >= 200 && status < 300) return {};
  switch (status) {
    case 401:
    case 403:
    case 407: return errc::permission_denied;
    case 404:
    case 410: return errc::not_found;
    case 405:
    case 501: return errc::unsupported;
    case 408:
    case 425:
    case 429: return errc::unavailable;
    case 412: return errc::corrupt;
    case 416: return errc::out_of_range;
    case 507: return errc::no_space;
    default: break;
  }
  if (status >= 500) return errc::unavailable;
  return status >= 400 ? errc::invalid_argument : errc::unsupported;
}

MDSTREAM_INLINE std::error_code failure_of(const http_response& answer, std::string_view url,
                                           diagnostics& where) {
  const std::error_code code = error_of_status(answer.status);
  if (!code) return code;
  where = {.what = "the server answers " + std::to_string(answer.status),
           .url = redacted_url(url),
           .is_final = answer.status == 412};  // a condition that is not met will not be met
  if (const auto location = answer.headers.find("Location");
      location && answer.status >= 300 && answer.status < 400) {
    where.what += ", a redirect to " + redacted_url(*location);
  }
  if (const auto pause = answer.headers.find("Retry-After")) {
    where.retry_after = parse_retry_after(*pause, wall_clock::now());
  } else if (const auto limit = answer.headers.find("RateLimit"); limit && answer.status == 429) {
    where.retry_after = parse_rate_limit(*limit);
  }
  return code;
}

}  // namespace mdstream::inline v0::net
