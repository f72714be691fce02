#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/format/detail/shard_config_json.hpp>
#include <mdstream/version.hpp>

#include <cstddef>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE json::object common_config(shard_format format, const std::string& compression,
                                           const std::vector<std::string>& hashes,
                                           std::uint64_t size_limit) {
  json::array names;
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    if (i > 0 && hashes[i] <= hashes[i - 1])
      throw error(errc::invalid_argument, "hashes must be unique and in sorted order");
    names.emplace_back(hashes[i]);
  }
  return {{"compression", compression.empty() ? json::value() : compression},
          {"format", mdstream::to_string(format)},
          {"hashes", std::move(names)},
          {"size_limit", size_limit == 0 ? json::value() : json::value(size_limit)},
          {"version", 2}};
}

MDSTREAM_INLINE json::object mds_config(const sample_layout& layout, const std::string& compression,
                                        const std::vector<std::string>& hashes,
                                        std::uint64_t size_limit) {
  json::array names;
  json::array encodings;
  json::array sizes;
  for (const column_layout& each : layout.columns()) {
    names.emplace_back(each.name);
    encodings.emplace_back(each.encoding_text);
    sizes.push_back(each.size ? json::value(*each.size) : json::value());
  }
  json::object out = common_config(shard_format::mds, compression, hashes, size_limit);
  out.emplace_back("column_encodings", std::move(encodings));
  out.emplace_back("column_names", std::move(names));
  out.emplace_back("column_sizes", std::move(sizes));
  return out;
}

}  // namespace mdstream::inline v0::detail
