#pragma once

#include <mdstream/store/dbfs.hpp>
#include <mdstream/store/detail/dbfs/keys.hpp>
#include <mdstream/store/detail/dbfs/read.hpp>
#include <mdstream/store/detail/dbfs/volumes.hpp>
#include <mdstream/version.hpp>

#include <fcntl.h>
#include <utility>

namespace mdstream::inline v0::detail::dbfs {

MDSTREAM_INLINE void file_system::async_size(std::string key, std::stop_token stop,
                                             diagnostics& where,
                                             store_handler<std::uint64_t> done) const {
  calls_.async_size(std::move(key), std::move(stop), where, std::move(done));
}

MDSTREAM_INLINE void file_system::async_version(std::string key, std::stop_token stop,
                                                diagnostics& where,
                                                store_handler<object_version> done) const {
  calls_.async_version(std::move(key), std::move(stop), where, std::move(done));
}

MDSTREAM_INLINE void file_system::async_read(std::string key, std::uint64_t offset,
                                             mutable_bytes into, std::stop_token stop,
                                             diagnostics& where,
                                             store_handler<std::size_t> done) const {
  read(std::move(key), std::nullopt, offset, into, std::move(stop), where, std::move(done));
}

MDSTREAM_INLINE void file_system::async_read_version(std::string key, object_version held,
                                                     std::uint64_t offset, mutable_bytes into,
                                                     std::stop_token stop, diagnostics& where,
                                                     store_handler<std::size_t> done) const {
  read(std::move(key), std::move(held), offset, into, std::move(stop), where, std::move(done));
}

MDSTREAM_INLINE void file_system::async_write(std::string key, bytes_view bytes,
                                              std::stop_token stop, diagnostics& where,
                                              store_handler<> done) const {
  calls_.async_write(std::move(key), bytes, std::move(stop), where, std::move(done));
}

MDSTREAM_INLINE void file_system::async_list(std::string prefix, std::stop_token stop,
                                             diagnostics& where,
                                             store_handler<std::vector<object_info>> done) const {
  calls_.async_list(std::move(prefix), std::move(stop), where, std::move(done));
}

MDSTREAM_INLINE void file_system::async_remove(std::string key, std::stop_token stop,
                                               diagnostics& where, store_handler<> done) const {
  calls_.async_remove(std::move(key), std::move(stop), where, std::move(done));
}

MDSTREAM_INLINE void file_system::read(std::string key, std::optional<object_version> held,
                                       std::uint64_t offset, mutable_bytes into,
                                       std::stop_token stop, diagnostics& where,
                                       store_handler<std::size_t> done) const {
  if (into.empty() || !key_is_safe(key)) {  // which the size's question tells
    return calls_.async_size(
        std::move(key), std::move(stop), where,
        [done = std::move(done)](std::error_code code, std::uint64_t) mutable { done(code, 0); });
  }
  std::make_shared<dbfs_read>(client_, *api_, join_key(api_->root(), key), offset, into,
                              std::move(held), std::move(stop), where, std::move(done))
      ->begin();
}

}  // namespace mdstream::inline v0::detail::dbfs

namespace mdstream::inline v0::store {

MDSTREAM_INLINE dbfs::dbfs(runtime& threads, std::string_view url, const dbfs_options& options)
    : any_async_store(make(threads, resolve_dbfs(url, options), options)) {}

MDSTREAM_INLINE dbfs dbfs::open(std::string_view url, runtime& threads, warning_function warn) {
  dbfs_options options;
  options.warn = std::move(warn);
  return {threads, url, options};
}

MDSTREAM_INLINE any_async_store dbfs::make(runtime& threads, const dbfs_settings& settings,
                                           const dbfs_options& options) {
  const net::any_access keys = net::detail::bounded_access(
      options.keys ? *options.keys : detail::default_dbfs_access(threads, settings, options),
      detail::dbfs::bounds(settings));
  if (settings.volume.empty()) {
    return any_async_store(detail::dbfs::file_system(
        threads, std::make_shared<detail::dbfs_api>(settings, options.part_retry), options.http,
        keys));
  }
  return any_async_store(detail::cloud_store(
      threads, std::make_shared<detail::volumes_api>(settings, options.part_retry), options.http,
      keys));
}

}  // namespace mdstream::inline v0::store
