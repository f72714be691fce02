#pragma once

/// A store behind one type: whichever kind it is of, and whatever opened it.

#include <mdstream/async/runtime.hpp>
#include <mdstream/core/warning.hpp>
#include <mdstream/store/blocking.hpp>
#include <mdstream/store/detail/versions.hpp>
#include <mdstream/store/operations.hpp>
#include <mdstream/store/store.hpp>

#include <fcntl.h>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// Any asynchronous store. Copies share it. One virtual call for each operation.
class any_async_store {
 public:
  template <class S>
    requires(!std::same_as<S, any_async_store> && async_store<S>)
  explicit any_async_store(S store) : store_(std::make_shared<model<S>>(std::move(store))) {}

  void async_size(std::string key, std::stop_token stop, diagnostics& where,
                  store_handler<std::uint64_t> done) const;
  void async_read(std::string key, std::uint64_t offset, mutable_bytes into, std::stop_token stop,
                  diagnostics& where, store_handler<std::size_t> done) const;
  void async_version(std::string key, std::stop_token stop, diagnostics& where,
                     store_handler<object_version> done) const;
  void async_read_version(std::string key, const object_version& held, std::uint64_t offset,
                          mutable_bytes into, std::stop_token stop, diagnostics& where,
                          store_handler<std::size_t> done) const;
  /// Whether the store is a `streaming_store`; where it is none, `async_stream` completes with
  /// errc::unsupported.
  [[nodiscard]] bool streams() const { return store_->streams(); }
  void async_stream(std::string key, std::optional<object_version> held, std::uint64_t offset,
                    std::uint64_t count, byte_taker take, std::stop_token stop, diagnostics& where,
                    store_handler<object_version> done) const;
  void async_write(std::string key, bytes_view bytes, std::stop_token stop, diagnostics& where,
                   store_handler<> done) const;
  /// Whether the store is a `creating_store`; where it is none, `async_create` completes with
  /// errc::unsupported.
  [[nodiscard]] bool creates() const { return store_->creates(); }
  void async_create(std::string key, bytes_view bytes, std::stop_token stop, diagnostics& where,
                    store_handler<bool> done) const;
  void async_list(std::string prefix, std::stop_token stop, diagnostics& where,
                  store_handler<std::vector<object_info>> done) const;
  void async_remove(std::string key, std::stop_token stop, diagnostics& where,
                    store_handler<> done) const;
  [[nodiscard]] std::string url(std::string_view key) const { return store_->url(key); }
  [[nodiscard]] bool occupies_threads() const { return store_->occupies_threads(); }

 private:
  struct interface {
    virtual ~interface() = default;
    virtual void size(std::string, std::stop_token, diagnostics&,
                      store_handler<std::uint64_t>) const = 0;
    virtual void read(std::string, std::uint64_t, mutable_bytes, std::stop_token, diagnostics&,
                      store_handler<std::size_t>) const = 0;
    virtual void version(std::string, std::stop_token, diagnostics&,
                         store_handler<object_version>) const = 0;
    virtual void read_version(std::string, const object_version&, std::uint64_t, mutable_bytes,
                              std::stop_token, diagnostics&, store_handler<std::size_t>) const = 0;
    [[nodiscard]] virtual bool streams() const = 0;
    virtual void stream(std::string, std::optional<object_version>, std::uint64_t, std::uint64_t,
                        byte_taker, std::stop_token, diagnostics&,
                        store_handler<object_version>) const = 0;
    virtual void write(std::string, bytes_view, std::stop_token, diagnostics&,
                       store_handler<>) const = 0;
    [[nodiscard]] virtual bool creates() const = 0;
    virtual void create(std::string, bytes_view, std::stop_token, diagnostics&,
                        store_handler<bool>) const = 0;
    virtual void list(std::string, std::stop_token, diagnostics&,
                      store_handler<std::vector<object_info>>) const = 0;
    virtual void remove(std::string, std::stop_token, diagnostics&, store_handler<>) const = 0;
    [[nodiscard]] virtual std::string url(std::string_view key) const = 0;
    [[nodiscard]] virtual bool occupies_threads() const = 0;
  };

