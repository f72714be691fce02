#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/version.hpp>
#include <mdstream/writer/options.hpp>

namespace mdstream::inline v0 {

MDSTREAM_INLINE opened_store store_target::open(detail::opens_alone by_url) && {
  if (opened_store* store = std::get_if<opened_store>(&place_)) return std::move(*store);
  const std::string& url = std::get<std::string>(place_);
  if (url.empty()) throw error(errc::invalid_argument, "no path, URL or store is given");
  if (by_url == nullptr)
    throw error(errc::invalid_argument,
                diagnostics{.what = "this store opens no URLs: pass it as a value", .url = url});
  return by_url(url);
}

}  // namespace mdstream::inline v0
