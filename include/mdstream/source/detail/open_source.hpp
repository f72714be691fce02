#pragma once

/// Opens foreign files as a dataset: finds their row index, or makes it.

#include <mdstream/raw/detail/row_index.hpp>
#include <mdstream/source/detail/source_request.hpp>

#include <optional>

namespace mdstream::inline v0::detail {

using format_opener = raw::source_format (*)(raw::options);

/// Whether an index that was made with `made` options is one of what is asked for: columns and
/// format may have been left open.
[[nodiscard]] bool answers(const raw::options& made, const raw::options& asked);

/// The row index that lies with the files is taken as it is; else one is made, or brought up to
/// date, and kept in the stream's directory. One process of a machine does that while others wait.
///
/// Throws as `raw::build_index` does. Where the files cannot be asked for, an index that was kept
/// serves, and `warn` is told. Blocks: not for a thread of the store's runtime. Memory: as
/// `raw::build_index`.
[[nodiscard]] opened_source open_source(source_request request, format_opener open);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/source/detail/impl/open_source.ipp>
#endif
