#pragma once

/// What lies in the directories of a cache's streams.

#include <mdstream/cache/detail/catalog.hpp>
#include <mdstream/core/detail/directory_reader.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// Calls `visit(relative name, bytes)` for every regular file beneath `directory`, but not for what
/// is in `.mdstream` or in one of `elsewhere`, sorted, directories that are counted by themselves.
/// Directories that cannot be read count as empty.
template <class Visit>
void for_each_file(const std::string& directory, const std::vector<std::string>& elsewhere,
                   Visit visit) {
  std::vector<std::string> directories{directory};
  while (!directories.empty()) {
    const std::string within = std::move(directories.back());
    directories.pop_back();
    directory_reader entries(within);
    while (const char* const entry = entries.next()) {
      const std::string_view name = entry;
      std::string path = within + '/' + entry;
      struct stat info{};
      if (::lstat(path.c_str(), &info) != 0) continue;
      if (S_ISDIR(info.st_mode)) {
        if (name != ".mdstream" && !std::binary_search(elsewhere.begin(), elsewhere.end(), path))
          directories.push_back(std::move(path));
        continue;
      }
      if (S_ISLNK(info.st_mode) && ::stat(path.c_str(), &info) != 0) continue;
      if (S_ISREG(info.st_mode) && !name.starts_with(".mdstream-"))  // else in the making
        visit(std::string_view(path).substr(directory.size() + 1),
              static_cast<std::uint64_t>(info.st_size));
    }
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
