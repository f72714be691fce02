#pragma once

#include <mdstream/core/detail/utf8.hpp>
#include <mdstream/store/detail/cloud/listing.hpp>
#include <mdstream/store/detail/cloud/read.hpp>
#include <mdstream/store/detail/cloud/store.hpp>
#include <mdstream/version.hpp>

#include <system_error>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE cloud_store::cloud_store(runtime& threads, std::shared_ptr<const cloud_api> api,
                                         net::http_client_options http, net::any_access keys)
    : client_(threads, std::move(api), std::move(http), std::move(keys)) {}

MDSTREAM_INLINE void cloud_store::async_size(std::string key, std::stop_token stop,
                                             diagnostics& where,
                                             store_handler<std::uint64_t> done) const {
  async_version(std::move(key), std::move(stop), where, detail::size_only(std::move(done)));
}

MDSTREAM_INLINE void cloud_store::async_version(std::string key, std::stop_token stop,
                                                diagnostics& where,
                                                store_handler<object_version> done) const {
  if (refused(key, where)) return done(errc::invalid_argument, {});
  client_.async_send(client_.api().look(whole(key)), std::move(stop), where,
                     [client = client_, url = url(key), &where, done = std::move(done)](
                         std::error_code code, const net::http_response& answer) mutable {
                       object_version found;
                       try {
                         if (!code) found = client.api().version(answer);
                       } catch (const error& e) {
                         where = e.where();
                         where.url = std::move(url);
                         code = e.code();
                       }
                       done(code, std::move(found));
                     });
}

MDSTREAM_INLINE void cloud_store::async_read(std::string key, std::uint64_t offset,
                                             mutable_bytes into, std::stop_token stop,
                                             diagnostics& where,
                                             store_handler<std::size_t> done) const {
  read(std::move(key), std::nullopt, offset, detail::range_target::memory(into), std::move(stop),
       where, detail::length_only(std::move(done)));
}

MDSTREAM_INLINE void cloud_store::async_read_version(std::string key, object_version held,
                                                     std::uint64_t offset, mutable_bytes into,
                                                     std::stop_token stop, diagnostics& where,
                                                     store_handler<std::size_t> done) const {
  read(std::move(key), std::move(held), offset, detail::range_target::memory(into), std::move(stop),
       where, detail::length_only(std::move(done)));
}

MDSTREAM_INLINE void cloud_store::async_stream(std::string key, std::optional<object_version> held,
                                               std::uint64_t offset, std::uint64_t count,
                                               byte_taker take, std::stop_token stop,
                                               diagnostics& where,
                                               store_handler<object_version> done) const {
  read(std::move(key), std::move(held), offset,
       detail::range_target::stream(std::move(take), count), std::move(stop), where,
       detail::version_only(std::move(done)));
}

MDSTREAM_INLINE void cloud_store::async_write(std::string key, bytes_view bytes,
                                              std::stop_token stop, diagnostics& where,
                                              store_handler<> done) const {
  if (refused(key, where)) return done(errc::invalid_argument);
  client_.api().write(client_, whole(key), bytes, std::move(stop), where, std::move(done));
}

MDSTREAM_INLINE void cloud_store::async_create(std::string key, bytes_view bytes,
                                               std::stop_token stop, diagnostics& where,
                                               store_handler<bool> done) const {
  if (refused(key, where)) return done(errc::invalid_argument, false);
  client_.api().create(client_, whole(key), bytes, std::move(stop), where, std::move(done));
}

MDSTREAM_INLINE void cloud_store::async_list(std::string prefix, std::stop_token stop,
                                             diagnostics& where,
                                             store_handler<std::vector<object_info>> done) const {
  std::make_shared<cloud_listing>(client_, std::move(prefix), std::move(stop), where,
                                  std::move(done))
      ->begin();
}

MDSTREAM_INLINE void cloud_store::async_remove(std::string key, std::stop_token stop,
                                               diagnostics& where, store_handler<> done) const {
  if (refused(key, where)) return done(errc::invalid_argument);
  client_.api().remove(client_, whole(key), std::move(stop), where, std::move(done));
}

MDSTREAM_INLINE bool cloud_store::refused(std::string_view key, diagnostics& where) const {
  const std::string name = whole(key);  // which goes into JSON and XML
  if (first_invalid_utf8(name) != name.size()) {
    where = {.what = "the name of an object in a cloud has to be UTF-8", .url = url("")};
    return true;
  }
  if (key_is_safe(key)) return false;
  where = {.what = "the key \"" + std::string(key) + "\" leaves the store or names nothing in it",
           .url = url("")};
  return true;
}

MDSTREAM_INLINE void cloud_store::read(std::string key, std::optional<object_version> held,
                                       std::uint64_t offset, detail::range_target target,
                                       std::stop_token stop, diagnostics& where,
                                       detail::range_handler done) const {
  if (refused(key, where)) return done(errc::invalid_argument, 0, {});
  if (target.most == 0) {  // there is no range of no bytes; whether there is an object is told
    return async_version(std::move(key), std::move(stop), where,
                         detail::without_length(std::move(done)));
  }
  std::make_shared<cloud_read>(client_, whole(key), offset, std::move(target), std::move(held),
                               std::move(stop), where, std::move(done))
      ->begin();
}

}  // namespace mdstream::inline v0::detail
