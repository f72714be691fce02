#pragma once

#include <mdstream/checkpoint/detail/plain_files.hpp>
#include <mdstream/checkpoint/detail/tiling.hpp>
#include <mdstream/core/detail/pages.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>

namespace mdstream::inline v0::detail {

inline constexpr std::string_view index_suffix = ".safetensors.index.json";

MDSTREAM_INLINE plain_choice choose_plain_files(std::span<const object_info> listing) {
  std::vector<std::string> files, indexes;
  for (const object_info& each : listing) {
    if (each.key.find('/') != std::string::npos) continue;
    if (each.key == "model.safetensors") return {.files = {each.key}};
    if (each.key.ends_with(".safetensors")) files.push_back(each.key);
    if (each.key.ends_with(index_suffix)) indexes.push_back(each.key);
  }
  if (std::find(indexes.begin(), indexes.end(), "model.safetensors.index.json") != indexes.end())
    return {.index = "model.safetensors.index.json"};
  if (indexes.size() > 1)
    throw error(errc::invalid_argument, "there are several models, \"" + indexes[0] + "\" and \"" +
                                            indexes[1] + "\": name the index of the wanted one");
  if (indexes.size() == 1) return {.index = std::move(indexes[0])};
  if (files.empty()) throw error(errc::not_found, "there is no *.safetensors file");
  std::sort(files.begin(), files.end());
  return {.files = std::move(files)};
}

MDSTREAM_INLINE void require_indexed(
    const sharded_index& index, std::span<const std::pair<std::string, safetensors_head>> files,
    const diagnostics& where) {
  std::map<std::string_view, std::vector<std::string_view>> names;
  for (const auto& [file, head] : files) {
    auto& here = names[file];
    for (const safetensors_entry& each : head.tensors) here.emplace_back(each.name);
    std::sort(here.begin(), here.end());
  }
  for (const auto& [tensor, file] : index.files) {
    const auto& there = names[file];
    if (std::binary_search(there.begin(), there.end(), tensor)) continue;
    diagnostics about = where;
    about.what = "tensor \"" + tensor + "\" should be in \"" + file + "\", and is not";
    throw error(errc::corrupt, std::move(about));
  }
}

/// The head of a file, mostly by one request.
MDSTREAM_INLINE safetensors_head read_head_of(run_store& store, const std::string& name,
                                              std::uint64_t file_bytes) {
  constexpr std::uint64_t first = std::uint64_t{256} << 10;
  const diagnostics where{.url = store.url(name)};
  if (file_bytes < 8) (void)safetensors_head_bytes({}, file_bytes, where);  // which refuses it
  pages room(static_cast<std::size_t>(std::min(first, file_bytes)));
  store.read(name, 0, {room.data(), room.size()});
  const auto bytes = static_cast<std::size_t>(
      safetensors_head_bytes({room.data(), room.size()}, file_bytes, where));
  if (bytes > room.size()) {
    room = pages(bytes);
    store.read(name, 0, {room.data(), bytes});
  }
  return read_safetensors({room.data(), bytes}, file_bytes, where);
}

/// What `name` means. Where a place can not be listed, as a web server's, the usual names are
/// tried.
MDSTREAM_INLINE plain_choice find_plain_files(run_store& store, std::string_view name,
                                              std::map<std::string, std::uint64_t>& sizes) {
  if (name.ends_with(index_suffix)) return {.index = std::string(name)};
  if (!name.empty()) return {.files = {std::string(name)}};
  std::vector<object_info> listing;
  try {
    listing = store.list("");
  } catch (const error& e) {
    if (e.code() != errc::unsupported) throw;
    for (const char* each : {"model.safetensors", "model.safetensors.index.json"})
      if (const auto bytes = store.size(each)) listing.push_back({.key = each, .bytes = *bytes});
  }
  for (const object_info& each : listing) sizes[each.key] = each.bytes;
  try {
    return choose_plain_files(listing);
  } catch (const error& e) {
    throw error(e.code(), {.what = e.where().what, .url = store.url("")});
  }
}

MDSTREAM_INLINE plain_files open_plain_files(run_store& store, std::string_view name) {
  constexpr std::size_t requests_at_once = 8;
  std::map<std::string, std::uint64_t> sizes;
  plain_choice chosen = find_plain_files(store, name, sizes);
  std::optional<sharded_index> index;
  if (!chosen.index.empty()) {
    const auto text = store.find(chosen.index);
    const diagnostics where{.url = store.url(chosen.index)};
    if (!text) throw error(errc::not_found, {.what = "there is no such index", .url = where.url});
    index = read_sharded_index(*text, where);
    chosen.files = index->file_names();
  }
  std::vector<std::pair<std::string, safetensors_head>> heads(chosen.files.size());
  in_parallel(heads.size(), requests_at_once, [&](std::size_t i) {
    const std::string& file = chosen.files[i];
    const auto listed = sizes.find(file);
    const auto bytes = listed != sizes.end() ? std::optional(listed->second) : store.size(file);
    if (!bytes)
      throw error(errc::not_found,
                  {.what = "a file of the model is missing", .url = store.url(file)});
    heads[i] = {file, read_head_of(store, file, *bytes)};
  });
  if (index) require_indexed(*index, heads, {.url = store.url(chosen.index)});
  plain_files out;
  try {
    out.layout = layout_of_files(heads);
  } catch (const error& e) {
    diagnostics about = e.where();
    about.url = store.url(about.url);
    throw error(e.code(), std::move(about));
  }
  std::map<std::string, std::string> metadata;  // of equal keys that of the first file
  for (auto& [file, head] : heads)
    for (auto& [key, value] : head.metadata)
      if (key != "DCP_SHARDING_INFO") metadata.try_emplace(std::move(key), std::move(value));
  out.metadata.assign(metadata.begin(), metadata.end());
  return out;
}

}  // namespace mdstream::inline v0::detail
