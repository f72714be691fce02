#pragma once

/// Unity Catalog's volumes and the file system of Databricks. Needs libcurl: link mdstream::dbfs.

#if !__has_include(<curl/curl.h>)
#error \
    "mdstream/store/dbfs.hpp needs <curl/curl.h>: install libcurl's headers and link mdstream::dbfs"
#endif

#include <mdstream/async/runtime.hpp>
#include <mdstream/core/warning.hpp>
#include <mdstream/store/any_async_store.hpp>
#include <mdstream/store/dbfs/options.hpp>

#include <string_view>

namespace mdstream::inline v0::store {

/// Reads and writes files under `dbfs:/Volumes/<catalog>/<schema>/<volume>/<path>` (Files API) or
/// `dbfs:/<path>` (DBFS API). A query of the URL may have `endpoint`, the workspace, and
/// `profile`. Thread-safe; copies share connections and credentials. The runtime has to outlive the
/// calls.
///
/// Requests to a volume: one for `size`, `read` (ranged GET), `write` (three if the directory does
/// not exist; above 5 GiB two for each part and two more) and `remove`; for a listing one for each
/// page of each directory.
///
/// Requests to the file system: one for `size` and `remove`, for a listing one for each directory;
/// for a read one for each MiB, and two more if there are several; for a write two up to 1 MiB,
/// otherwise one for each MiB and four more, and three more if a file is replaced.
///
/// Errors: refused credentials are `errc::permission_denied`, and the error names their source.
///
///     mds::store::dbfs volume(threads, "dbfs:/Volumes/main/default/data/c4");
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

static_assert(openable_store<dbfs>);

}  // namespace mdstream::inline v0::store

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/dbfs.ipp>
#endif
