#pragma once

/// What a store of objects is: a place with keys and bytes, be it a directory or a bucket.
///
/// A key is a relative path with `/` between its parts. A store is opened at a URL and its keys are
/// relative to that.

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/detail/unique_function.hpp>
#include <mdstream/core/error.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

class runtime;

/// One object of a listing. Equal by key, size and digest: not every listing tells the tag.
struct object_info {
  std::string key{};      ///< relative to the store's URL
  std::uint64_t bytes{};  ///< its size
  std::string digest{};   ///< of its bytes, where a listing tells one: see `store/digest.hpp`
  std::string tag{};  ///< of its version, as `async_version` tells it; empty: not in the listing

  friend bool operator==(const object_info& a, const object_info& b) {
    return a.key == b.key && a.bytes == b.bytes && a.digest == b.digest;
  }
};

/// One version of an object. Two reads of the same version read the same bytes. Versions are
/// compared by size and tag: not every answer has the digest. A version without a tag is any of
/// that size.
struct object_version {
  std::uint64_t bytes{};  ///< its size
  std::string tag{};      ///< changes with the bytes (an ETag, as it is sent); empty: not known
  std::string digest{};   ///< of its bytes, where `async_version` is told one: `store/digest.hpp`

  friend bool operator==(const object_version& a, const object_version& b) {
    return a.bytes == b.bytes && a.tag == b.tag;
  }
};

/// A store whose calls return when the work is done. Write one to read and write objects in a place
/// that the library does not know. Any thread may call it. A call that fails throws
/// `mdstream::error` (or anything derived from `std::exception`):
///
/// - `size(key)`: bytes of the object; `errc::not_found` if there is no such object.
/// - `read(key, offset, into)`: fills `into` from the object's bytes at `offset`, and returns their
///   number, which is smaller only at the end of the object. `errc::not_found` as `size`.
/// - `write(key, bytes)`: replaces the object; readers see the whole new object or none of it.
/// - `list(prefix)`: every object whose key begins with `prefix`, sorted by key.
/// - `remove(key)`: no error if there is no such object.
/// - `url(key)`: for messages; no secret, no signed query. `url("")` is the store itself.
///
/// Optional: `publish(key, bytes)`, a `write` after which this object and all that were written
/// before are durable (for stores that keep written bytes in memory for a while);
/// `bool create(key, bytes)`, a `publish` that writes only if there is no such object, and returns
/// whether it wrote; and the URL functions of `openable_store`.
///
///     static_assert(mds::blocking_store<tape>);  // beside a store of your own
template <class S>
concept blocking_store = std::move_constructible<S> &&
                         requires(const S& store, std::string_view key, std::uint64_t offset,
                                  mutable_bytes into, bytes_view bytes) {
                           { store.size(key) } -> std::convertible_to<std::uint64_t>;
                           { store.read(key, offset, into) } -> std::convertible_to<std::size_t>;
                           store.write(key, bytes);
                           { store.list(key) } -> std::convertible_to<std::vector<object_info>>;
                           store.remove(key);
                           { store.url(key) } -> std::convertible_to<std::string>;
                         };

/// What an asynchronous store calls at the end: the error code, then the results.
template <class... Args>
using store_handler = detail::unique_function<void(std::error_code, Args...)>;

namespace detail {

/// The operations of an `async_store`. That `S` can be moved is not asked: a store that is made of
/// an `any_async_store` would be asked for it by the very answer.
template <class S>
concept async_operations =
    requires(const S& store, std::string key, std::uint64_t offset, mutable_bytes into,
             bytes_view bytes, std::stop_token stop, diagnostics& where, store_handler<> on_done,
             store_handler<std::size_t> on_read, store_handler<std::uint64_t> on_size,
             store_handler<std::vector<object_info>> on_list) {
      store.async_size(std::move(key), stop, where, std::move(on_size));
      store.async_read(std::move(key), offset, into, stop, where, std::move(on_read));
      store.async_write(std::move(key), bytes, stop, where, std::move(on_done));
      store.async_list(std::move(key), stop, where, std::move(on_list));
      store.async_remove(std::move(key), stop, where, std::move(on_done));
      { store.url(std::string_view()) } -> std::convertible_to<std::string>;
    };

}  // namespace detail

/// A store whose calls return at once and complete later, on any thread (also before they return),
/// exactly once. The same operations as `blocking_store`; a failure is an error code, with what
/// is known about it in the diagnostics. What the caller passes by reference (`into`, `bytes`, the
/// diagnostics) has to stay until the completion. A requested stop makes the call complete soon,
/// with `errc::canceled` unless it was done before. A read that fails with `errc::unavailable` may
/// say how many bytes of the front of `into` are right nevertheless.
template <class S>
concept async_store = std::move_constructible<S> && detail::async_operations<S>;

