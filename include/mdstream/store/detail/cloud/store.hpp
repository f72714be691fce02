#pragma once

/// A store of a cloud, whatever its API is. Needs libcurl: link mdstream::curl.

#include <mdstream/store/detail/cloud/client.hpp>
#include <mdstream/store/detail/http_range.hpp>
#include <mdstream/store/store.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// Objects beneath the root of a `cloud_api`. Thread-safe; copies share connections and keys. The
/// runtime has to outlive the calls.
class cloud_store {
 public:
  explicit cloud_store(cloud_client client) : client_(std::move(client)) {}
  cloud_store(runtime& threads, std::shared_ptr<const cloud_api> api, net::http_client_options http,
              net::any_access keys);

  void async_size(std::string key, std::stop_token stop, diagnostics& where,
                  store_handler<std::uint64_t> done) const;

  void async_version(std::string key, std::stop_token stop, diagnostics& where,
                     store_handler<object_version> done) const;

  void async_read(std::string key, std::uint64_t offset, mutable_bytes into, std::stop_token stop,
                  diagnostics& where, store_handler<std::size_t> done) const;

  void async_read_version(std::string key, object_version held, std::uint64_t offset,
                          mutable_bytes into, std::stop_token stop, diagnostics& where,
                          store_handler<std::size_t> done) const;

  void async_stream(std::string key, std::optional<object_version> held, std::uint64_t offset,
                    std::uint64_t count, byte_taker take, std::stop_token stop, diagnostics& where,
                    store_handler<object_version> done) const;

  void async_write(std::string key, bytes_view bytes, std::stop_token stop, diagnostics& where,
                   store_handler<> done) const;

  [[nodiscard]] bool creates() const { return client_.api().creates(); }
  /// Writes the object unless there is one of that key, and completes with whether it did. Not
  /// repeated: where the answer is lost, whoever has to know reads what is there.
  void async_create(std::string key, bytes_view bytes, std::stop_token stop, diagnostics& where,
                    store_handler<bool> done) const;

  void async_list(std::string prefix, std::stop_token stop, diagnostics& where,
                  store_handler<std::vector<object_info>> done) const;

  void async_remove(std::string key, std::stop_token stop, diagnostics& where,
                    store_handler<> done) const;

  [[nodiscard]] std::string url(std::string_view key) const {
    return client_.api().url(whole(key));
  }

 protected:
  [[nodiscard]] const cloud_client& client() const noexcept { return client_; }

  [[nodiscard]] bool refused(std::string_view key, diagnostics& where) const;

  [[nodiscard]] std::string whole(std::string_view key) const {
    return join_key(client_.api().root(), key);
  }

 private:
  void read(std::string key, std::optional<object_version> held, std::uint64_t offset,
            detail::range_target target, std::stop_token stop, diagnostics& where,
            detail::range_handler done) const;

  cloud_client client_;
};

static_assert(versioned_store<cloud_store> && streaming_store<cloud_store> &&
              creating_store<cloud_store>);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/cloud/store.ipp>
#endif
