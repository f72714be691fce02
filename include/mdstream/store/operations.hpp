#pragma once

/// What can be said of every store in terms of its few operations.

#include <mdstream/async/detail/event.hpp>
#include <mdstream/core/detail/pages.hpp>
#include <mdstream/store/store.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

namespace detail {

/// Starts an asynchronous call, waits for it and returns its value or throws what it reported.
/// `start` gets the diagnostics and the handler.
template <class... Result, class Start>
auto wait_for(Start start) {
  diagnostics where;
  std::error_code code;
  std::tuple<Result...> result;
  one_time_event finished;
  start(where, store_handler<Result...>([&](std::error_code failure, Result... values) {
          code = failure;
          result = std::tuple<Result...>(std::move(values)...);
          finished.set();
        }));
  finished.wait();
  if (code) throw error(code, std::move(where));
  if constexpr (sizeof...(Result) == 1) return std::get<0>(std::move(result));
}

}  // namespace detail

// The blocking form of each operation for a store of either kind. With an asynchronous store they
// wait: never call them on a thread of the runtime that works for the store.

/// Bytes of the object. Throws errc::not_found where there is none.
template <object_store S>
[[nodiscard]] std::uint64_t store_size(const S& store, std::string_view key) {
  if constexpr (blocking_store<S>) {
    return store.size(key);
  } else {
    return detail::wait_for<std::uint64_t>([&](diagnostics& where, auto done) {
      store.async_size(std::string(key), {}, where, std::move(done));
    });
  }
}

/// Fills `into` from the object's bytes at `offset`; returns how many, fewer only where the object
/// ends.
template <object_store S>
std::size_t store_read(const S& store, std::string_view key, std::uint64_t offset,
                       mutable_bytes into) {
  if constexpr (blocking_store<S>) {
    return store.read(key, offset, into);
  } else {
    return detail::wait_for<std::size_t>([&](diagnostics& where, auto done) {
      store.async_read(std::string(key), offset, into, {}, where, std::move(done));
    });
  }
}

/// Writes the whole object, or nothing; replaces what was there.
template <object_store S>
void store_write(const S& store, std::string_view key, bytes_view bytes) {
  if constexpr (blocking_store<S>) {
    store.write(key, bytes);
  } else {
    detail::wait_for<>([&](diagnostics& where, auto done) {
      store.async_write(std::string(key), bytes, {}, where, std::move(done));
    });
  }
}

/// Lists the objects whose keys begin with `prefix`, sorted by key.
template <object_store S>
[[nodiscard]] std::vector<object_info> store_list(const S& store, std::string_view prefix) {
  if constexpr (blocking_store<S>) {
    return store.list(prefix);
  } else {
    return detail::wait_for<std::vector<object_info>>([&](diagnostics& where, auto done) {
      store.async_list(std::string(prefix), {}, where, std::move(done));
    });
  }
}

/// Removes the object; no error where there is none.
template <object_store S>
void store_remove(const S& store, std::string_view key) {
  if constexpr (blocking_store<S>) {
    store.remove(key);
  } else {
    detail::wait_for<>([&](diagnostics& where, auto done) {
      store.async_remove(std::string(key), {}, where, std::move(done));
    });
  }
}

/// Writes an object on which others rely, as an index on its shards: when this returns, it and all
/// that was written to the store before are as durable as the store makes them.
///
///     mds::publish(store, "index.json", mds::as_bytes(text));
template <object_store S>
void publish(const S& store, std::string_view key, bytes_view bytes) {
  if constexpr (requires { store.publish(key, bytes); }) {
    store.publish(key, bytes);
  } else {
    store_write(store, key, bytes);
  }
}

namespace detail {

/// Memory for an object that is said to have so many bytes, which takes none before they come: what
/// a server says may be anything. Throws `errc::out_of_memory` where there is not so much,
/// `errc::corrupt` where it is more than all memory of the machine.
[[nodiscard]] pages room_for_object(std::uint64_t bytes, const std::string& url);

}  // namespace detail

/// The whole object. Throws `errc::not_found` if there is no such object, `errc::corrupt` if it
/// becomes shorter meanwhile, `errc::out_of_memory`. Waits: with an asynchronous store, never call
/// it on a thread of the store's runtime. Cost: one read below 256 KiB; otherwise two and a `size`.
///
///     const std::vector<std::byte> index = mds::read_all(store, "index.json");
///     const mds::json::value tree = mds::json::parse(mds::as_text(index));
template <object_store S>
[[nodiscard]] std::vector<std::byte> read_all(const S& store, std::string_view key) {
  std::vector<std::byte> small(std::size_t{256} << 10);
  const std::size_t got = store_read(store, key, 0, small);
  if (got < small.size()) return {small.begin(), small.begin() + static_cast<std::ptrdiff_t>(got)};
  // Once more from its beginning: two requests might see two versions.
  const detail::pages room = detail::room_for_object(store_size(store, key), store.url(key));
  const mutable_bytes bytes(room.data(), room.size());
  if (store_read(store, key, 0, bytes) != bytes.size()) {
    throw error(errc::corrupt,
                {.what = "the object became shorter while it was read", .url = store.url(key)});
  }
  return {bytes.begin(), bytes.end()};
}

/// Whether there is such an object. Failures other than its absence are thrown. Cost: a `size`.
///
///     if (!mds::exists(store, "index.json")) use("no dataset yet");
template <object_store S>
[[nodiscard]] bool exists(const S& store, std::string_view key) {
  try {
    (void)store_size(store, key);
    return true;
  } catch (const error& e) {
    if (e.code() == errc::not_found) return false;
    throw;
  }
}

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/operations.ipp>
#endif
