#pragma once

/// A part of a store as a store of its own.

#include <mdstream/store/detail/versions.hpp>
#include <mdstream/store/store.hpp>

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// The objects of an asynchronous store whose keys begin with `prefix` and a slash, seen without
/// them.
template <async_store S>
class prefixed {
 public:
  prefixed(S inner, std::string prefix) : inner_(std::move(inner)), prefix_(std::move(prefix)) {
    while (prefix_.ends_with('/')) prefix_.pop_back();
    if (!prefix_.empty()) {
      require_safe_key(prefix_, inner_.url(""));
      prefix_ += '/';
    }
  }

  void async_size(std::string key, std::stop_token stop, diagnostics& where,
                  store_handler<std::uint64_t> done) const {
    inner_.async_size(prefix_ + key, std::move(stop), where, std::move(done));
  }
  void async_read(std::string key, std::uint64_t offset, mutable_bytes into, std::stop_token stop,
                  diagnostics& where, store_handler<std::size_t> done) const {
    inner_.async_read(prefix_ + key, offset, into, std::move(stop), where, std::move(done));
  }
  void async_version(std::string key, std::stop_token stop, diagnostics& where,
                     store_handler<object_version> done) const {
    detail::async_version_of(inner_, prefix_ + key, std::move(stop), where, std::move(done));
  }
  void async_read_version(std::string key, const object_version& held, std::uint64_t offset,
                          mutable_bytes into, std::stop_token stop, diagnostics& where,
                          store_handler<std::size_t> done) const {
    detail::async_read_version_of(inner_, prefix_ + key, held, offset, into, std::move(stop), where,
                                  std::move(done));
  }
  [[nodiscard]] bool streams() const { return can_stream(inner_); }
  void async_stream(std::string key, std::optional<object_version> held, std::uint64_t offset,
                    std::uint64_t count, byte_taker take, std::stop_token stop, diagnostics& where,
                    store_handler<object_version> done) const
    requires streaming_store<S>
  {
    inner_.async_stream(prefix_ + key, std::move(held), offset, count, std::move(take),
                        std::move(stop), where, std::move(done));
  }
  void async_write(std::string key, bytes_view bytes, std::stop_token stop, diagnostics& where,
                   store_handler<> done) const {
    inner_.async_write(prefix_ + key, bytes, std::move(stop), where, std::move(done));
  }
  [[nodiscard]] bool creates() const { return can_create(inner_); }
  void async_create(std::string key, bytes_view bytes, std::stop_token stop, diagnostics& where,
                    store_handler<bool> done) const
    requires creating_store<S>
  {
    inner_.async_create(prefix_ + key, bytes, std::move(stop), where, std::move(done));
  }
  void async_remove(std::string key, std::stop_token stop, diagnostics& where,
                    store_handler<> done) const {
    inner_.async_remove(prefix_ + key, std::move(stop), where, std::move(done));
  }
  void async_list(std::string prefix, std::stop_token stop, diagnostics& where,
                  store_handler<std::vector<object_info>> done) const {
    inner_.async_list(prefix_ + prefix, std::move(stop), where,
                      [cut = prefix_.size(), done = std::move(done)](
                          std::error_code code, std::vector<object_info> found) mutable {
                        for (object_info& each : found) each.key.erase(0, cut);
                        done(code, std::move(found));
                      });
  }
  [[nodiscard]] std::string url(std::string_view key) const {
    std::string inner_key = prefix_ + std::string(key);
    while (inner_key.ends_with('/')) inner_key.pop_back();
    return inner_.url(inner_key);
  }

 private:
  S inner_;
  std::string prefix_;
};

}  // namespace mdstream::inline v0
