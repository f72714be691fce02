#pragma once

#include <mdstream/cache/detail/disk_scan.hpp>
#include <mdstream/cache/detail/settled_index.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/version.hpp>

#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE settlement settle(const held_dataset& held, const offered_dataset& offered) {
  const bool same_index = held.version == offered.version;
  if (!held.origin) {
    if (!held.has_files) return settlement::replace;
    const bool may_be = same_index || held.version == 0;
    return may_be && (offered.is_hashed || offered.same_bytes) ? settlement::adopt
                                                               : settlement::refuse;
  }
  const bool same_version = held.origin->version == offered.version;
  if (held.origin->remote == offered.remote)
    return same_version && offered.same_bytes && (same_index || held.version == 0)
               ? settlement::hold
               : settlement::replace;
  if (same_version && offered.is_hashed) return settlement::hold;  // it moved, or has a mirror
  return held.has_files ? settlement::refuse : settlement::replace;
}

MDSTREAM_INLINE bool is_hashed(const dataset_index& index) {
  for (std::size_t i = 0; i < index.shards(); i += i < 1000 ? 1 : 1000) {
    const std::optional<file_info> zip = index.zip(i);
    if ((zip ? *zip : index.raw(i)).hashes.empty()) return false;
  }
  return true;
}

using files_by_name = std::unordered_map<std::string, file_info>;

/// The files in a directory but its index, sorted.
MDSTREAM_INLINE std::vector<std::string> files_in(const std::string& directory) {
  std::vector<std::string> found;
  for_each_file(directory, {}, [&](std::string_view name, std::uint64_t) {
    if (name != index_file_name) found.emplace_back(name);
  });
  std::ranges::sort(found);
  return found;
}

/// Those of `names`, sorted, that the index has. The directory of a dataset that is opened for the
/// first time is empty: then its index, perhaps of 100,000 shards, is not walked.
MDSTREAM_INLINE files_by_name named_in(const dataset_index* index,
                                       const std::vector<std::string>& names) {
  files_by_name all;
  if (index == nullptr || names.empty()) return all;
  for (std::size_t shard = 0; shard < index->shards(); ++shard)
    for (const file_role role :
         {file_role::raw_data, file_role::raw_meta, file_role::zip_data, file_role::zip_meta})
      if (std::optional<file_info> file = index->file(shard, role);
          file && std::ranges::binary_search(names, file->name)) {
        std::string name = file->name;
        all.emplace(std::move(name), *std::move(file));
      }
  return all;
}

/// Whether two entries are of the same bytes: a hash says so.
MDSTREAM_INLINE bool is_same_file(const file_info& a, const file_info& b) {
  return a.bytes == b.bytes && std::ranges::any_of(a.hashes, [&](const file_hash& each) {
           const std::string* const other = b.hash(each.name);
           return other != nullptr && *other == each.hex;
         });
}

MDSTREAM_INLINE bool holds_files(const std::string& directory, const dataset_index* before,
                                 const dataset_index& now) {
  const std::vector<std::string> names = files_in(directory);
  return !named_in(&now, names).empty() || !named_in(before, names).empty();
}

MDSTREAM_INLINE dropped_files drop_other_versions(const std::string& directory,
                                                  const dataset_index* before,
                                                  const dataset_index& now) {
  const std::vector<std::string> names = files_in(directory);
  const files_by_name old = named_in(before, names), present = named_in(&now, names);
  dropped_files count;
  for (const std::string& name : names) {
    const auto is = present.find(name);
    const auto was = old.find(name);
    if (is == present.end() && was == old.end()) continue;  // none of a dataset's
    const bool stays = is != present.end() && !is->second.hashes.empty() &&
                       (was == old.end() || is_same_file(was->second, is->second));
    if (stays) {
      ++count.kept;
      continue;
    }
    ++count.dropped;
    const std::string path = directory + '/' + name;
    if (::unlink(path.c_str()) != 0 && errno != ENOENT)
      throw system_failure(errno, "cannot delete a shard of another version", path);
  }
  return count;
}

}  // namespace mdstream::inline v0::detail
