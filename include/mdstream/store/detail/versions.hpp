#pragma once

/// Versions of objects for every asynchronous store: where a store has no tags, the size alone.

#include <mdstream/store/store.hpp>

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::detail {

/// `async_version` of a versioned store; of any other its `async_size`, without a tag.
template <async_store S>
void async_version_of(const S& store, std::string key, std::stop_token stop, diagnostics& where,
                      store_handler<object_version> done) {
  if constexpr (versioned_store<S>) {
    store.async_version(std::move(key), std::move(stop), where, std::move(done));
  } else {
    store.async_size(std::move(key), std::move(stop), where,
                     [done = std::move(done)](std::error_code code, std::uint64_t bytes) mutable {
                       done(code, {.bytes = bytes});
                     });
  }
}

/// `async_read_version` of a versioned store; of any other a plain read, which can tell another
/// version only by a size that is smaller than the end of the range.
template <async_store S>
void async_read_version_of(const S& store, std::string key, const object_version& held,
                           std::uint64_t offset, mutable_bytes into, std::stop_token stop,
                           diagnostics& where, store_handler<std::size_t> done) {
  if constexpr (versioned_store<S>) {
    store.async_read_version(std::move(key), held, offset, into, std::move(stop), where,
                             std::move(done));
  } else {
    store.async_read(std::move(key), offset, into, std::move(stop), where, std::move(done));
  }
}

}  // namespace mdstream::inline v0::detail
