#pragma once

#include <mdstream/async/detail/in_parallel.hpp>
#include <mdstream/raw/detail/keys.hpp>
#include <mdstream/source/list_source.hpp>
#include <mdstream/store/operations.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

namespace mdstream::inline v0::raw::detail {

/// What all keys begin with that a pattern chooses: up to the last `/` before its first wildcard.
MDSTREAM_INLINE std::string directory_of_pattern(std::string_view pattern) {
  const std::string_view plain = pattern.substr(0, pattern.find_first_of("*?{"));
  const std::size_t slash = plain.rfind('/');
  return slash == std::string_view::npos ? std::string() : std::string(plain.substr(0, slash + 1));
}

/// The keys that a pattern stands for, where it has no wildcards: those of a store that cannot be
/// listed. Megatron's index may lie beside a `.bin`.
MDSTREAM_INLINE std::vector<listed_object> listing_of_pattern(const std::string& pattern) {
  std::vector<listed_object> out;
  for (std::string& key : expand_braces(pattern)) {
    if (key.ends_with(".bin")) out.push_back({key.substr(0, key.size() - 4) + ".idx"});
    out.push_back({std::move(key)});
  }
  return out;
}

}  // namespace mdstream::inline v0::raw::detail

namespace mdstream::inline v0::raw {

MDSTREAM_INLINE std::vector<detail::listed_object> list_source(const any_async_store& store,
                                                               const std::string& pattern,
                                                               const std::stop_token& stop) {
  std::vector<object_info> found;
  try {
    found =
        mdstream::detail::wait_for<std::vector<object_info>>([&](diagnostics& where, auto done) {
          store.async_list(detail::directory_of_pattern(pattern), stop, where, std::move(done));
        });
  } catch (const error& e) {
    if (e.code() != errc::unsupported || pattern.empty() ||
        pattern.find_first_of("*?") != std::string::npos)
      throw;
    return detail::listing_of_pattern(pattern);
  }
  const auto patterns =
      pattern.empty() ? std::vector<std::string>{} : detail::expand_braces(pattern);
  std::vector<detail::listed_object> out;
  for (object_info& each : found)
    if (detail::is_data(each.key, patterns) ||
        (detail::is_data(each.key, {}) && each.key.ends_with(".idx")))
      out.push_back({std::move(each.key), each.bytes, std::move(each.tag)});
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  return out;
}

MDSTREAM_INLINE void find_versions(const any_async_store& store,
                                   std::vector<detail::listed_object>& listing, unsigned jobs,
                                   const std::stop_token& stop) {
  std::vector<char> gone(listing.size(), 0);
  mdstream::detail::in_parallel(
      listing.size(), jobs, stop, [&](std::size_t i, const std::stop_token& ended) {
        detail::listed_object& each = listing[i];
        if (!each.tag.empty()) return;
        try {
          const auto found =
              mdstream::detail::wait_for<object_version>([&](diagnostics& where, auto done) {
                store.async_version(each.key, ended, where, std::move(done));
              });
          each.bytes = found.bytes;
          each.tag = found.tag;
        } catch (const error& e) {
          if (e.code() != errc::not_found || !each.key.ends_with(".idx")) throw;
          gone[i] = 1;
        }
      });
  std::size_t i = 0;
  std::erase_if(listing, [&](const detail::listed_object&) { return gone[i++] != 0; });
}

}  // namespace mdstream::inline v0::raw
