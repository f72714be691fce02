#pragma once

/// What the policies say of shards at rest, as one plain value: which stores, codecs and hashes the
/// program has.

#include <mdstream/codec/codec.hpp>
#include <mdstream/codec/detail/codec_set.hpp>
#include <mdstream/core/warning.hpp>
#include <mdstream/hash/detail/hash_set.hpp>
#include <mdstream/hash/hash.hpp>
#include <mdstream/store/opened_store.hpp>
#include <mdstream/store/store.hpp>

#include <fcntl.h>
#include <string_view>
#include <utility>

namespace mdstream::inline v0::detail {

struct source_request;
struct opened_source;

/// Pointers to functions; copied freely.
struct storage_policies {
  using opener = opened_store (*)(std::string_view url, runtime& threads,
                                  const warning_function& warn);

  opener open;             ///< as `open_store`; null for a store that no URL opens
  opens_alone open_alone;  ///< without a runtime; null where there is no such way
  opened_source (*open_source)(source_request);  ///< foreign files; null where none are read
  codec_set codecs;
  hash_set hashes;
};

/// A program that names a format includes <mdstream/source/formats.hpp>, which has what this calls.
template <class Policies, class Request, class Opened>
Opened open_source_of(Request request) {
  return open_source(std::move(request), &Policies::format::open);
}

template <class Policies>
[[nodiscard]] constexpr storage_policies storage_of() noexcept {
  using store = typename Policies::store;
  storage_policies::opener open = nullptr;
  if constexpr (openable_store<store>)
    open = [](std::string_view url, runtime& threads,
              const warning_function& warn) -> opened_store {
      return open_store<store>(url, threads, warn);
    };
  opened_source (*source)(source_request) = nullptr;
  if constexpr (requires { &Policies::format::open; })
    source = &open_source_of<Policies, source_request, opened_source>;
  return {open, opener_of<store>(), source, codec_set::of<typename Policies::codec>(),
          hash_set::of<typename Policies::hash>()};
}

}  // namespace mdstream::inline v0::detail
