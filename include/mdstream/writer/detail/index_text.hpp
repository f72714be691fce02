#pragma once

/// The text of an index, taken apart into its shards' entries and put together.

#include <mdstream/core/error.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::detail {

/// The texts of the entries of an index.
[[nodiscard]] std::vector<std::string> split_index_entries(std::string_view text,
                                                           const diagnostics& where);

/// Adds the entries, separated as Python separates them.
template <class Entries>
void append_entries(std::string& out, const Entries& entries, bool& first) {
  for (const std::string& entry : entries) {
    if (!first) out += ", ";
    first = false;
    out += entry;
  }
}

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/writer/detail/impl/index_text.ipp>
#endif
