#pragma once

#include <mdstream/store/detail/oci/keys.hpp>
#include <mdstream/store/oci.hpp>
#include <mdstream/store/opened_store.hpp>
#include <mdstream/version.hpp>

#include <fcntl.h>

namespace mdstream::inline v0::detail::oci {

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

MDSTREAM_INLINE bucket::bucket(std::shared_ptr<const oci_api> api, const cloud_client& client)
    : store_adapter<bucket, cloud_store>(cloud_store(client)),
      api_(api),
      namespace_(net::any_keys<tenancy>(namespace_service(client, std::move(api)))) {}

}  // namespace mdstream::inline v0::detail::oci

namespace mdstream::inline v0::store {

MDSTREAM_INLINE oci oci::open(std::string_view url, runtime& threads, warning_function warn) {
  oci_options options;
  options.warn = std::move(warn);
  return {threads, url, options};
}

MDSTREAM_INLINE oci::oci(runtime& threads, const oci_settings& settings, const oci_options& options)
    : any_async_store(detail::oci::bucket(
          threads,
          std::make_shared<detail::oci_api>(
              settings, detail::upload_plan{.part_bytes = options.part_bytes.value,
                                            .parallel = options.parallel_parts,
                                            .retry = options.part_retry}),
          options.http,
          options.keys ? *options.keys : detail::default_oci_access(threads, settings, options))) {}

}  // namespace mdstream::inline v0::store
