#pragma once

/// Files of a web server as a store, read only. Needs libcurl: link mdstream::curl.

#include <mdstream/net/http_client.hpp>
#include <mdstream/store/detail/http_range.hpp>
#include <mdstream/store/store.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

namespace store {

/// Options of `store::http`.
struct http_options {
  net::http_client_options client{};
  std::vector<net::http_header> headers{};  ///< sent to the store's own server with every request
  unsigned redirects = 8;                   ///< followed for each request
};

/// Objects beneath an http or https URL. A query of the URL (a signature, say) is sent with every
/// object; `user:password@` as Basic authorization. Thread-safe; copies share connections.
///
/// `size` is a HEAD, or a GET of the first byte where a server does not answer that. A read is one
/// GET of its range, and is refused with errc::corrupt unless Content-Range, Content-Length and
/// the body agree with it; a server without ranges sends the whole object, of which the range is
/// kept. Keys are percent-encoded. Writing, listing and removing are errc::unsupported.
class http {
 public:
  static constexpr std::string_view schemes = "http://, https://";

  http(runtime& threads, std::string_view root, http_options options = {});

  [[nodiscard]] static bool serves(std::string_view url);

  [[nodiscard]] static http open(std::string_view url, runtime& threads) {
    return http(threads, url);
  }

  void async_size(std::string key, std::stop_token stop, diagnostics& where,
                  store_handler<std::uint64_t> done) const;

  void async_version(std::string key, std::stop_token stop, diagnostics& where,
                     store_handler<object_version> done) const;

  void async_read(std::string key, std::uint64_t offset, mutable_bytes into, std::stop_token stop,
                  diagnostics& where, store_handler<std::size_t> done) const;

  void async_read_version(std::string key, const object_version& held, std::uint64_t offset,
                          mutable_bytes into, std::stop_token stop, diagnostics& where,
                          store_handler<std::size_t> done) const;

  void async_stream(std::string key, std::optional<object_version> held, std::uint64_t offset,
                    std::uint64_t count, byte_taker take, std::stop_token stop, diagnostics& where,
                    store_handler<object_version> done) const;

  void async_write(std::string key, bytes_view, std::stop_token, diagnostics& where,
                   store_handler<> done) const {
    done(read_only(key, "written to", where));
  }
  void async_list(std::string prefix, std::stop_token, diagnostics& where,
                  store_handler<std::vector<object_info>> done) const {
    done(read_only(prefix, "listed", where, false), {});
  }
  void async_remove(std::string key, std::stop_token, diagnostics& where,
                    store_handler<> done) const {
    done(read_only(key, "removed from", where));
  }

  [[nodiscard]] std::string url(std::string_view key) const {
    return net::redacted_url(shared_->url(key));
  }

 private:
  struct shared {
    shared(runtime& threads, std::string_view root, http_options o);

    /// With its query: not for messages.
    [[nodiscard]] std::string url(std::string_view key) const;

    [[nodiscard]] net::http_request request(std::string method, std::string_view key) const;

    const http_options options;
    const net::http_client client;
    std::string base, query;
  };

  /// One read on its way.
  struct reading {
    std::shared_ptr<const shared> common;
    std::string key;
    detail::range_question asked;
    detail::range_target target;
    std::stop_token stop;
    diagnostics& where;
    detail::range_handler done;
    detail::range_promise promise{};
    bool ends_by_itself = false;  // the body has an end that a broken connection does not have
  };

  [[nodiscard]] bool refused(std::string_view key, diagnostics& where) const;

  std::error_code read_only(std::string_view key, std::string_view what, diagnostics& where,
                            bool needs_key = true) const;

  /// The version by the first byte, for servers that do not answer HEAD.
  static void probe(const std::shared_ptr<const shared>& common, const std::string& key,
                    std::stop_token stop, diagnostics& where, store_handler<object_version> done);

  void read(std::string key, std::optional<object_version> version, std::uint64_t offset,
            detail::range_target target, std::stop_token stop, diagnostics& where,
            detail::range_handler done) const;

  static std::error_code take_head(reading& state, const net::http_response& head,
                                   net::http_sink& sink, diagnostics& about);

  static void take_answer(const std::shared_ptr<reading>& state, std::error_code code,
                          net::http_response answer);

  /// 416: nothing is left at the offset, if the size says so too.
  static void take_beyond_end(const std::shared_ptr<reading>& state,
                              const net::http_response& answer);

  explicit http(std::shared_ptr<const shared> common) : shared_(std::move(common)) {}

  std::shared_ptr<const shared> shared_;
};

static_assert(versioned_store<http> && streaming_store<http> && openable_store<http>);

}  // namespace store

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/http.ipp>
#endif