  template <class S>
  struct model final : interface {
    explicit model(S s) : store(std::move(s)) {}
    void size(std::string key, std::stop_token stop, diagnostics& where,
              store_handler<std::uint64_t> done) const override {
      store.async_size(std::move(key), std::move(stop), where, std::move(done));
    }
    void read(std::string key, std::uint64_t offset, mutable_bytes into, std::stop_token stop,
              diagnostics& where, store_handler<std::size_t> done) const override {
      store.async_read(std::move(key), offset, into, std::move(stop), where, std::move(done));
    }
    void version(std::string key, std::stop_token stop, diagnostics& where,
                 store_handler<object_version> done) const override {
      detail::async_version_of(store, std::move(key), std::move(stop), where, std::move(done));
    }
    void read_version(std::string key, const object_version& held, std::uint64_t offset,
                      mutable_bytes into, std::stop_token stop, diagnostics& where,
                      store_handler<std::size_t> done) const override {
      detail::async_read_version_of(store, std::move(key), held, offset, into, std::move(stop),
                                    where, std::move(done));
    }
    [[nodiscard]] bool streams() const override { return can_stream(store); }
    void stream(std::string key, std::optional<object_version> held, std::uint64_t offset,
                std::uint64_t count, byte_taker take, std::stop_token stop, diagnostics& where,
                store_handler<object_version> done) const override {
      if constexpr (streaming_store<S>) {
        store.async_stream(std::move(key), std::move(held), offset, count, std::move(take),
                           std::move(stop), where, std::move(done));
      } else {
        where = {.what = "the store does not hand out bytes as they come", .url = store.url(key)};
        done(errc::unsupported, {});
      }
    }
    void write(std::string key, bytes_view bytes, std::stop_token stop, diagnostics& where,
               store_handler<> done) const override {
      store.async_write(std::move(key), bytes, std::move(stop), where, std::move(done));
    }
    [[nodiscard]] bool creates() const override { return can_create(store); }
    void create(std::string key, bytes_view bytes, std::stop_token stop, diagnostics& where,
                store_handler<bool> done) const override {
      if constexpr (creating_store<S>) {
        store.async_create(std::move(key), bytes, std::move(stop), where, std::move(done));
      } else {
        where = {.what = "the store does not tell whether it writes over an object",
                 .url = store.url(key)};
        done(errc::unsupported, false);
      }
    }
    void list(std::string prefix, std::stop_token stop, diagnostics& where,
              store_handler<std::vector<object_info>> done) const override {
      store.async_list(std::move(prefix), std::move(stop), where, std::move(done));
    }
    void remove(std::string key, std::stop_token stop, diagnostics& where,
                store_handler<> done) const override {
      store.async_remove(std::move(key), std::move(stop), where, std::move(done));
    }
    [[nodiscard]] std::string url(std::string_view key) const override { return store.url(key); }
    [[nodiscard]] bool occupies_threads() const override { return detail::occupies_threads(store); }
    S store;
  };

  std::shared_ptr<const interface> store_;
};

static_assert(versioned_store<any_async_store>);

/// Any store as a value: blocking, or asynchronous on a runtime. One virtual call for each
/// operation. Copies share the store.
class opened_store {
 public:
  /// Implicit, so that a store can stand wherever one is asked for. One that is an `opened_store`
  /// already, as an `any_store` is, is shared and not wrapped again.
  template <class S>
    requires(!std::derived_from<S, opened_store> && object_store<S>)
  opened_store(S store) : store_(std::make_shared<model<S>>(std::move(store))) {}

  [[nodiscard]] std::uint64_t size(std::string_view key) const { return store_->size(key); }
  std::size_t read(std::string_view key, std::uint64_t offset, mutable_bytes into) const {
    return store_->read(key, offset, into);
  }
  void write(std::string_view key, bytes_view bytes) const { store_->write(key, bytes); }
  void publish(std::string_view key, bytes_view bytes) const { store_->publish(key, bytes); }
  [[nodiscard]] std::vector<object_info> list(std::string_view prefix) const {
    return store_->list(prefix);
  }
  void remove(std::string_view key) const { store_->remove(key); }
  [[nodiscard]] std::string url(std::string_view key) const { return store_->url(key); }

  /// The asynchronous face: that of the store itself where it has one, else the pool of `threads`.
  /// It shares the store, and the runtime that the store may have of its own.
  [[nodiscard]] any_async_store on(runtime& threads) const { return store_->on(threads, store_); }

 protected:
  /// Has the store keep a runtime, which goes after it.
  void keep(std::shared_ptr<runtime> threads);

 private:
  struct interface {
    virtual ~interface() = default;
    [[nodiscard]] virtual std::uint64_t size(std::string_view key) const = 0;
    virtual std::size_t read(std::string_view key, std::uint64_t offset,
                             mutable_bytes into) const = 0;
    virtual void write(std::string_view key, bytes_view bytes) const = 0;
    virtual void publish(std::string_view key, bytes_view bytes) const = 0;
    [[nodiscard]] virtual std::vector<object_info> list(std::string_view prefix) const = 0;
    virtual void remove(std::string_view key) const = 0;
    [[nodiscard]] virtual std::string url(std::string_view key) const = 0;
    [[nodiscard]] virtual any_async_store on(runtime& threads,
                                             std::shared_ptr<const void> owner) const = 0;
  };

  template <class S>
  struct model final : interface {
    explicit model(S s) : store(std::make_shared<const S>(std::move(s))) {}
    [[nodiscard]] std::uint64_t size(std::string_view key) const override {
      return store_size(*store, key);
    }
    std::size_t read(std::string_view key, std::uint64_t offset,
                     mutable_bytes into) const override {
      return store_read(*store, key, offset, into);
    }
    void write(std::string_view key, bytes_view bytes) const override {
      store_write(*store, key, bytes);
    }
    void publish(std::string_view key, bytes_view bytes) const override {
      v0::publish(*store, key, bytes);
    }
    [[nodiscard]] std::vector<object_info> list(std::string_view prefix) const override {
      return store_list(*store, prefix);
    }
    void remove(std::string_view key) const override { store_remove(*store, key); }
    [[nodiscard]] std::string url(std::string_view key) const override { return store->url(key); }
    [[nodiscard]] any_async_store on(runtime& threads,
                                     std::shared_ptr<const void> owner) const override {
      const std::shared_ptr<const S> shared(std::move(owner), store.get());
      if constexpr (async_store<S>) {
        return any_async_store(detail::shared_async<S>(shared));
      } else {
        return any_async_store(blocking<S>(threads, shared));
      }
    }
    std::shared_ptr<const S> store;
  };

  /// Ends a store's own runtime, elsewhere where the last owner goes on one of its threads, as in a
  /// completion: no thread can wait for itself.
  static void end(std::shared_ptr<runtime> threads);

  std::shared_ptr<const interface> store_;
};

static_assert(blocking_store<opened_store>);

/// Opens a store of any openable kind. `warn` is told of what can be worked with, also later.
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