/// An asynchronous store that can hold an object's version over several calls: `async_version` is
/// `async_size` with the tag, `async_read_version` is an `async_read` that completes with
/// `errc::corrupt` when the object is no longer of that version. Every `any_async_store` has both:
/// where the store inside has no tags, the size alone.
template <class S>
concept versioned_store =
    async_store<S> &&
    requires(const S& store, std::string key, object_version held, std::uint64_t offset,
             mutable_bytes into, std::stop_token stop, diagnostics& where,
             store_handler<object_version> on_version, store_handler<std::size_t> on_read) {
      store.async_version(std::move(key), stop, where, std::move(on_version));
      store.async_read_version(std::move(key), held, offset, into, stop, where, std::move(on_read));
    };

/// Takes the bytes of a stream in their order, on a thread that moves the bytes of others too: as
/// long as it takes, no other transfer of that io thread goes on. It may copy, hash and write to a
/// local file, which is a copy until the disk is so far behind that the kernel has writers wait; it
/// must not wait for other calls or for the consumer of the bytes. `found` is the object as the
/// answer describes it. Throwing ends the stream with the error that was thrown, which names the
/// object where it names no other place.
using byte_taker = std::function<void(const object_version& found, bytes_view bytes)>;

/// A store that can hand out the bytes of an object as they come, so that they need no memory
/// between the connection and where they belong. `async_stream(key, held, offset, count, take, …)`
/// gives `take` up to `count` bytes from `offset` on, fewer only where the object ends, and
/// completes with the object that was found; with `held`, with `errc::corrupt` where it is another.
/// When it fails with `errc::unavailable`, what `take` got is right nevertheless.
template <class S>
concept streaming_store =
    async_store<S> &&
    requires(const S& store, std::string key, std::optional<object_version> held,
             std::uint64_t offset, std::uint64_t count, byte_taker take, std::stop_token stop,
             diagnostics& where, store_handler<object_version> on_end) {
      store.async_stream(std::move(key), held, offset, count, std::move(take), stop, where,
                         std::move(on_end));
    };

/// Whether `async_stream` can be called: a store behind a URL tells only at run time, by
/// `bool streams() const`. Of a store that has no `async_stream`, such a function means nothing.
template <async_store S>
[[nodiscard]] bool can_stream(const S& store) {
  if constexpr (!streaming_store<S>) {
    return false;
  } else if constexpr (requires {
                         { store.streams() } -> std::same_as<bool>;
                       }) {
    return store.streams();
  } else {
    return true;
  }
}

/// A store that can write where nothing is. `async_create` writes the object, whole or not at all,
/// unless there is one of that key; completes with whether it did.
template <class S>
concept creating_store =
    async_store<S> && requires(const S& store, std::string key, bytes_view bytes,
                               std::stop_token stop, diagnostics& where, store_handler<bool> done) {
      store.async_create(std::move(key), bytes, stop, where, std::move(done));
    };

/// Whether `async_create` can be called, as `can_stream`: `bool creates() const`.
template <async_store S>
[[nodiscard]] bool can_create(const S& store) {
  if constexpr (!creating_store<S>) {
    return false;
  } else if constexpr (requires {
                         { store.creates() } -> std::same_as<bool>;
                       }) {
    return store.creates();
  } else {
    return true;
  }
}

/// What a policy, a cache or a writer takes: either kind.
template <class S>
concept object_store = blocking_store<S> || async_store<S>;

/// A store that a URL opens. `serves(url)` says whether it is one of this store's; `open` throws
/// when it cannot be right. A blocking store opens without a runtime, an asynchronous one may ask
/// for the runtime whose io thread it shall use. One that may have to warn takes a
/// `warning_function` as a last argument, standard error's where none is given.
template <class S>
concept openable_store = object_store<S> && requires(std::string_view url, runtime& threads) {
  { S::serves(url) } -> std::convertible_to<bool>;
} && (requires(std::string_view url) {
  { S::open(url) } -> std::convertible_to<S>;
} || requires(std::string_view url, runtime& threads) {
  { S::open(url, threads) } -> std::convertible_to<S>;
});

/// The URL scheme, without the colon; empty for a local path. As Python's urlparse: a letter, then
/// letters, digits, `+`, `-` and `.`, up to the first colon.
[[nodiscard]] std::string_view url_scheme(std::string_view url) noexcept;

/// Whether `key` names an object inside a store: relative, with no empty part, `.`, `..` or NUL.
[[nodiscard]] bool key_is_safe(std::string_view key) noexcept;

/// Joins a prefix and a name to a key; an empty prefix adds nothing.
[[nodiscard]] std::string join_key(std::string_view prefix, std::string_view name);

/// Throws `errc::invalid_argument` for a key that is not safe.
void require_safe_key(std::string_view key, std::string url);

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/store.ipp>
#endif
