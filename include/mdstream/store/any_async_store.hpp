#pragma once

/// Any asynchronous store behind one type.

#include <mdstream/store/detail/call.hpp>
#include <mdstream/store/store.hpp>

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

namespace detail {

/// An asynchronous store as it answers calls.
template <async_store S>
class async_model final : public store_interface {
 public:
  explicit async_model(std::shared_ptr<const S> store) : store_(std::move(store)) {}

  void start(store_call call, std::stop_token stop, diagnostics& where,
             answer_handler done) const override {
    switch (call.verb) {
      case store_verb::stat:
        if constexpr (versioned_store<S>) {
          return store_->async_version(std::move(call.key), std::move(stop), where,
                                       answer_object(std::move(done)));
        } else {
          return store_->async_size(std::move(call.key), std::move(stop), where,
                                    answer_size(std::move(done)));
        }
      case store_verb::read: return read(std::move(call), std::move(stop), where, std::move(done));
      case store_verb::write:
        if (!call.create_only) {
          return store_->async_write(std::move(call.key), call.bytes, std::move(stop), where,
                                     answer_end(std::move(done)));
        }
        if constexpr (creating_store<S>) {
          return store_->async_create(std::move(call.key), call.bytes, std::move(stop), where,
                                      answer_written(std::move(done)));
        } else {
          return refuse_call(call, store_->url(call.key), where, std::move(done));
        }
      case store_verb::list:
        return store_->async_list(std::move(call.key), std::move(stop), where,
                                  versioned_store<S> ? answer_objects(std::move(done))
                                                     : answer_untagged_objects(std::move(done)));
      case store_verb::remove:
        return store_->async_remove(std::move(call.key), std::move(stop), where,
                                    answer_end(std::move(done)));
    }
  }

  [[nodiscard]] std::string url(std::string_view key) const override { return store_->url(key); }
  [[nodiscard]] store_abilities abilities() const override {
    return {.streams = can_stream(*store_), .creates = can_create(*store_)};
  }

 private:
  /// Of a store without tags a read of a version is a plain one, which can tell another version
  /// only by a size that is smaller than the end of the range.
  void read(store_call call, std::stop_token stop, diagnostics& where, answer_handler done) const {
    if (call.take) {
      if constexpr (streaming_store<S>) {
        return store_->async_stream(std::move(call.key), std::move(call.held), call.offset,
                                    call.count, std::move(call.take), std::move(stop), where,
                                    answer_object(std::move(done)));
      } else {
        return refuse_call(call, store_->url(call.key), where, std::move(done));
      }
    }
    if constexpr (versioned_store<S>) {
      if (call.held) {
        return store_->async_read_version(std::move(call.key), *call.held, call.offset, call.into,
                                          std::move(stop), where, answer_bytes(std::move(done)));
      }
    }
    store_->async_read(std::move(call.key), call.offset, call.into, std::move(stop), where,
                       answer_bytes(std::move(done)));
  }

  std::shared_ptr<const S> store_;
};

}  // namespace detail

/// Any asynchronous store. Copies share it. One virtual call for each operation. The adapters
/// (`retrying`, `limited`, ...) are stores of this type, and stand around one.
///
///     const mds::any_async_store store = folder.on(threads);
///     mds::diagnostics where;  // stays until the call completes
///     store.async_size("index.json", {}, where, [](std::error_code failure, std::uint64_t bytes) {
///       if (!failure) use(bytes);
///     });
class any_async_store {
 public:
  /// Implicit, so that a store can stand wherever one is asked for. One that is an
  /// `any_async_store` already, as adapters are, is shared and not wrapped again: what a class that
  /// derives from it defines anew is not called.
  template <class S>
    requires(!std::derived_from<S, any_async_store> && detail::async_operations<S>)
  any_async_store(S store)
      : calls_(std::make_shared<const detail::async_model<S>>(
            std::make_shared<const S>(std::move(store)))) {}

  /// For adapters and what opens stores.
  explicit any_async_store(std::shared_ptr<const detail::store_interface> calls)
      : calls_(std::move(calls)) {}

  void async_size(std::string key, std::stop_token stop, diagnostics& where,
                  store_handler<std::uint64_t> done) const;
  void async_read(std::string key, std::uint64_t offset, mutable_bytes into, std::stop_token stop,
                  diagnostics& where, store_handler<std::size_t> done) const;
  /// Where the store has no tags, the size alone.
  void async_version(std::string key, std::stop_token stop, diagnostics& where,
                     store_handler<object_version> done) const;
  void async_read_version(std::string key, object_version held, std::uint64_t offset,
                          mutable_bytes into, std::stop_token stop, diagnostics& where,
                          store_handler<std::size_t> done) const;
  /// Whether the store is a `streaming_store`; where it is none, `async_stream` completes with
  /// errc::unsupported. `take` never gets more than `count` bytes: a store that sends more fails
  /// with errc::corrupt.
  [[nodiscard]] bool streams() const { return abilities().streams; }
  void async_stream(std::string key, std::optional<object_version> held, std::uint64_t offset,
                    std::uint64_t count, byte_taker take, std::stop_token stop, diagnostics& where,
                    store_handler<object_version> done) const;
  void async_write(std::string key, bytes_view bytes, std::stop_token stop, diagnostics& where,
                   store_handler<> done) const;
  /// Whether the store is a `creating_store`; where it is none, `async_create` completes with
  /// errc::unsupported.
  [[nodiscard]] bool creates() const { return abilities().creates; }
  void async_create(std::string key, bytes_view bytes, std::stop_token stop, diagnostics& where,
                    store_handler<bool> done) const;
  void async_list(std::string prefix, std::stop_token stop, diagnostics& where,
                  store_handler<std::vector<object_info>> done) const;
  void async_remove(std::string key, std::stop_token stop, diagnostics& where,
                    store_handler<> done) const;
  [[nodiscard]] std::string url(std::string_view key) const { return calls_->url(key); }
  [[nodiscard]] bool occupies_threads() const { return abilities().occupies_threads; }
  /// Where the credentials of the last request came from, in words, such as a profile's name or the
  /// machine's role. Never a secret. Empty for stores without credentials, and before a request.
  [[nodiscard]] std::string credentials() const { return calls_->credentials(); }

  /// Any of the calls above, for adapters.
  void async_call(detail::store_call call, std::stop_token stop, diagnostics& where,
                  detail::answer_handler done) const;
  [[nodiscard]] detail::store_abilities abilities() const { return calls_->abilities(); }
  [[nodiscard]] const std::shared_ptr<const detail::store_interface>& behind() const noexcept {
    return calls_;
  }

 private:
  std::shared_ptr<const detail::store_interface> calls_;
};

static_assert(versioned_store<any_async_store> && streaming_store<any_async_store> &&
              creating_store<any_async_store>);

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/any_async_store.ipp>
#endif
