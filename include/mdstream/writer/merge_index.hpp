#pragma once

/// One index over datasets that lie in directories side by side, as Python's merge_index makes it.

#include <mdstream/core/json/writer.hpp>
#include <mdstream/format/index.hpp>
#include <mdstream/store/operations.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// An index to be merged: its text, and the directory that its shards are in, seen from where the
/// merged index goes.
struct index_part {
  std::string directory{};  ///< "0", "group-1/000"
  std::string text{};       ///< of its index.json
  diagnostics where{};      ///< what errors say about it
};

namespace detail {

/// Puts `directory/` in front of the name of each of the shard's files.
inline void move_files(json::object& shard, std::string_view directory) {
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
inline void require_columns(const sample_layout& first, const dataset_index& of,
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

}  // namespace detail

/// The text of the index of all shards of the parts, in their order. Keys stay in the order of the
/// parts' texts. Nothing but names is changed; the shards are not looked at.
/// Throws what `dataset_index::parse` throws for a part that is no index, errc::schema_mismatch
/// where columns differ, and errc::invalid_argument for a directory that leaves the merged one.
[[nodiscard]] inline std::string merge_indexes(std::span<const index_part> parts) {
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

namespace detail {

template <object_store Store>
[[nodiscard]] index_part read_part(const Store& store, const std::string& key,
                                   std::string directory) {
  const std::vector<std::byte> bytes = read_all(store, key);
  return {std::move(directory), std::string(as_text(bytes)), {.url = store.url(key)}};
}

template <object_store Store>
void publish_merged(const Store& out, std::span<const index_part> parts) {
  if (exists(out, index_file_name))
    throw error(errc::invalid_argument,
                diagnostics{.what = "there is an index already", .url = out.url(index_file_name)});
  const std::string text = merge_indexes(parts);
  publish(out, index_file_name, as_bytes(text));
}

}  // namespace detail

/// Merges the indexes of all directories below `out` into `out/index.json`, in the order of their
/// paths ("0", "1", "10", "2"). Returns how many; with none, nothing is written.
/// Throws errc::invalid_argument if `out` has an index already.
template <object_store Store>
std::size_t merge_index(const Store& out) {
  std::vector<index_part> parts;
  const std::string tail = "/" + std::string(index_file_name);
  for (const object_info& each : store_list(out, "")) {
    if (!std::string_view(each.key).ends_with(tail)) continue;
    std::string directory = each.key.substr(0, each.key.size() - tail.size());
    parts.push_back(detail::read_part(out, each.key, std::move(directory)));
  }
  if (!parts.empty()) detail::publish_merged(out, std::span<const index_part>(parts));
  return parts.size();
}

/// Merges the indexes at `urls` into `out/index.json`. Each URL is that of an index or of its
/// directory, which has to lie directly in `out`: of its path the last part is kept. Equal URLs
/// count once. Returns how many were merged; with none, nothing is written.
/// Throws errc::invalid_argument if `out` has an index already.
template <object_store Store>
std::size_t merge_index(const std::vector<std::string>& urls, const Store& out) {
  std::vector<std::string> seen;
  std::vector<index_part> parts;
  for (std::string url : urls) {
    if (url.ends_with("/" + std::string(index_file_name)))
      url.resize(url.size() - index_file_name.size());
    while (url.size() > 1 && url.ends_with('/')) url.pop_back();
    if (std::find(seen.begin(), seen.end(), url) != seen.end()) continue;
    seen.push_back(url);
    const Store store = Store::open(std::string_view(url));
    std::string directory = url.substr(url.rfind('/') + 1);
    parts.push_back(detail::read_part(store, std::string(index_file_name), std::move(directory)));
  }
  if (!parts.empty()) detail::publish_merged(out, std::span<const index_part>(parts));
  return parts.size();
}

}  // namespace mdstream::inline v0
