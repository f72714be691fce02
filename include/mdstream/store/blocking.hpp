#pragma once

/// Makes a blocking store an asynchronous one: its calls run on the runtime's pool.

#include <mdstream/async/runtime.hpp>
#include <mdstream/store/detail/versions.hpp>
#include <mdstream/store/store.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
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

}  // namespace detail

/// The asynchronous face of a blocking store. Every call occupies one thread of the pool while it
/// runs. A stop is looked at before a call and, in reads, every 8 MiB; what the store is doing then
/// can not be interrupted. Copies share the store. The runtime has to outlive the calls.
template <blocking_store S>
class blocking {
 public:
  blocking(runtime& threads, S store)
      : blocking(threads, std::make_shared<const S>(std::move(store))) {}
  blocking(runtime& threads, std::shared_ptr<const S> store)
      : threads_(&threads), store_(std::move(store)) {}

  void async_size(std::string key, std::stop_token stop, diagnostics& where,
                  store_handler<std::uint64_t> done) const {
    run<std::uint64_t>(std::move(key), std::move(stop), where, std::move(done),
                       [](const S& s, const std::string& k, const std::stop_token&) {
                         return std::uint64_t{s.size(k)};
                       });
  }

  void async_read(std::string key, std::uint64_t offset, mutable_bytes into, std::stop_token stop,
                  diagnostics& where, store_handler<std::size_t> done) const {
    run<std::size_t>(std::move(key), std::move(stop), where, std::move(done),
                     [offset, into](const S& s, const std::string& k, const std::stop_token& st) {
                       return in_parts(into, st, [&](std::size_t at, mutable_bytes part) {
                         return s.read(k, offset + at, part);
                       });
                     });
  }

  void async_version(std::string key, std::stop_token stop, diagnostics& where,
                     store_handler<object_version> done) const
    requires detail::holds_versions<S>
  {
    run<object_version>(
        std::move(key), std::move(stop), where, std::move(done),
        [](const S& s, const std::string& k, const std::stop_token&) { return s.version(k); });
  }

  void async_read_version(std::string key, object_version held, std::uint64_t offset,
                          mutable_bytes into, std::stop_token stop, diagnostics& where,
                          store_handler<std::size_t> done) const
    requires detail::holds_versions<S>
  {
    run<std::size_t>(std::move(key), std::move(stop), where, std::move(done),
                     [held = std::move(held), offset, into](const S& s, const std::string& k,
                                                            const std::stop_token& st) {
                       return in_parts(into, st, [&](std::size_t at, mutable_bytes part) {
                         return s.read_version(k, held, offset + at, part);
                       });
                     });
  }

  void async_write(std::string key, bytes_view bytes, std::stop_token stop, diagnostics& where,
                   store_handler<> done) const {
    run<void>(
        std::move(key), std::move(stop), where, std::move(done),
        [bytes](const S& s, const std::string& k, const std::stop_token&) { s.write(k, bytes); });
  }

  void async_create(std::string key, bytes_view bytes, std::stop_token stop, diagnostics& where,
                    store_handler<bool> done) const
    requires requires(const S& store, std::string_view at, bytes_view what) {
      { store.create(at, what) } -> std::same_as<bool>;
    }
  {
    run<bool>(std::move(key), std::move(stop), where, std::move(done),
              [bytes](const S& s, const std::string& k, const std::stop_token&) {
                return s.create(k, bytes);
              });
  }

  void async_list(std::string prefix, std::stop_token stop, diagnostics& where,
                  store_handler<std::vector<object_info>> done) const {
    run<std::vector<object_info>>(std::move(prefix), std::move(stop), where, std::move(done),
                                  [](const S& s, const std::string& k, const std::stop_token& st) {
                                    if constexpr (requires { s.list(k, st); }) {
                                      return s.list(k, st);
                                    } else {
                                      return s.list(k);
                                    }
                                  });
  }

  void async_remove(std::string key, std::stop_token stop, diagnostics& where,
                    store_handler<> done) const {
    run<void>(std::move(key), std::move(stop), where, std::move(done),
              [](const S& s, const std::string& k, const std::stop_token&) { s.remove(k); });
  }

  [[nodiscard]] std::string url(std::string_view key) const { return store_->url(key); }
  [[nodiscard]] bool occupies_threads() const { return true; }

 private:
  static constexpr std::size_t part_bytes = std::size_t{8} << 20;

