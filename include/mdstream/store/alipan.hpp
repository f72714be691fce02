#pragma once

/// `alipan://`, which is not served, and says so.

#include <mdstream/store/memory.hpp>
#include <mdstream/store/store.hpp>

#include <string_view>

namespace mdstream::inline v0::store {

/// Alibaba's cloud drive has no published API that a program may rely on. A URL of it is
/// `errc::unsupported`, with what can be done instead.
class alipan : public memory {
 public:
  static constexpr std::string_view schemes = "alipan:// (not supported)";

  [[nodiscard]] static bool serves(std::string_view url) { return url_scheme(url) == "alipan"; }
  [[nodiscard]] static alipan open(std::string_view url);
};

static_assert(openable_store<alipan>);

}  // namespace mdstream::inline v0::store

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/alipan.ipp>
#endif
