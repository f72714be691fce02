#pragma once

#include <mdstream/store/any_async_store.hpp>
#include <mdstream/version.hpp>

#include <memory>
#include <new>
#include <system_error>

namespace mdstream::inline v0 {

namespace detail {

/// The handler of a call that gives one part of the answer to that of an operation.
template <class Value>
[[nodiscard]] answer_handler tell(Value store_answer::* part, store_handler<Value> done) {
  return [part, done = std::move(done)](std::error_code code, store_answer answer) mutable {
    done(code, std::move(answer.*part));
  };
}

[[nodiscard]] MDSTREAM_INLINE answer_handler tell_end(store_handler<> done) {
  return [done = std::move(done)](std::error_code code, store_answer) mutable { done(code); };
}

/// Takes `count` bytes of the object at most: callers size their memory by it,
/// whatever the store and its server send.
[[nodiscard]] MDSTREAM_INLINE byte_taker take_at_most(std::uint64_t count, std::string url,
                                                      byte_taker take) {
  return [left = count, url = std::move(url), take = std::move(take)](const object_version& found,
                                                                      bytes_view bytes) mutable {
    if (bytes.size() > left)
      throw error(errc::corrupt,
                  {.what = "the store sent more bytes than were asked for", .url = url});
    left -= bytes.size();
    take(found, bytes);
  };
}

}  // namespace detail

MDSTREAM_INLINE void any_async_store::async_call(detail::store_call call, std::stop_token stop,
                                                 diagnostics& where,
                                                 detail::answer_handler done) const {
  const auto kept = calls_;  // the completion may drop this store
  const auto last = std::allocate_shared<detail::answer_handler>(
      detail::handler_allocator<detail::answer_handler>(), std::move(done));
  try {
    kept->start(std::move(call), std::move(stop), where,
                [last](std::error_code code, detail::store_answer answer) noexcept {
                  (*last)(code, std::move(answer));
                });
  } catch (const std::bad_alloc&) {  // before anything could be called
    where = {};
    (*last)(errc::out_of_memory, {});
  }
}

MDSTREAM_INLINE void any_async_store::async_size(std::string key, std::stop_token stop,
                                                 diagnostics& where,
                                                 store_handler<std::uint64_t> done) const {
  async_call({.key = std::move(key)}, std::move(stop), where,
             [done = std::move(done)](std::error_code code, detail::store_answer answer) mutable {
               done(code, answer.object.bytes);
             });
}

MDSTREAM_INLINE void any_async_store::async_read(std::string key, std::uint64_t offset,
                                                 mutable_bytes into, std::stop_token stop,
                                                 diagnostics& where,
                                                 store_handler<std::size_t> done) const {
  async_call(
      {.verb = detail::store_verb::read, .key = std::move(key), .offset = offset, .into = into},
      std::move(stop), where, detail::tell(&detail::store_answer::bytes, std::move(done)));
}

MDSTREAM_INLINE void any_async_store::async_version(std::string key, std::stop_token stop,
                                                    diagnostics& where,
                                                    store_handler<object_version> done) const {
  async_call({.key = std::move(key)}, std::move(stop), where,
             detail::tell(&detail::store_answer::object, std::move(done)));
}

MDSTREAM_INLINE void any_async_store::async_read_version(std::string key, object_version held,
                                                         std::uint64_t offset, mutable_bytes into,
                                                         std::stop_token stop, diagnostics& where,
                                                         store_handler<std::size_t> done) const {
  async_call({.verb = detail::store_verb::read,
              .key = std::move(key),
              .held = std::move(held),
              .offset = offset,
              .into = into},
             std::move(stop), where, detail::tell(&detail::store_answer::bytes, std::move(done)));
}

MDSTREAM_INLINE void any_async_store::async_stream(std::string key,
                                                   std::optional<object_version> held,
                                                   std::uint64_t offset, std::uint64_t count,
                                                   byte_taker take, std::stop_token stop,
                                                   diagnostics& where,
                                                   store_handler<object_version> done) const {
  try {
    take = detail::take_at_most(count, url(key), std::move(take));
  } catch (const std::bad_alloc&) {
    where = {};
    return done(errc::out_of_memory, {});
  }
  async_call({.verb = detail::store_verb::read,
              .key = std::move(key),
              .held = std::move(held),
              .offset = offset,
              .take = std::move(take),
              .count = count},
             std::move(stop), where, detail::tell(&detail::store_answer::object, std::move(done)));
}

MDSTREAM_INLINE void any_async_store::async_write(std::string key, bytes_view bytes,
                                                  std::stop_token stop, diagnostics& where,
                                                  store_handler<> done) const {
  async_call({.verb = detail::store_verb::write, .key = std::move(key), .bytes = bytes},
             std::move(stop), where, detail::tell_end(std::move(done)));
}

MDSTREAM_INLINE void any_async_store::async_create(std::string key, bytes_view bytes,
                                                   std::stop_token stop, diagnostics& where,
                                                   store_handler<bool> done) const {
  async_call({.verb = detail::store_verb::write,
              .key = std::move(key),
              .bytes = bytes,
              .create_only = true},
             std::move(stop), where, detail::tell(&detail::store_answer::written, std::move(done)));
}

MDSTREAM_INLINE void any_async_store::async_list(
    std::string prefix, std::stop_token stop, diagnostics& where,
    store_handler<std::vector<object_info>> done) const {
  async_call({.verb = detail::store_verb::list, .key = std::move(prefix)}, std::move(stop), where,
             detail::tell(&detail::store_answer::objects, std::move(done)));
}

MDSTREAM_INLINE void any_async_store::async_remove(std::string key, std::stop_token stop,
                                                   diagnostics& where, store_handler<> done) const {
  async_call({.verb = detail::store_verb::remove, .key = std::move(key)}, std::move(stop), where,
             detail::tell_end(std::move(done)));
}

}  // namespace mdstream::inline v0
