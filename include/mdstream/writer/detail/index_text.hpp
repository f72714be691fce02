#pragma once

/// The text of an index, taken apart into its shards' entries and put together.

#include <mdstream/core/json/reader.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::detail {

/// The texts of the entries of an index.
[[nodiscard]] inline std::vector<std::string> split_index_entries(std::string_view text,
                                                                  const diagnostics& where) {
  std::vector<std::string> out;
  json::reader in(text, where);
  in.begin_object();
  while (const auto key = in.next_key()) {
    if (*key != "shards") {
      in.skip();
      continue;
    }
    in.begin_array();
    while (in.next_item()) out.emplace_back(in.skip());
  }
  in.finish();
  return out;
}

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
