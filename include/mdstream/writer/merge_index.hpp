#pragma once

/// One index over datasets that lie in directories side by side, as Python's merge_index makes it.

#include <mdstream/format/index.hpp>
#include <mdstream/store/opened_store.hpp>
#include <mdstream/store/operations.hpp>

#include <algorithm>
#include <cstddef>
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

/// The text of the index of all shards of the parts, in their order. Keys stay in the order of the
/// parts' texts. Nothing but names is changed; the shards are not looked at.
/// Throws what `dataset_index::parse` throws for a part that is no index, errc::schema_mismatch
/// where columns differ, and errc::invalid_argument for a directory that leaves the merged one.
[[nodiscard]] std::string merge_indexes(std::span<const index_part> parts);

namespace detail {

template <object_store Store>
[[nodiscard]] index_part read_part(const Store& store, const std::string& key,
                                   std::string directory) {
  const std::vector<std::byte> bytes = read_all(store, key);
  return {std::move(directory), std::string(as_text(bytes)), {.url = store.url(key)}};
}

inline void publish_merged(const opened_store& out, std::span<const index_part> parts) {
  if (exists(out, index_file_name))
    throw error(errc::invalid_argument,
                diagnostics{.what = "there is an index already", .url = out.url(index_file_name)});
  const std::string text = merge_indexes(parts);
  publish(out, index_file_name, as_bytes(text));
}

/// A directory's URL in one form: without slashes at its end, of local paths the absolute one.
[[nodiscard]] std::string plain_url(std::string_view url);

/// The path of the directory at `url` seen from the one at `root`: "group-1/000".
/// Throws errc::invalid_argument where it does not lie below it.
[[nodiscard]] std::string directory_below(std::string_view root, std::string_view url);

}  // namespace detail

/// Merges the indexes of all directories below `out` into `out/index.json`, in the order of their
/// paths ("0", "1", "10", "2"). Returns how many; with none, nothing is written.
/// Throws errc::invalid_argument if `out` has an index already.
inline std::size_t merge_index(const opened_store& out) {
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
/// directory, which has to lie below `out`, in as many directories as you like: shards keep their
/// paths. Equal directories count once. Returns how many were merged; with none, nothing is
/// written. `open(url)` returns the store of a directory.
/// Throws errc::invalid_argument if `out` has an index already, or a directory does not lie below
/// it.
template <object_store Store, class Open>
std::size_t merge_index(const std::vector<std::string>& urls, const Store& out, Open open) {
  std::vector<std::string> seen;
  std::vector<index_part> parts;
  for (std::string url : urls) {
    if (url.ends_with("/" + std::string(index_file_name)))
      url.resize(url.size() - index_file_name.size());
    while (url.size() > 1 && url.ends_with('/')) url.pop_back();
    const object_store auto store = open(url);
    std::string directory = detail::directory_below(out.url(""), store.url(""));
    if (std::find(seen.begin(), seen.end(), directory) != seen.end()) continue;
    seen.push_back(directory);
    parts.push_back(detail::read_part(store, std::string(index_file_name), std::move(directory)));
  }
  if (!parts.empty()) detail::publish_merged(out, std::span<const index_part>(parts));
  return parts.size();
}
template <object_store Store>
std::size_t merge_index(const std::vector<std::string>& urls, const Store& out) {
  return merge_index(urls, out,
                     [](const std::string& url) { return Store::open(std::string_view(url)); });
}

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/writer/detail/impl/merge_index.ipp>
#endif
