#pragma once

#include <mdstream/async/runtime.hpp>
#include <mdstream/store/opened_store.hpp>
#include <mdstream/version.hpp>

#include <thread>

namespace mdstream::inline v0 {

MDSTREAM_INLINE detail::store_answer opened_store::make(detail::store_call call) const {
  if (blocking_) return blocking_->make(call, {});
  return detail::wait_for<detail::store_answer>([&](diagnostics& where, auto done) {
    async_->start(std::move(call), {}, where, std::move(done));
  });
}

MDSTREAM_INLINE std::uint64_t opened_store::size(std::string_view key) const {
  return make({.key = std::string(key)}).object.bytes;
}

MDSTREAM_INLINE std::size_t opened_store::read(std::string_view key, std::uint64_t offset,
                                               mutable_bytes into) const {
  return make({.verb = detail::store_verb::read,
               .key = std::string(key),
               .offset = offset,
               .into = into})
      .bytes;
}

MDSTREAM_INLINE void opened_store::write(std::string_view key, bytes_view bytes) const {
  make({.verb = detail::store_verb::write, .key = std::string(key), .bytes = bytes});
}

MDSTREAM_INLINE void opened_store::publish(std::string_view key, bytes_view bytes) const {
  make({.verb = detail::store_verb::write,
        .key = std::string(key),
        .bytes = bytes,
        .durable = true});
}

MDSTREAM_INLINE std::vector<object_info> opened_store::list(std::string_view prefix) const {
  return make({.verb = detail::store_verb::list, .key = std::string(prefix)}).objects;
}

MDSTREAM_INLINE void opened_store::remove(std::string_view key) const {
  make({.verb = detail::store_verb::remove, .key = std::string(key)});
}

MDSTREAM_INLINE std::string opened_store::url(std::string_view key) const {
  return blocking_ ? blocking_->url(key) : async_->url(key);
}

MDSTREAM_INLINE any_async_store opened_store::on(runtime& threads) const {
  return async_ ? any_async_store(async_) : detail::on_pool(threads, blocking_);
}

namespace detail {

/// A store that keeps its own runtime. Where the last owner goes on one of that one's threads, as
/// in a completion, the runtime ends elsewhere: no thread can wait for itself.
template <class Store>
[[nodiscard]] std::shared_ptr<Store> keeping(std::shared_ptr<Store> store,
                                             std::shared_ptr<runtime> threads) {
  Store* const at = store.get();
  return std::shared_ptr<Store>(
      at, [store = std::move(store), kept = std::move(threads)](Store*) mutable {
        store.reset();
        if (kept->runs_here()) std::thread([last = std::move(kept)] {}).detach();
      });
}

}  // namespace detail

MDSTREAM_INLINE std::shared_ptr<runtime> opened_store::own_runtime() {
  return std::make_shared<runtime>(1);
}

MDSTREAM_INLINE void opened_store::keep(const std::shared_ptr<runtime>& threads) {
  if (blocking_) blocking_ = detail::keeping(std::move(blocking_), threads);
  if (async_) async_ = detail::keeping(std::move(async_), threads);
}

}  // namespace mdstream::inline v0
