#pragma once

#include <mdstream/core/detail/utf8.hpp>
#include <mdstream/store/detail/cloud/listing.hpp>
#include <mdstream/store/detail/cloud/read.hpp>
#include <mdstream/store/detail/cloud/store.hpp>
#include <mdstream/version.hpp>

#include <system_error>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void cloud_store::start(store_call call, std::stop_token stop, diagnostics& where,
                                        answer_handler done) const {
  if (call.verb == store_verb::list) {
    return std::make_shared<cloud_listing>(client_, std::move(call.key), std::move(stop), where,
                                           answer_objects(std::move(done)))
        ->begin();
  }
  if (refused(call.key, where)) return done(errc::invalid_argument, {});
  const cloud_api& api = client_.api();
  if (call.verb == store_verb::stat) return stat(call.key, std::move(stop), where, std::move(done));
  if (call.verb == store_verb::read)
    return read(std::move(call), std::move(stop), where, std::move(done));
  if (call.verb == store_verb::remove) {
    return api.remove(client_, whole(call.key), std::move(stop), where,
                      answer_end(std::move(done)));
  }
  if (call.create_only) {
    return api.create(client_, whole(call.key), call.bytes, std::move(stop), where,
                      answer_written(std::move(done)));
  }
  api.write(client_, whole(call.key), call.bytes, std::move(stop), where,
            answer_end(std::move(done)));
}

MDSTREAM_INLINE void cloud_store::stat(std::string_view key, std::stop_token stop,
                                       diagnostics& where, answer_handler done) const {
  client_.async_send(client_.api().look(whole(key)), std::move(stop), where,
                     [client = client_, url = url(key), &where, done = std::move(done)](
                         std::error_code code, const net::http_response& answer) mutable {
                       store_answer told;
                       try {
                         if (!code) told.object = client.api().version(answer);
                       } catch (const error& e) {
                         where = e.where();
                         where.url = std::move(url);
                         code = e.code();
                       }
                       done(code, std::move(told));
                     });
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

MDSTREAM_INLINE void cloud_store::read(store_call call, std::stop_token stop, diagnostics& where,
                                       answer_handler done) const {
  if (call.amount() == 0)  // there is no range of no bytes; whether there is an object is told
    return stat(call.key, std::move(stop), where, std::move(done));
  std::make_shared<cloud_read>(client_, whole(call.key), call.offset, range_target::of(call),
                               call.held, std::move(stop), where,
                               answer_range(call, std::move(done)))
      ->begin();
}

MDSTREAM_INLINE any_async_store make_cloud_store(cloud_client client) {
  return any_async_store(std::make_shared<const cloud_store>(std::move(client)));
}

MDSTREAM_INLINE any_async_store make_cloud_store(runtime& threads,
                                                 std::shared_ptr<const cloud_api> api,
                                                 net::http_client_options http,
                                                 net::any_access keys) {
  return make_cloud_store(cloud_client(threads, std::move(api), std::move(http), std::move(keys)));
}

}  // namespace mdstream::inline v0::detail