  static void check_stop(const std::stop_token& stop) {
    if (stop.stop_requested()) throw error(errc::canceled, "the call was cancelled");
  }

  template <class Read>
  static std::size_t in_parts(mutable_bytes into, const std::stop_token& stop, const Read& read) {
    std::size_t done = 0;
    do {
      check_stop(stop);
      const mutable_bytes part = into.subspan(done, std::min(part_bytes, into.size() - done));
      const std::size_t got = read(done, part);
      done += got;
      if (got < part.size()) break;
    } while (done < into.size());
    return done;
  }

  /// Runs `call` on the pool and completes with what it returns or throws.
  template <class Result, class Done, class Call>
  void run(std::string key, std::stop_token stop, diagnostics& where, Done done, Call call) const {
    threads_->post([store = store_, key = std::move(key), stop = std::move(stop), &where,
                    done = std::move(done), call = std::move(call)]() mutable {
      std::error_code code;
      if constexpr (std::is_void_v<Result>) {
        try {
          check_stop(stop);
          call(*store, key, stop);
        } catch (...) {
          code = detail::describe_failure(std::current_exception(), where, store->url(key));
        }
        done(code);
      } else {
        Result result{};
        try {
          check_stop(stop);
          result = call(*store, key, stop);
        } catch (...) {
          code = detail::describe_failure(std::current_exception(), where, store->url(key));
        }
        done(code, std::move(result));
      }
    });
  }

  runtime* threads_;
  std::shared_ptr<const S> store_;
};

namespace detail {

/// An asynchronous store that several owners share.
template <async_store S>
class shared_async {
 public:
  explicit shared_async(std::shared_ptr<const S> store) : store_(std::move(store)) {}

  void async_size(std::string key, std::stop_token stop, diagnostics& where,
                  store_handler<std::uint64_t> done) const {
    store_->async_size(std::move(key), std::move(stop), where, std::move(done));
  }
  void async_read(std::string key, std::uint64_t offset, mutable_bytes into, std::stop_token stop,
                  diagnostics& where, store_handler<std::size_t> done) const {
    store_->async_read(std::move(key), offset, into, std::move(stop), where, std::move(done));
  }
  void async_version(std::string key, std::stop_token stop, diagnostics& where,
                     store_handler<object_version> done) const {
    async_version_of(*store_, std::move(key), std::move(stop), where, std::move(done));
  }
  void async_read_version(std::string key, const object_version& held, std::uint64_t offset,
                          mutable_bytes into, std::stop_token stop, diagnostics& where,
                          store_handler<std::size_t> done) const {
    async_read_version_of(*store_, std::move(key), held, offset, into, std::move(stop), where,
                          std::move(done));
  }
  [[nodiscard]] bool streams() const { return can_stream(*store_); }
  void async_stream(std::string key, std::optional<object_version> held, std::uint64_t offset,
                    std::uint64_t count, byte_taker take, std::stop_token stop, diagnostics& where,
                    store_handler<object_version> done) const
    requires streaming_store<S>
  {
    store_->async_stream(std::move(key), std::move(held), offset, count, std::move(take),
                         std::move(stop), where, std::move(done));
  }
  void async_write(std::string key, bytes_view bytes, std::stop_token stop, diagnostics& where,
                   store_handler<> done) const {
    store_->async_write(std::move(key), bytes, std::move(stop), where, std::move(done));
  }
  [[nodiscard]] bool creates() const { return can_create(*store_); }
  void async_create(std::string key, bytes_view bytes, std::stop_token stop, diagnostics& where,
                    store_handler<bool> done) const
    requires creating_store<S>
  {
    store_->async_create(std::move(key), bytes, std::move(stop), where, std::move(done));
  }
  void async_list(std::string prefix, std::stop_token stop, diagnostics& where,
                  store_handler<std::vector<object_info>> done) const {
    store_->async_list(std::move(prefix), std::move(stop), where, std::move(done));
  }
  void async_remove(std::string key, std::stop_token stop, diagnostics& where,
                    store_handler<> done) const {
    store_->async_remove(std::move(key), std::move(stop), where, std::move(done));
  }
  [[nodiscard]] std::string url(std::string_view key) const { return store_->url(key); }
  [[nodiscard]] bool occupies_threads() const { return detail::occupies_threads(*store_); }

 private:
  std::shared_ptr<const S> store_;
};

}  // namespace detail

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
