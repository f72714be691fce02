#pragma once

/// A store of a cloud, whatever its API is. Needs libcurl: link mdstream::curl.

#include <mdstream/core/utf8.hpp>
#include <mdstream/store/cloud/client.hpp>
#include <mdstream/store/cloud/listing.hpp>
#include <mdstream/store/cloud/read.hpp>
#include <mdstream/store/cloud/upload.hpp>
#include <mdstream/store/store.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0::store {

/// Objects beneath the root of a `cloud_api`. Thread-safe; copies share connections and keys. The
/// runtime has to outlive the calls.
class cloud_store {
 public:
  explicit cloud_store(cloud_client client) : client_(std::move(client)) {}
  cloud_store(runtime& threads, std::shared_ptr<const cloud_api> api, net::http_client_options http,
              net::any_access keys)
      : client_(threads, std::move(api), std::move(http), std::move(keys)) {}

  void async_size(std::string key, std::stop_token stop, diagnostics& where,
                  store_handler<std::uint64_t> done) const {
    async_version(std::move(key), std::move(stop), where, detail::size_only(std::move(done)));
  }

  void async_version(std::string key, std::stop_token stop, diagnostics& where,
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

  void async_read(std::string key, std::uint64_t offset, mutable_bytes into, std::stop_token stop,
                  diagnostics& where, store_handler<std::size_t> done) const {
    read(std::move(key), std::nullopt, offset, detail::range_target::memory(into), std::move(stop),
         where, detail::length_only(std::move(done)));
  }

  void async_read_version(std::string key, object_version held, std::uint64_t offset,
                          mutable_bytes into, std::stop_token stop, diagnostics& where,
                          store_handler<std::size_t> done) const {
    read(std::move(key), std::move(held), offset, detail::range_target::memory(into),
         std::move(stop), where, detail::length_only(std::move(done)));
  }

  void async_stream(std::string key, std::optional<object_version> held, std::uint64_t offset,
                    std::uint64_t count, byte_taker take, std::stop_token stop, diagnostics& where,
                    store_handler<object_version> done) const {
    read(std::move(key), std::move(held), offset,
         detail::range_target::stream(std::move(take), count), std::move(stop), where,
         detail::version_only(std::move(done)));
  }

  void async_write(std::string key, bytes_view bytes, std::stop_token stop, diagnostics& where,
                   store_handler<> done) const {
    if (refused(key, where)) return done(errc::invalid_argument);
    client_.api().write(client_, whole(key), bytes, std::move(stop), where, std::move(done));
  }

  void async_list(std::string prefix, std::stop_token stop, diagnostics& where,
                  store_handler<std::vector<object_info>> done) const {
    std::make_shared<cloud_listing>(client_, std::move(prefix), std::move(stop), where,
                                    std::move(done))
        ->begin();
  }

  void async_remove(std::string key, std::stop_token stop, diagnostics& where,
                    store_handler<> done) const {
    if (refused(key, where)) return done(errc::invalid_argument);
    client_.api().remove(client_, whole(key), std::move(stop), where, std::move(done));
  }

  [[nodiscard]] std::string url(std::string_view key) const {
    return client_.api().url(whole(key));
  }

 protected:
  [[nodiscard]] const cloud_client& client() const noexcept { return client_; }

  [[nodiscard]] bool refused(std::string_view key, diagnostics& where) const {
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

  [[nodiscard]] std::string whole(std::string_view key) const {
    return join_key(client_.api().root(), key);
  }

 private:
  void read(std::string key, std::optional<object_version> held, std::uint64_t offset,
            detail::range_target target, std::stop_token stop, diagnostics& where,
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

  cloud_client client_;
};

static_assert(versioned_store<cloud_store> && streaming_store<cloud_store>);

}  // namespace mdstream::inline v0::store
