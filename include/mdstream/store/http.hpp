#pragma once

/// Files of a web server as a store, read only. Needs libcurl: link mdstream::curl.

#include <mdstream/net/http_client.hpp>
#include <mdstream/store/any_async_store.hpp>

#include <string_view>
#include <vector>

namespace mdstream::inline v0 {

namespace store {

/// Options of `store::http`.
///
///     mds::store::http server(threads, "https://example.org/c4",
///                             {.headers = {{"Authorization", "Bearer " + token}}});
struct http_options {
  net::http_client_options client{};        ///< connections, proxy, certificates
  std::vector<net::http_header> headers{};  ///< sent to the store's own server with every request
  unsigned redirects = 8;                   ///< followed for each request, at most
};

/// Reads objects under an http or https URL. A query of the URL, such as a signature, is sent with
/// every request; `user:password@` as Basic authorization. Thread-safe; copies share connections.
///
/// `size` is a HEAD, or a GET of the first byte if the server does not answer that. A read is one
/// GET of its range. It fails with errc::corrupt if Content-Range, Content-Length or the body
/// differ from the range. A server without ranges sends the whole object, and the rest is dropped.
/// Keys are percent-encoded. Writing, listing and removing are errc::unsupported.
///
///     mds::store::http server(threads, "https://example.org/c4?token=secret");
class http : public any_async_store {
 public:
  static constexpr std::string_view schemes = "http://, https://";

  http(runtime& threads, std::string_view root, http_options options = {});

  [[nodiscard]] static bool serves(std::string_view url);

  [[nodiscard]] static http open(std::string_view url, runtime& threads) {
    return http(threads, url);
  }
};

static_assert(openable_store<http>);

}  // namespace store

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/http.ipp>
#endif
