#pragma once

/// Buckets of Oracle Cloud Infrastructure. Needs libcurl and OpenSSL: link mdstream::oci.

#if !__has_include(<curl/curl.h>) || !__has_include(<openssl/evp.h>)
#error \
    "mdstream/store/oci.hpp needs <curl/curl.h> and <openssl/evp.h>: install the headers of libcurl and OpenSSL and link mdstream::oci"
#endif

#include <mdstream/async/runtime.hpp>
#include <mdstream/net/key_supply.hpp>
#include <mdstream/store/detail/adapter.hpp>
#include <mdstream/store/detail/cloud/store.hpp>
#include <mdstream/store/detail/oci/api.hpp>
#include <mdstream/store/oci/options.hpp>
#include <mdstream/store/opened_store.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::detail::oci {

/// A tenancy's namespace, kept as keys are: asked for once, by the first who needs it.
struct tenancy {
  std::string name{};
  std::optional<net::wall_clock::time_point> expires{};
  std::string source{};

  friend bool same_keys(const tenancy& a, const tenancy& b) { return a.name == b.name; }
};

class namespace_service {
 public:
  namespace_service(cloud_client client, std::shared_ptr<const oci_api> api)
      : client_(std::move(client)), api_(std::move(api)) {}

  void async_find(std::stop_token stop, diagnostics& where, net::keys_handler<tenancy> done) const;

 private:
  cloud_client client_;
  std::shared_ptr<const oci_api> api_;
};

/// A bucket whose namespace is asked for before the first call, unless it is known.
class bucket : public store_adapter<bucket, cloud_store> {
 public:
  bucket(runtime& threads, std::shared_ptr<const oci_api> api, const net::http_client_options& http,
         const net::any_access& keys)
      : bucket(api, cloud_client(threads, api, http, keys)) {}

 private:
  friend class store_adapter<bucket, cloud_store>;

  bucket(std::shared_ptr<const oci_api> api, const cloud_client& client);

  template <class... Result, class Start>
  void run(const store_call&, std::stop_token stop, diagnostics& where, Start start,
           store_handler<Result...> done) const {
    if (api_->knows_namespace()) return start(std::move(stop), where, std::move(done));
    namespace_.async_find(stop, where,
                          [stop, &where, start = std::move(start), done = std::move(done)](
                              std::error_code code, std::optional<tenancy>) mutable {
                            if (code) return done(code, Result{}...);
                            start(std::move(stop), where, std::move(done));
                          });
  }

  std::shared_ptr<const oci_api> api_;
  net::cached_keys<tenancy> namespace_;
};

}  // namespace mdstream::inline v0::detail::oci

namespace mdstream::inline v0::store {

/// Objects beneath `oci://bucket/prefix` or `oci://bucket@namespace/prefix`, literal. A query of
/// the URL may have `endpoint`, `region` and `profile`. Requests are signed by the API key, or the
/// session, of variables and `~/.oci/config`; they go without where there is none, as public
/// buckets take them, which have to be named with their namespace. Thread-safe; copies share
/// connections and keys. The runtime has to outlive the calls.
///
/// Requests: one for `size` (HEAD), `read` (ranged GET) and `remove`; one PUT for a write up to
/// `part_bytes`, else one for each part and two more; one for each 1,000 objects of a listing; one
/// more for the namespace before the first, where the URL has none. A token that was replaced and a
/// wrong clock cost one more, once.
class oci : public any_async_store {
 public:
  static constexpr std::string_view schemes = "oci://";

  oci(runtime& threads, std::string_view url, const oci_options& options = {})
      : oci(threads, resolve_oci(url, options), options) {}

  [[nodiscard]] static bool serves(std::string_view url) {
    return net::detail::to_lower(url_scheme(url)) == "oci";
  }
  [[nodiscard]] static oci open(std::string_view url, runtime& threads,
                                warning_function warn = &warn_on_stderr);

 private:
  oci(runtime& threads, const oci_settings& settings, const oci_options& options);
};

static_assert(versioned_store<oci> && creating_store<oci> && openable_store<oci>);

}  // namespace mdstream::inline v0::store

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/oci.ipp>
#endif
