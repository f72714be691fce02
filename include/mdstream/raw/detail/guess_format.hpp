#pragma once

/// Which format files have, by their names.

#include <mdstream/raw/detail/row_index.hpp>
#include <mdstream/raw/options.hpp>

#include <string_view>
#include <vector>

namespace mdstream::inline v0::raw::detail {

/// Empty: the name does not tell.
[[nodiscard]] std::string_view format_of_name(std::string_view key);

/// Sets `about.format`, and the delimiter of `.tsv`, by the names of the objects that `about.files`
/// chooses. Throws errc::not_found where it chooses none, and errc::invalid_argument where names
/// tell no format or several.
void guess_format(options& about, const std::vector<listed_object>& listing);

}  // namespace mdstream::inline v0::raw::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/raw/detail/impl/guess_format.ipp>
#endif
