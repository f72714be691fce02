#pragma once

/// Which objects of a store are a source of foreign files.

#include <mdstream/raw/detail/row_index.hpp>
#include <mdstream/store/opened_store.hpp>

#include <stop_token>
#include <string>
#include <vector>

namespace mdstream::inline v0::raw {

/// The objects that `pattern` chooses (`options::files`), and those that may lie beside them, by
/// key. Of a store that lists nothing, as a web server, the keys that a pattern without `*` and `?`
/// stands for, in which case nothing is known of their bytes. Tags are those of the listing, where
/// it tells them: see `find_versions`.
[[nodiscard]] std::vector<detail::listed_object> list_source(const any_async_store& store,
                                                             const std::string& pattern,
                                                             const std::stop_token& stop = {});

/// Asks for the size and tag of each object whose tag is not known: all reads hold them. An `.idx`
/// that is not there is left out. One request for each such object, `jobs` at a time.
void find_versions(const any_async_store& store, std::vector<detail::listed_object>& listing,
                   unsigned jobs, const std::stop_token& stop = {});

}  // namespace mdstream::inline v0::raw

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/source/detail/impl/list_source.ipp>
#endif
