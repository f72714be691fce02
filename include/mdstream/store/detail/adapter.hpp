#pragma once

/// What adapters around a store have in common: every operation passes through one function.

#include <mdstream/store/detail/versions.hpp>
#include <mdstream/store/store.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

enum class store_operation : std::uint8_t { size, read, write, list, remove };

/// One call of a store.
struct store_call {
  store_operation operation = store_operation::read;
  std::string key{};
  std::uint64_t bytes = 0;  ///< asked for by a read, or written
};

/// The base of an adapter around an asynchronous store. `Adapter` has
///
///     template <class... Result, class Start>
///     void run(store_call call, std::stop_token stop, diagnostics& where, Start start,
///              store_handler<Result...> done) const;
///
/// where `start(stop, where, done)` makes the call of the inner store, once each time it is
/// called. That of a stream has a member `take`; that of a creation completes with a bool, and has
/// `inner` and `key`. An adapter keeps what its calls share behind a
/// pointer, because the adapter may be copied, and destroyed while calls are under way.
template <class Adapter, async_store S>
class store_adapter {
 public:
  explicit store_adapter(S inner) : inner_(std::make_shared<const S>(std::move(inner))) {}

  void async_size(std::string key, std::stop_token stop, diagnostics& where,
                  store_handler<std::uint64_t> done) const {
    adapter().template run<std::uint64_t>(
        {store_operation::size, key, 0}, std::move(stop), where,
        [inner = inner_, key](std::stop_token st, diagnostics& w, store_handler<std::uint64_t> d) {
          inner->async_size(key, std::move(st), w, std::move(d));
        },
        std::move(done));
  }

  void async_read(std::string key, std::uint64_t offset, mutable_bytes into, std::stop_token stop,
                  diagnostics& where, store_handler<std::size_t> done) const {
    adapter().template run<std::size_t>({store_operation::read, key, into.size()}, std::move(stop),
                                        where, read_start{inner_, key, std::nullopt, offset, into},
                                        std::move(done));
  }

  void async_version(std::string key, std::stop_token stop, diagnostics& where,
                     store_handler<object_version> done) const {
    adapter().template run<object_version>(
        {store_operation::size, key, 0}, std::move(stop), where,
        [inner = inner_, key](std::stop_token st, diagnostics& w, store_handler<object_version> d) {
          async_version_of(*inner, key, std::move(st), w, std::move(d));
        },
        std::move(done));
  }

  void async_read_version(std::string key, const object_version& held, std::uint64_t offset,
                          mutable_bytes into, std::stop_token stop, diagnostics& where,
                          store_handler<std::size_t> done) const {
    adapter().template run<std::size_t>({store_operation::read, key, into.size()}, std::move(stop),
                                        where, read_start{inner_, key, held, offset, into},
                                        std::move(done));
  }

  /// Whether the store inside hands out bytes as they come.
  [[nodiscard]] bool streams() const { return can_stream(*inner_); }
  void async_stream(std::string key, std::optional<object_version> held, std::uint64_t offset,
                    std::uint64_t count, byte_taker take, std::stop_token stop, diagnostics& where,
                    store_handler<object_version> done) const
    requires streaming_store<S>
  {
    adapter().template run<object_version>(
        {store_operation::read, key, count}, std::move(stop), where,
        stream_start{inner_, key, std::move(held), offset, count, std::move(take)},
        std::move(done));
  }

  void async_write(std::string key, bytes_view bytes, std::stop_token stop, diagnostics& where,
                   store_handler<> done) const {
    adapter().template run<>(
        {store_operation::write, key, bytes.size()}, std::move(stop), where,
        [inner = inner_, key, bytes](std::stop_token st, diagnostics& w, store_handler<> d) {
          inner->async_write(key, bytes, std::move(st), w, std::move(d));
        },
        std::move(done));
  }

  /// Whether the store inside writes where nothing is.
  [[nodiscard]] bool creates() const { return can_create(*inner_); }
  void async_create(std::string key, bytes_view bytes, std::stop_token stop, diagnostics& where,
                    store_handler<bool> done) const
    requires creating_store<S>
  {
    adapter().template run<bool>({store_operation::write, key, bytes.size()}, std::move(stop),
                                 where, create_start{inner_, key, bytes}, std::move(done));
  }

  void async_list(std::string prefix, std::stop_token stop, diagnostics& where,
                  store_handler<std::vector<object_info>> done) const {
    adapter().template run<std::vector<object_info>>(
        {store_operation::list, prefix, 0}, std::move(stop), where,
        [inner = inner_, prefix](std::stop_token st, diagnostics& w,
                                 store_handler<std::vector<object_info>> d) {
          inner->async_list(prefix, std::move(st), w, std::move(d));
        },
        std::move(done));
  }

  void async_remove(std::string key, std::stop_token stop, diagnostics& where,
                    store_handler<> done) const {
    adapter().template run<>(
        {store_operation::remove, key, 0}, std::move(stop), where,
        [inner = inner_, key](std::stop_token st, diagnostics& w, store_handler<> d) {
          inner->async_remove(key, std::move(st), w, std::move(d));
        },
        std::move(done));
  }

  [[nodiscard]] std::string url(std::string_view key) const { return inner_->url(key); }
  [[nodiscard]] bool occupies_threads() const { return detail::occupies_threads(*inner_); }

 protected:
  [[nodiscard]] const std::shared_ptr<const S>& inner() const noexcept { return inner_; }

 private:
  /// A read; `with` is the same read into other memory.
  struct read_start {
    std::shared_ptr<const S> inner;
    std::string key;
    std::optional<object_version> held;
    std::uint64_t offset;
    mutable_bytes into;

    void operator()(std::stop_token stop, diagnostics& where,
                    store_handler<std::size_t> done) const {
      if (!held)
        return inner->async_read(key, offset, into, std::move(stop), where, std::move(done));
      async_read_version_of(*inner, key, *held, offset, into, std::move(stop), where,
                            std::move(done));
    }
    [[nodiscard]] read_start with(mutable_bytes other) const {
      return {inner, key, held, offset, other};
    }
  };

  /// A stream, whose bytes go to `take`: to call it twice gives them twice.
  struct stream_start {
    std::shared_ptr<const S> inner;
    std::string key;
    std::optional<object_version> held;
    std::uint64_t offset, count;
    byte_taker take;

    void operator()(std::stop_token stop, diagnostics& where,
                    store_handler<object_version> done) const {
      inner->async_stream(key, held, offset, count, take, std::move(stop), where, std::move(done));
    }
  };

  struct create_start {
    std::shared_ptr<const S> inner;
    std::string key;
    bytes_view bytes;

    void operator()(std::stop_token stop, diagnostics& where, store_handler<bool> done) const {
      inner->async_create(key, bytes, std::move(stop), where, std::move(done));
    }
  };

  [[nodiscard]] const Adapter& adapter() const noexcept {
    return static_cast<const Adapter&>(*this);
  }

  std::shared_ptr<const S> inner_;
};

}  // namespace mdstream::inline v0::detail
