#pragma once

#include <mdstream/store/azure.hpp>
#include <mdstream/store/detail/azure/api.hpp>
#include <mdstream/store/detail/azure/keys.hpp>
#include <mdstream/store/detail/cloud/store.hpp>
#include <mdstream/version.hpp>

#include <fcntl.h>
#include <memory>
#include <string>
#include <utility>

namespace mdstream::inline v0::store {

MDSTREAM_INLINE bool azure::serves(std::string_view url) {
  const std::string scheme = net::detail::to_lower(url_scheme(url));
  return scheme == "azure" || scheme == "azure-dl";
}

MDSTREAM_INLINE azure azure::open(std::string_view url, runtime& threads, warning_function warn) {
  azure_options options;
  options.warn = std::move(warn);
  return {threads, url, options};
}

MDSTREAM_INLINE azure::azure(runtime& threads, const azure_settings& settings,
                             const azure_options& options)
    : any_async_store(detail::make_cloud_store(
          threads,
          std::make_shared<detail::azure_api>(
              settings, detail::upload_plan{.part_bytes = options.part_bytes.value,
                                            .parallel = options.parallel_parts,
                                            .retry = options.part_retry}),
          options.http,
          net::detail::bounded_access(
              options.credentials ? *options.credentials
                                  : detail::default_azure_access(threads, settings, options),
              detail::azure::bounds(settings)))) {}

}  // namespace mdstream::inline v0::store
