#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/hash/hash.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::string hash_advice(std::string_view name) {
  if (!digest_bytes(name)) return "there is no hash of that name";
  const std::string library = name.substr(0, 2) == "xx" ? "xxhash" : "openssl";
  return "include <mdstream/hash/" + library + ".hpp>, name mdstream::hash::" + std::string(name) +
         " in the policies and link mdstream::" + library;
}

MDSTREAM_INLINE void fail_unknown_hash(std::string_view name, std::string_view served) {
  throw error(errc::unsupported, "hash \"" + std::string(name) +
                                     "\" is not served by the policies' hash (" +
                                     (served.empty() ? "which serves none" : std::string(served)) +
                                     "): " + hash_advice(name));
}

}  // namespace mdstream::inline v0::detail
