#pragma once

#include <mdstream/cache/detail/map_range.hpp>
#include <mdstream/core/detail/mapped_files.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/store/detail/file.hpp>
#include <mdstream/version.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <cstddef>
#include <memory>
#include <utility>

namespace mdstream::inline v0::detail {

/// A file that has a shard, open.
struct opened_range {
  object_range range{};
  std::string path{};
  unique_fd fd{};
};

MDSTREAM_INLINE std::string file_of_range(const std::string& directory, const shard_maker& maker,
                                          std::uint32_t shard) {
  return directory + '/' + maker.begin(shard)->next().at(0).key;
}

MDSTREAM_INLINE opened_range open_range(const std::string& directory, const shard_maker& maker,
                                        std::uint32_t shard) {
  const std::unique_ptr<shard_making> making = maker.begin(shard);
  opened_range out{.range = making->next().at(0)};
  out.path = directory + '/' + out.range.key;
  out.fd = open_file(out.path, O_RDONLY);
  const file_state now(out.fd.get(), out.path);
  try {
    making->check(out.range, {.bytes = now.bytes(), .tag = now.tag()});
  } catch (const error& e) {
    diagnostics where = e.where();
    where.url = out.path;
    throw error(e.code(), std::move(where));
  }
  return out;
}

MDSTREAM_INLINE bool has_range(const std::string& directory, const shard_maker& maker,
                               std::uint32_t shard) noexcept {
  try {
    (void)open_range(directory, maker, shard);
    return true;
  } catch (...) {
    return false;
  }
}

MDSTREAM_INLINE file_mapping map_range(const std::string& directory, const shard_maker& maker,
                                       std::uint32_t shard) {
  const opened_range from = open_range(directory, maker, shard);
  file_mapping out = file_mapping::of_range(from.fd.get(), from.range.offset,
                                            static_cast<std::size_t>(from.range.bytes), from.path);
  // posix_fadvise(2) reads no more than one read ahead has.
  constexpr int populate_read = 22;  // MADV_POPULATE_READ, of Linux 5.14, which older headers lack
  const std::size_t before =
      static_cast<std::size_t>(from.range.offset) % file_mapping::whole_pages(1);
  void* const begin = const_cast<std::byte*>(out.bytes().data()) - before;
  if (::madvise(begin, before + out.bytes().size(), populate_read) != 0)
    read_mapped([&] { touch_pages(out.bytes()); });
  return out;
}

}  // namespace mdstream::inline v0::detail
