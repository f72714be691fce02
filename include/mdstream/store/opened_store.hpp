#pragma once

/// A store behind one type: whichever kind it is of, and whatever opened it.

#include <mdstream/core/warning.hpp>
#include <mdstream/store/any_async_store.hpp>
#include <mdstream/store/blocking.hpp>
#include <mdstream/store/operations.hpp>
#include <mdstream/store/store.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

class opened_store;
namespace detail {
opened_store prefixed_store(opened_store inner, std::string prefix);
}

/// Any store as a value: blocking, or asynchronous on a runtime. One virtual call for each
/// operation. Copies share the store.
///
///     const mds::opened_store place = folder;
///     for (const mds::object_info& object : place.list("train/")) use(object.key, object.bytes);
class opened_store {
 public:
  /// Implicit, so that a store can stand wherever one is asked for. One that is an `opened_store`
  /// already, as an `any_store` is, is shared and not wrapped again.
  template <class S>
    requires(!std::derived_from<S, opened_store> && object_store<S>)
  opened_store(S store) {
    if constexpr (std::derived_from<S, any_async_store>) {
      async_ = store.behind();
    } else {
      const auto shared = std::make_shared<const S>(std::move(store));
      if constexpr (blocking_store<S>)
        blocking_ = std::make_shared<const detail::blocking_model<S>>(shared);
      if constexpr (async_store<S>) async_ = std::make_shared<const detail::async_model<S>>(shared);
    }
  }

  [[nodiscard]] std::uint64_t size(std::string_view key) const;
  std::size_t read(std::string_view key, std::uint64_t offset, mutable_bytes into) const;
  void write(std::string_view key, bytes_view bytes) const;
  void publish(std::string_view key, bytes_view bytes) const;
  [[nodiscard]] std::vector<object_info> list(std::string_view prefix) const;
  void remove(std::string_view key) const;
  [[nodiscard]] std::string url(std::string_view key) const;
  /// As `any_async_store::credentials`.
  [[nodiscard]] std::string credentials() const {
    return async_ ? async_->credentials() : std::string();
  }

  /// The asynchronous face: that of the store itself where it has one, else the pool of `threads`.
  /// It shares the store, and the runtime that the store may have of its own.
  [[nodiscard]] any_async_store on(runtime& threads) const;

 protected:
  /// A runtime with one I/O thread, for a store to keep.
  [[nodiscard]] static std::shared_ptr<runtime> own_runtime();
  /// Has the store keep a runtime, which goes after it.
  void keep(const std::shared_ptr<runtime>& threads);

 private:
  friend opened_store detail::prefixed_store(opened_store inner, std::string prefix);

  detail::store_answer make(detail::store_call call) const;

  std::shared_ptr<const detail::blocking_interface> blocking_{};  // null: it is asynchronous alone
  std::shared_ptr<const detail::store_interface> async_{};        // null: it is blocking alone
};

static_assert(blocking_store<opened_store>);

/// Opens a store of any openable kind. `warn` gets warnings, also later.
///
///     const auto bucket = mds::open_store<mds::full_store>("s3://bucket/c4", threads);
template <openable_store S>
[[nodiscard]] S open_store(std::string_view url, runtime& threads,
                           const warning_function& warn = &warn_on_stderr) {
  if constexpr (requires { S::open(url, threads, warn); }) {
    return S::open(url, threads, warn);
  } else if constexpr (requires { S::open(url, warn); }) {
    return S::open(url, warn);
  } else if constexpr (requires { S::open(url, threads); }) {
    return S::open(url, threads);
  } else {
    return S::open(url);
  }
}

namespace detail {

/// Opens a store by URL without a runtime; null for a store that no URL opens so.
using opens_alone = opened_store (*)(std::string_view url);

template <object_store S>
[[nodiscard]] constexpr opens_alone opener_of() noexcept {
  if constexpr (requires(std::string_view url) { S::open(url); })
    return [](std::string_view url) -> opened_store { return S::open(url); };
  else
    return nullptr;
}

}  // namespace detail

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/opened_store.ipp>
#endif
