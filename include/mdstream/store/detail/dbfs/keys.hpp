#pragma once

/// What lets requests into a workspace of Databricks. Needs libcurl: link mdstream::dbfs.

#include <mdstream/async/runtime.hpp>
#include <mdstream/net/detail/token_bounds.hpp>
#include <mdstream/store/dbfs/options.hpp>

#include <vector>

namespace mdstream::inline v0::detail::dbfs {

[[nodiscard]] net::detail::token_bounds bounds(const store::dbfs_settings& settings);

/// The ways to a token, in the order of Databricks' SDKs; or the one that `auth_type` names, which
/// then fails where it is not set up. Azure's are asked for workspaces of Azure alone.
[[nodiscard]] std::vector<net::any_access> ways_in(runtime& threads,
                                                   const store::dbfs_settings& settings,
                                                   const store::dbfs_options& options);

}  // namespace mdstream::inline v0::detail::dbfs

namespace mdstream::inline v0::detail {

/// The first of `ways_in` that has a token, asked for anew before it expires. Nobody after them.
[[nodiscard]] net::any_access default_dbfs_access(runtime& threads,
                                                  const store::dbfs_settings& settings,
                                                  const store::dbfs_options& options);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/dbfs/keys.ipp>
#endif
