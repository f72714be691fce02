#pragma once

#include <mdstream/core/json/writer.hpp>
#include <mdstream/version.hpp>
#include <mdstream/writer/merge_index.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace mdstream::inline v0::detail {

/// Puts `directory/` in front of the name of each of the shard's files.
MDSTREAM_INLINE void move_files(json::object& shard, std::string_view directory) {
  for (json::member& each : shard) {
    const bool is_file = each.first == "raw_data" || each.first == "zip_data" ||
                         each.first == "raw_meta" || each.first == "zip_meta";
    if (!is_file || each.second.type() != json::kind::object) continue;
    json::object file = each.second.as<json::object>();
    for (json::member& about : file)
      if (about.first == "basename")
        about.second = std::string(directory) + '/' + about.second.as<std::string>("basename");
    each.second = std::move(file);
  }
}

/// Throws errc::schema_mismatch for a shard with other columns than `first` has: no loader takes
/// both as one dataset.
MDSTREAM_INLINE void require_columns(const sample_layout& first, const dataset_index& of,
                                     const diagnostics& where) {
  for (std::size_t i = 0; i < of.shards(); ++i) {
    if (of.layout(i) == first) continue;
    diagnostics about = where;
    about.shard = i;
    about.what = "shards of (" + of.layout(i).describe() + ") do not go into a dataset of (" +
                 first.describe() + ")";
    throw error(errc::schema_mismatch, std::move(about));
  }
}

MDSTREAM_INLINE std::string plain_url(std::string_view url) {
  std::string out(url);
  if (url_scheme(url).empty()) out = std::filesystem::absolute(out).lexically_normal().string();
  while (out.size() > 1 && out.ends_with('/')) out.pop_back();
  return out;
}

MDSTREAM_INLINE std::string directory_below(std::string_view root, std::string_view url) {
  const std::string above = plain_url(root), below = plain_url(url);
  const std::string prefix = above.ends_with('/') ? above : above + '/';
  if (below.size() > prefix.size() && below.starts_with(prefix)) return below.substr(prefix.size());
  throw error(errc::invalid_argument,
              diagnostics{.what = "the dataset does not lie below " + above +
                                  ", from where the merged index would name its shards",
                          .url = std::string(url)});
}

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0 {

MDSTREAM_INLINE std::string merge_indexes(std::span<const index_part> parts) {
  std::string out = "{\"version\": 2, \"shards\": [";
  bool first = true;
  std::optional<sample_layout> columns;
  for (const index_part& part : parts) {
    const auto index_of =
        dataset_index::parse(part.text, {.allow_unsafe_types = true, .where = part.where});
    if (!columns && index_of.shards() > 0) columns = index_of.layout(0);
    if (columns) detail::require_columns(*columns, index_of, part.where);
    if (unsafe_file_name(part.directory))
      throw error(errc::invalid_argument,
                  "\"" + part.directory + "\" is no directory below that of the merged index");
    const json::value index = json::parse(part.text, part.where);
    for (const json::value& each : index.get<json::array>("shards")) {
      json::object shard = each.as<json::object>();
      detail::move_files(shard, part.directory);
      if (!first) out += ", ";
      first = false;
      json::append_value(out, shard);
    }
  }
  return out + "]}";
}

}  // namespace mdstream::inline v0
