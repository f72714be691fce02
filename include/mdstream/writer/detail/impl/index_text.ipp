#pragma once

#include <mdstream/core/json/reader.hpp>
#include <mdstream/version.hpp>
#include <mdstream/writer/detail/index_text.hpp>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::vector<std::string> split_index_entries(std::string_view text,
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

}  // namespace mdstream::inline v0::detail
