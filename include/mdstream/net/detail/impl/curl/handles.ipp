#pragma once

#include <mdstream/net/curl/handles.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::net::detail {

MDSTREAM_INLINE void curl_multi_deleter::operator()(CURLM* multi) const noexcept {
  curl_multi_cleanup(multi);
}

MDSTREAM_INLINE void curl_easy_deleter::operator()(CURL* easy) const noexcept {
  curl_easy_cleanup(easy);
}

MDSTREAM_INLINE void curl_list_deleter::operator()(curl_slist* list) const noexcept {
  curl_slist_free_all(list);
}

MDSTREAM_INLINE void start_curl() {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (started != CURLE_OK) {
    throw error(errc::io_error, diagnostics{.what = "libcurl does not start",
                                            .cause = curl_easy_strerror(started)});
  }
}

MDSTREAM_INLINE curl_multi_handle make_curl_multi() {
  start_curl();
  curl_multi_handle made(curl_multi_init());
  if (!made) throw std::bad_alloc();
  return made;
}

MDSTREAM_INLINE curl_easy_handle make_curl_easy() {
  curl_easy_handle made(curl_easy_init());
  if (!made) throw std::bad_alloc();
  return made;
}

MDSTREAM_INLINE void curl_list::add(const std::string& line) {
  curl_slist* const longer = curl_slist_append(list_.get(), line.c_str());
  if (longer == nullptr) throw std::bad_alloc();
  (void)list_.release();
  list_.reset(longer);
}

MDSTREAM_INLINE void curl_list::clear() noexcept { list_.reset(); }

MDSTREAM_INLINE curl_slist* curl_list::get() const noexcept { return list_.get(); }

}  // namespace mdstream::inline v0::net::detail
