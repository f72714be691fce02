#pragma once

/// Who lets requests into a workspace of Databricks. Needs libcurl: link mdstream::dbfs.

#include <mdstream/async/runtime.hpp>
#include <mdstream/net/detail/token_bounds.hpp>
#include <mdstream/store/dbfs/options.hpp>

namespace mdstream::inline v0::detail::dbfs {

[[nodiscard]] net::detail::token_bounds bounds(const store::dbfs_settings& settings);

}  // namespace mdstream::inline v0::detail::dbfs

namespace mdstream::inline v0::detail {

/// A personal access token, or else tokens of a service principal (OAuth machine-to-machine), asked
/// for anew before they expire. Nobody after them.
[[nodiscard]] net::any_access default_dbfs_access(runtime& threads,
                                                  const store::dbfs_settings& settings,
                                                  const store::dbfs_options& options);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/dbfs/keys.ipp>
#endif
