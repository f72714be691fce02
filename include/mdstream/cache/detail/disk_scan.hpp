#pragma once

/// What lies in the directories of a cache's streams.

#include <mdstream/cache/detail/catalog.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace mdstream::inline v0::detail {

/// Calls `visit(relative name, bytes)` for every regular file beneath `directory`, but not for what
/// is in `.mdstream` or in one of `elsewhere`, sorted, directories that are counted by themselves.
/// Directories that cannot be read count as empty.
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
void scan_stream(const catalog_stream& stream, const std::vector<std::string>& elsewhere,
                 std::uint8_t* flags);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/cache/detail/impl/disk_scan.ipp>
#endif
