#pragma once

#include <mdstream/cache/detail/catalog.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE bool shard_files::can_check() const noexcept {
  return (is_made || !raw_digest.empty()) && (!meta || !meta->raw_digest.empty());
}

MDSTREAM_INLINE shard_catalog::shard_catalog(std::string_view root,
                                             std::vector<catalog_stream> streams,
                                             const boot_identity& boot)
    : streams_(std::move(streams)), boot_(boot) {
  for (catalog_stream& stream : streams_) {
    stream.first = numbers_.shards();
    stream.key = key_of(relative_to(root, stream.directory));
    numbers_.add_stream(stream.shards);
    for (std::uint32_t i = 0; stream.has_remote && i < stream.shards; ++i) {
      const std::uint64_t bytes = footprint(stream, i);
      largest_ = std::max(largest_, bytes);
      bytes_ += bytes;
    }
  }
}

MDSTREAM_INLINE shard_files shard_catalog::files(std::uint32_t shard) const {
  const catalog_stream& stream = stream_of(shard);
  return stream.files(shard - stream.first);
}

MDSTREAM_INLINE std::uint64_t shard_catalog::footprint(std::uint32_t shard) const {
  const catalog_stream& stream = stream_of(shard);
  return footprint(stream, shard - stream.first);
}

MDSTREAM_INLINE std::uint64_t shard_catalog::footprint(const catalog_stream& stream,
                                                       std::uint32_t local) {
  const shard_sizes sizes = stream.sizes(local);
  return sizes.raw + (stream.keep_zip ? sizes.zip : 0);
}

MDSTREAM_INLINE std::uint64_t shard_catalog::most_bytes_of(std::uint64_t shards) const {
  std::vector<std::uint64_t> all;
  for (const catalog_stream& stream : streams_) {
    for (std::uint32_t i = 0; stream.has_remote && i < stream.shards; ++i)
      all.push_back(footprint(stream, i));
  }
  const auto count = static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(shards, all.size()));
  std::ranges::nth_element(all, all.begin() + count, std::greater());
  return std::accumulate(all.begin(), all.begin() + count, std::uint64_t{0});
}

MDSTREAM_INLINE void shard_catalog::locate(std::uint32_t shard, diagnostics& where) const {
  const catalog_stream& stream = stream_of(shard);
  where.stream = stream.name;
  where.shard = shard - stream.first;
}

MDSTREAM_INLINE std::string_view shard_catalog::relative_to(std::string_view root,
                                                            std::string_view directory) {
  if (!lies_in(root, directory)) return directory;
  directory.remove_prefix(root.size());
  while (directory.starts_with('/')) directory.remove_prefix(1);
  return directory;
}

MDSTREAM_INLINE bool shard_catalog::lies_in(std::string_view root, std::string_view directory) {
  return directory.starts_with(root) &&
         (directory.size() == root.size() || root.ends_with('/') || directory[root.size()] == '/');
}

}  // namespace mdstream::inline v0::detail
