#pragma once

/// libcurl's handles as owners. Needs libcurl: link mdstream::curl.

#if !__has_include(<curl/curl.h>)
#error \
    "mdstream's http and s3 stores need <curl/curl.h>: install libcurl's headers and link mdstream::curl"
#endif

#include <mdstream/core/error.hpp>

#include <curl/curl.h>
#include <memory>
#include <new>
#include <string>

#if LIBCURL_VERSION_NUM < 0x074C00
#error "mdstream needs libcurl 7.76 or later"
#endif

namespace mdstream::inline v0::net::detail {

// CURL and CURLM are both `void`: the deleters carry the difference.
struct curl_multi_deleter {
  void operator()(CURLM* multi) const noexcept;
};
struct curl_easy_deleter {
  void operator()(CURL* easy) const noexcept;
};
struct curl_list_deleter {
  void operator()(curl_slist* list) const noexcept;
};
using curl_multi_handle = std::unique_ptr<CURLM, curl_multi_deleter>;
using curl_easy_handle = std::unique_ptr<CURL, curl_easy_deleter>;

/// libcurl's process-wide start, once; it stays until the process ends.
void start_curl();

[[nodiscard]] curl_multi_handle make_curl_multi();

[[nodiscard]] curl_easy_handle make_curl_easy();

/// A list of header lines as libcurl takes them.
class curl_list {
 public:
  void add(const std::string& line);
  void clear() noexcept;
  [[nodiscard]] curl_slist* get() const noexcept;

 private:
  std::unique_ptr<curl_slist, curl_list_deleter> list_;
};

/// The protocols that a transfer may use.
#if LIBCURL_VERSION_NUM >= 0x075500
inline constexpr CURLoption protocols_option = CURLOPT_PROTOCOLS_STR;
inline constexpr const char* web_protocols = "http,https";
inline constexpr const char* sftp_protocol = "sftp";
#else
inline constexpr CURLoption protocols_option = CURLOPT_PROTOCOLS;
inline constexpr long web_protocols = CURLPROTO_HTTP | CURLPROTO_HTTPS;
inline constexpr long sftp_protocol = CURLPROTO_SFTP;
#endif

/// Sets an option of a transfer. Throws errc::io_error where this libcurl does not take it.
template <class Value>
void set_option(CURL* easy, CURLoption option, Value value) {
  const CURLcode failure = curl_easy_setopt(easy, option, value);
  if (failure == CURLE_OUT_OF_MEMORY) throw std::bad_alloc();
  if (failure != CURLE_OK) {
    const curl_easyoption* const known = curl_easy_option_by_id(option);
    throw error(errc::io_error,
                diagnostics{.what = "the request cannot be made",
                            .cause = std::string("libcurl ") + LIBCURL_VERSION +
                                     " refuses CURLOPT_" + (known == nullptr ? "" : known->name) +
                                     ": " + curl_easy_strerror(failure)});
  }
}

}  // namespace mdstream::inline v0::net::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/curl/handles.ipp>
#endif
