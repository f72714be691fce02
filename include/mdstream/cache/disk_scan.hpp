#pragma once

/// What lies in the directories of a cache's streams.

#include <mdstream/cache/catalog.hpp>
#include <mdstream/cache/journal.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/core/fnv.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// Calls `visit(relative name, bytes)` for every regular file beneath `directory`, but not for what
/// is in `.mdstream` or in one of `elsewhere`, sorted, directories that are counted by themselves.
/// Directories that can not be read count as empty.
template <class Visit>
void for_each_file(const std::string& directory, const std::vector<std::string>& elsewhere,
                   Visit visit) {
  namespace fs = std::filesystem;
  std::error_code failure;
  fs::recursive_directory_iterator at(directory, fs::directory_options::skip_permission_denied,
                                      failure);
  for (; !failure && at != fs::recursive_directory_iterator(); at.increment(failure)) {
    const std::string& path = at->path().native();
    std::error_code ignored;
    if (at->is_directory(ignored)) {
      if (at->path().filename() == ".mdstream" ||
          std::binary_search(elsewhere.begin(), elsewhere.end(), path)) {
        at.disable_recursion_pending();
      }
      continue;
    }
    if (!at->is_regular_file(ignored) || at->path().filename().native().starts_with(".mdstream-")) {
      continue;  // in the making
    }
    const std::uint64_t bytes = at->file_size(ignored);
    if (!ignored) visit(std::string_view(path).substr(directory.size() + 1), bytes);
  }
}

/// The residency flags of every shard of a stream, from the names of the files that are there.
/// Memory grows with the files found, not with the shards of the dataset.
inline void scan_stream(const catalog_stream& stream, const std::vector<std::string>& elsewhere,
                        std::uint8_t* flags) {
  const auto name_key = [](std::string_view name) { return fnv1a().add(name).value(); };
  std::vector<std::uint64_t> found;
  for_each_file(stream.directory, elsewhere,
                [&](std::string_view name, std::uint64_t) { found.push_back(name_key(name)); });
  std::sort(found.begin(), found.end());
  const auto there = [&](std::string_view name) {
    return !name.empty() && std::binary_search(found.begin(), found.end(), name_key(name));
  };
  std::fill_n(flags, stream.shards, std::uint8_t{absent});
  if (found.empty()) return;
  for (std::uint32_t shard = 0; shard < stream.shards; ++shard) {
    const shard_files files = stream.files(shard);
    // Any file of a shard takes place, so any makes it one that can be evicted.
    if (there(files.raw_name) || (files.meta && there(files.meta->raw_name)))
      flags[shard] |= raw_there;
    if (there(files.zip_name) || (files.meta && there(files.meta->zip_name)))
      flags[shard] |= zip_there;
  }
}

}  // namespace mdstream::inline v0::detail
