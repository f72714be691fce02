#pragma once

#include <mdstream/net/key_supply.hpp>
#include <mdstream/store/detail/cloud/store.hpp>
#include <mdstream/store/detail/oci/api.hpp>
#include <mdstream/store/detail/oci/keys.hpp>
#include <mdstream/store/oci.hpp>
#include <mdstream/version.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::detail::oci {

/// A tenancy's namespace, kept as keys are: asked for once, by the first call that needs it.
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

MDSTREAM_INLINE void namespace_service::async_find(std::stop_token stop, diagnostics& where,
                                                   net::keys_handler<tenancy> done) const {
  client_.async_send(api_->ask_namespace(), std::move(stop), where,
                     [api = api_, &where, done = std::move(done)](
                         std::error_code code, const net::http_response& answer) mutable {
                       std::optional<tenancy> found;
                       try {
                         if (!code) found = tenancy{.name = oci_api::read_namespace(answer)};
                       } catch (const error& e) {
                         where = e.where();
                         code = e.code();
                       }
                       if (code) {
                         where.what =
                             "the namespace is not known, and was asked for (a URL may name it: "
                             "oci://bucket@namespace/prefix): " +
                             where.what;
                       }
                       if (code && where.url.empty()) where.url = api->url("");
                       if (found) api->learn_namespace(found->name);
                       done(code, std::move(found));
                     });
}

/// A bucket whose namespace is asked for before the first call, unless it is known.
class bucket final : public cloud_store {
 public:
  bucket(std::shared_ptr<const oci_api> api, cloud_client client)
      : cloud_store(client),
        api_(std::move(api)),
        namespace_(net::any_keys<tenancy>(namespace_service(std::move(client), api_))) {}

  void start(store_call call, std::stop_token stop, diagnostics& where,
             answer_handler done) const override {
    if (api_->knows_namespace())
      return cloud_store::start(std::move(call), std::move(stop), where, std::move(done));
    namespace_.async_find(
        stop, where,
        [inner = cloud_store(client()), call = std::move(call), stop, &where,
         done = std::move(done)](std::error_code code, std::optional<tenancy>) mutable {
          if (code) return done(code, {});
          inner.start(std::move(call), std::move(stop), where, std::move(done));
        });
  }

 private:
  std::shared_ptr<const oci_api> api_;
  net::cached_keys<tenancy> namespace_;
};

}  // namespace mdstream::inline v0::detail::oci

namespace mdstream::inline v0::store {

MDSTREAM_INLINE oci oci::open(std::string_view url, runtime& threads, warning_function warn) {
  oci_options options;
  options.warn = std::move(warn);
  return {threads, url, options};
}

MDSTREAM_INLINE oci::oci(runtime& threads, const oci_settings& settings, const oci_options& options)
    : any_async_store([&] {
        const auto api = std::make_shared<detail::oci_api>(
            settings, detail::upload_plan{.part_bytes = options.part_bytes.value,
                                          .parallel = options.parallel_parts,
                                          .retry = options.part_retry});
        const net::any_access keys = options.credentials
                                         ? *options.credentials
                                         : detail::default_oci_access(threads, settings, options);
        return std::make_shared<const detail::oci::bucket>(
            api, detail::cloud_client(threads, api, options.http, keys));
      }()) {}

}  // namespace mdstream::inline v0::store
