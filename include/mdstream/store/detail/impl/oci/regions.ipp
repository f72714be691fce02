#pragma once

#include <mdstream/core/detail/text.hpp>
#include <mdstream/store/detail/oci/regions.hpp>
#include <mdstream/version.hpp>

#include <cstring>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::string oci_region(std::string_view text) {
  std::string out = detail::to_lower(text);
  for (const auto& [key, region] : detail::oci::region_keys) {
    if (key == out) return std::string(region);
  }
  return out;
}

MDSTREAM_INLINE std::string oci_domain(std::string_view region, std::string_view otherwise) {
  for (const auto& [name, domain] : detail::oci::realm_domains) {
    if (name == region) return std::string(domain);
  }
  return std::string(otherwise);
}

}  // namespace mdstream::inline v0::detail
