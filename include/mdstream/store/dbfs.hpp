#pragma once

/// Unity Catalog's volumes and the file system of Databricks. Needs libcurl: link mdstream::dbfs.

#if !__has_include(<curl/curl.h>)
#error \
    "mdstream/store/dbfs.hpp needs <curl/curl.h>: install libcurl's headers and link mdstream::dbfs"
#endif

#include <mdstream/async/runtime.hpp>
#include <mdstream/store/dbfs/options.hpp>
#include <mdstream/store/detail/cloud/store.hpp>
#include <mdstream/store/detail/dbfs/files.hpp>
#include <mdstream/store/opened_store.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::detail::dbfs {

/// The file system of a workspace, whose reads are several calls.
class file_system {
 public:
  file_system(runtime& threads, const std::shared_ptr<const dbfs_api>& api,
              const net::http_client_options& http, const net::any_access& keys)
      : api_(api), client_(threads, api, http, keys), calls_(client_) {}

  void async_size(std::string key, std::stop_token stop, diagnostics& where,
                  store_handler<std::uint64_t> done) const;
  void async_version(std::string key, std::stop_token stop, diagnostics& where,
                     store_handler<object_version> done) const;
  void async_read(std::string key, std::uint64_t offset, mutable_bytes into, std::stop_token stop,
                  diagnostics& where, store_handler<std::size_t> done) const;
  void async_read_version(std::string key, object_version held, std::uint64_t offset,
                          mutable_bytes into, std::stop_token stop, diagnostics& where,
                          store_handler<std::size_t> done) const;
  void async_write(std::string key, bytes_view bytes, std::stop_token stop, diagnostics& where,
                   store_handler<> done) const;
  void async_list(std::string prefix, std::stop_token stop, diagnostics& where,
                  store_handler<std::vector<object_info>> done) const;
  void async_remove(std::string key, std::stop_token stop, diagnostics& where,
                    store_handler<> done) const;
  [[nodiscard]] std::string url(std::string_view key) const { return calls_.url(key); }

 private:
  void read(std::string key, std::optional<object_version> held, std::uint64_t offset,
            mutable_bytes into, std::stop_token stop, diagnostics& where,
            store_handler<std::size_t> done) const;

  std::shared_ptr<const dbfs_api> api_;
  cloud_client client_;
  cloud_store calls_;
};

}  // namespace mdstream::inline v0::detail::dbfs

namespace mdstream::inline v0::store {

/// Files beneath `dbfs:/Volumes/<catalog>/<schema>/<volume>/<path>` (by the Files API) or
/// `dbfs:/<path>` (by the DBFS API). A query of the URL may have `endpoint`, the workspace, and
/// `profile`. Thread-safe; copies share connections and keys. The runtime has to outlive the calls.
///
/// Requests to a volume: one for `size`, `read` (ranged GET), `write` (5 GiB at most; three where
/// the directory has to be made) and `remove`; for a listing one for each page of each directory.
///
/// Requests to the file system: one for `size` and `remove`, for a listing one for each directory;
/// for a read one for each MiB, and two more where that is several; for a write two up to 1 MiB,
/// else one for each MiB and four more, and two more where a file is replaced.
class dbfs : public any_async_store {
 public:
  static constexpr std::string_view schemes = "dbfs:/";

  dbfs(runtime& threads, std::string_view url, const dbfs_options& options = {});

  [[nodiscard]] static bool serves(std::string_view url) {
    return net::detail::to_lower(url_scheme(url)) == "dbfs";
  }
  [[nodiscard]] static dbfs open(std::string_view url, runtime& threads,
                                 warning_function warn = &warn_on_stderr);

 private:
  [[nodiscard]] static any_async_store make(runtime& threads, const dbfs_settings& settings,
                                            const dbfs_options& options);
};

static_assert(versioned_store<dbfs> && openable_store<dbfs>);

}  // namespace mdstream::inline v0::store

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/dbfs.ipp>
#endif
