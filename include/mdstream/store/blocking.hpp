#pragma once

/// Makes a blocking store an asynchronous one: its calls run on the runtime's pool.

#include <mdstream/store/any_async_store.hpp>
#include <mdstream/store/operations.hpp>
#include <mdstream/store/store.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

namespace detail {

/// A blocking store that tells versions of an object apart, as `versioned_store`.
template <class S>
concept holds_versions = requires(const S& store, std::string_view key, const object_version& held,
                                  std::uint64_t offset, mutable_bytes into) {
  { store.version(key) } -> std::convertible_to<object_version>;
  { store.read_version(key, held, offset, into) } -> std::convertible_to<std::size_t>;
};

/// Writes what an exception of a store says into `where`; returns its code.
std::error_code describe_failure(const std::exception_ptr& failure, diagnostics& where,
                                 std::string url);

/// The same with the URL that `url()` returns, and without words where there is no memory for them.
template <std::invocable Url>
std::error_code describe_failure(const std::exception_ptr& failure, diagnostics& where, Url url) {
  try {
    return detail::describe_failure(failure, where, std::string(url()));
  } catch (const std::bad_alloc&) {
    where = {};
    return code_of(failure);
  }
}

/// A blocking store of any type.
class blocking_interface {
 public:
  virtual ~blocking_interface() = default;
  /// Makes a call; throws what the store throws. It is none that hands bytes out.
  [[nodiscard]] virtual store_answer make(const store_call& call,
                                          const std::stop_token& stop) const = 0;
  [[nodiscard]] virtual std::string url(std::string_view key) const = 0;
  [[nodiscard]] virtual bool creates() const = 0;
};

/// A blocking store as it answers calls.
template <blocking_store S>
class blocking_model final : public blocking_interface {
 public:
  explicit blocking_model(std::shared_ptr<const S> store) : store_(std::move(store)) {}

  [[nodiscard]] store_answer make(const store_call& call,
                                  const std::stop_token& stop) const override {
    const S& store = *store_;
    switch (call.verb) {
      case store_verb::stat:
        if constexpr (holds_versions<S>) {
          return {.object = store.version(call.key)};
        } else {
          return {.object = {.bytes = store.size(call.key)}};
        }
      case store_verb::read:
        if constexpr (holds_versions<S>) {
          if (call.held)
            return {.bytes = store.read_version(call.key, *call.held, call.offset, call.into)};
        }
        return {.bytes = store.read(call.key, call.offset, call.into)};
      case store_verb::write:
        if constexpr (is_creating) {
          if (call.create_only) return {.written = store.create(call.key, call.bytes)};
        }
        call.durable ? publish(store, call.key, call.bytes) : store.write(call.key, call.bytes);
        return {.written = true};
      case store_verb::list: {
        store_answer out;
        if constexpr (requires { store.list(call.key, stop); }) {
          out.objects = store.list(call.key, stop);
        } else {
          out.objects = store.list(call.key);
        }
        if constexpr (!holds_versions<S>) drop_tags(out.objects);
        return out;
      }
      case store_verb::remove: store.remove(call.key); break;
    }
    return {};
  }

  [[nodiscard]] std::string url(std::string_view key) const override { return store_->url(key); }
  [[nodiscard]] bool creates() const override { return is_creating; }

 private:
  static constexpr bool is_creating =
      requires(const S& store, std::string_view key, bytes_view bytes) {
        { store.create(key, bytes) } -> std::same_as<bool>;
      };

  std::shared_ptr<const S> store_;
};

/// The asynchronous face of a blocking store.
[[nodiscard]] any_async_store on_pool(runtime& threads,
                                      std::shared_ptr<const blocking_interface> store);

}  // namespace detail

/// The asynchronous face of a blocking store. Every call occupies one thread of the pool while it
/// runs. A stop is looked at before a call and, in reads, every 8 MiB; what the store is doing then
/// cannot be interrupted. Copies share the store. The runtime has to outlive the calls.
///
///     const mds::blocking<mds::store::local> store(threads, folder);
template <blocking_store S>
class blocking final : public any_async_store {
 public:
  blocking(runtime& threads, S store)
      : any_async_store(
            detail::on_pool(threads, std::make_shared<const detail::blocking_model<S>>(
                                         std::make_shared<const S>(std::move(store))))) {}
};

/// The asynchronous face of a store of either kind: itself, or `blocking` around it.
template <object_store S>
[[nodiscard]] auto make_async(runtime& threads, S store) {
  if constexpr (async_store<S>) {
    return store;
  } else if constexpr (requires { std::move(store).on(threads); }) {
    return std::move(store).on(threads);
  } else {
    return blocking<S>(threads, std::move(store));
  }
}

/// The asynchronous store that `make_async` makes of a store.
template <object_store S>
using async_store_t = decltype(make_async(std::declval<runtime&>(), std::declval<S>()));

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/blocking.ipp>
#endif
