#pragma once

#include <mdstream/cache/detail/disk_scan.hpp>
#include <mdstream/cache/detail/journal.hpp>
#include <mdstream/core/fnv.hpp>
#include <mdstream/format/index.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void scan_stream(const catalog_stream& stream,
                                 const std::vector<std::string>& elsewhere, std::uint8_t* flags) {
  const auto name_key = [](std::string_view name) { return fnv1a().add(name).value(); };
  std::vector<std::uint64_t> found;
  for_each_file(stream.directory, elsewhere, [&](std::string_view name, std::uint64_t) {
    // With nothing else there, which is how each dataset begins, no shard is looked at.
    if (name != index_file_name) found.push_back(name_key(name));
  });
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
