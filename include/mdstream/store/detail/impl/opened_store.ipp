#pragma once

#include <mdstream/store/opened_store.hpp>
#include <mdstream/version.hpp>

#include <thread>

namespace mdstream::inline v0 {

MDSTREAM_INLINE void any_async_store::async_size(std::string key, std::stop_token stop,
                                                 diagnostics& where,
                                                 store_handler<std::uint64_t> done) const {
  store_->size(std::move(key), std::move(stop), where, std::move(done));
}

MDSTREAM_INLINE void any_async_store::async_read(std::string key, std::uint64_t offset,
                                                 mutable_bytes into, std::stop_token stop,
                                                 diagnostics& where,
                                                 store_handler<std::size_t> done) const {
  store_->read(std::move(key), offset, into, std::move(stop), where, std::move(done));
}

MDSTREAM_INLINE void any_async_store::async_version(std::string key, std::stop_token stop,
                                                    diagnostics& where,
                                                    store_handler<object_version> done) const {
  store_->version(std::move(key), std::move(stop), where, std::move(done));
}

MDSTREAM_INLINE void any_async_store::async_read_version(std::string key,
                                                         const object_version& held,
                                                         std::uint64_t offset, mutable_bytes into,
                                                         std::stop_token stop, diagnostics& where,
                                                         store_handler<std::size_t> done) const {
  store_->read_version(std::move(key), held, offset, into, std::move(stop), where, std::move(done));
}

MDSTREAM_INLINE void any_async_store::async_stream(std::string key,
                                                   std::optional<object_version> held,
                                                   std::uint64_t offset, std::uint64_t count,
                                                   byte_taker take, std::stop_token stop,
                                                   diagnostics& where,
                                                   store_handler<object_version> done) const {
  store_->stream(std::move(key), std::move(held), offset, count, std::move(take), std::move(stop),
                 where, std::move(done));
}

MDSTREAM_INLINE void any_async_store::async_write(std::string key, bytes_view bytes,
                                                  std::stop_token stop, diagnostics& where,
                                                  store_handler<> done) const {
  store_->write(std::move(key), bytes, std::move(stop), where, std::move(done));
}

MDSTREAM_INLINE void any_async_store::async_create(std::string key, bytes_view bytes,
                                                   std::stop_token stop, diagnostics& where,
                                                   store_handler<bool> done) const {
  store_->create(std::move(key), bytes, std::move(stop), where, std::move(done));
}

MDSTREAM_INLINE void any_async_store::async_list(
    std::string prefix, std::stop_token stop, diagnostics& where,
    store_handler<std::vector<object_info>> done) const {
  store_->list(std::move(prefix), std::move(stop), where, std::move(done));
}

MDSTREAM_INLINE void any_async_store::async_remove(std::string key, std::stop_token stop,
                                                   diagnostics& where, store_handler<> done) const {
  store_->remove(std::move(key), std::move(stop), where, std::move(done));
}

MDSTREAM_INLINE void opened_store::keep(std::shared_ptr<runtime> threads) {
  const interface* const at = store_.get();
  store_ = std::shared_ptr<const interface>(
      at, [store = std::move(store_), kept = std::move(threads)](const interface*) mutable {
        store.reset();
        end(std::move(kept));
      });
}

MDSTREAM_INLINE void opened_store::end(std::shared_ptr<runtime> threads) {
  if (threads->runs_here()) std::thread([last = std::move(threads)] {}).detach();
}

}  // namespace mdstream::inline v0
