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

#if LIBCURL_VERSION_NUM < 0x075500
#error "mdstream needs libcurl 7.85 or later"
#endif

namespace mdstream::inline v0::net::detail {

// CURL and CURLM are both `void`: the deleters carry the difference.
struct curl_multi_deleter {
  void operator()(CURLM* multi) const noexcept { curl_multi_cleanup(multi); }
};
struct curl_easy_deleter {
  void operator()(CURL* easy) const noexcept { curl_easy_cleanup(easy); }
};
struct curl_list_deleter {
  void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
};
using curl_multi_handle = std::unique_ptr<CURLM, curl_multi_deleter>;
using curl_easy_handle = std::unique_ptr<CURL, curl_easy_deleter>;

/// libcurl's process-wide start, once; it stays until the process ends.
inline void start_curl() {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (started != CURLE_OK) {
    throw error(errc::io_error, diagnostics{.what = "libcurl does not start",
                                            .cause = curl_easy_strerror(started)});
  }
}

[[nodiscard]] inline curl_multi_handle make_curl_multi() {
  start_curl();
  curl_multi_handle made(curl_multi_init());
  if (!made) throw std::bad_alloc();
  return made;
}

[[nodiscard]] inline curl_easy_handle make_curl_easy() {
  curl_easy_handle made(curl_easy_init());
  if (!made) throw std::bad_alloc();
  return made;
}

/// A list of header lines as libcurl takes them.
class curl_list {
 public:
  void add(const std::string& line) {
    curl_slist* const longer = curl_slist_append(list_.get(), line.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    (void)list_.release();
    list_.reset(longer);
  }
  void clear() noexcept { list_.reset(); }
  [[nodiscard]] curl_slist* get() const noexcept { return list_.get(); }

 private:
  std::unique_ptr<curl_slist, curl_list_deleter> list_;
};

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
