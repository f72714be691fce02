#pragma once

#include <mdstream/cache/detail/choose_hash.hpp>
#include <mdstream/cache/detail/describe_streams.hpp>
#include <mdstream/cache/detail/shard_seal.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/version.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::string normal_path(const std::string& path) {
  if (path.empty()) return {};  // no stream has a remote: nothing is cached
  std::string text = std::filesystem::absolute(path).lexically_normal().native();
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

/// `hash`: the name of the one to check, `no_hash`, or empty for the cheapest that is recorded.
MDSTREAM_INLINE shard_files files_of(const dataset_index& index, std::uint32_t shard,
                                     const std::string& hash, hash_set hashes) {
  const auto digest = [&](const file_info& file) {
    const file_hash* const found = choose_hash(file, hash, hashes);
    return found != nullptr ? known_digest{found->name, found->hex} : known_digest{};
  };
  const auto file_of = [&](const file_info& raw, const std::optional<file_info>& zip) {
    shard_file file{.raw_name = raw.name, .raw_bytes = raw.bytes, .raw_digest = digest(raw)};
    if (zip) {
      file.zip_name = zip->name;
      file.zip_bytes = zip->bytes;
      file.zip_digest = digest(*zip);
      file.compression = index.compression(shard);
    }
    return file;
  };
  shard_files files{file_of(index.raw(shard), index.zip(shard))};
  if (const std::optional<file_info> meta = index.file(shard, file_role::raw_meta))
    files.meta = file_of(*meta, index.file(shard, file_role::zip_meta));
  return files;
}

MDSTREAM_INLINE catalog_stream stream_of_index(const dataset_index& index, std::string name,
                                               std::string directory, const std::string& hash,
                                               hash_set hashes) {
  return {
      .name = std::move(name),
      .directory = std::move(directory),
      .has_remote = true,
      .keep_zip = true,
      .shards = static_cast<std::uint32_t>(index.shards()),
      .files = [&index, hash, hashes](std::uint32_t i) { return files_of(index, i, hash, hashes); },
      .sizes =
          [&index](std::uint32_t i) {
            return shard_sizes{
                index.file_bytes(i, file_role::raw_data) + index.file_bytes(i, file_role::raw_meta),
                index.file_bytes(i, file_role::zip_data) +
                    index.file_bytes(i, file_role::zip_meta)};
          }};
}

MDSTREAM_INLINE bool is_same_place(const opened_store& remote, const std::string& prefix,
                                   const std::string& directory) {
  const std::string url = remote.url(prefix);
  std::error_code failure;
  return url_scheme(url).empty() &&
         (normal_path(url) == directory || std::filesystem::equivalent(url, directory, failure));
}

MDSTREAM_INLINE void check_stream(const cache_stream& stream) {
  if (stream.index == nullptr) {
    throw error(errc::invalid_argument,
                {.what = "a stream of a cache has no index", .stream = stream.name});
  }
  if (stream.maker && !stream.remote) {
    throw error(errc::invalid_argument,
                {.what = "shards are made of a remote's objects, and the stream has no remote",
                 .stream = stream.name});
  }
  if (stream.download_retry == 0) {
    throw error(
        errc::invalid_argument,
        {.what = "download_retry counts all attempts, so it is at least 1", .stream = stream.name});
  }
  if (stream.download_timeout.count() <= 0) {
    throw error(errc::invalid_argument,
                {.what = "download_timeout has to be above 0", .stream = stream.name});
  }
  if (stream.patience.count() < 0) {
    throw error(errc::invalid_argument,
                {.what = "patience has to be 0 or more", .stream = stream.name});
  }
}

/// The index has estimates of the shards' sizes.
MDSTREAM_INLINE void make_shards(catalog_stream& stream) {
  stream.files = [of_index = std::move(stream.files)](std::uint32_t i) {
    shard_files files = of_index(i);
    files.is_made = true;
    return files;
  };
  stream.sizes = [of_index = std::move(stream.sizes)](std::uint32_t i) {
    return shard_sizes{.raw = of_index(i).raw + seal_bytes};
  };
}

MDSTREAM_INLINE std::vector<catalog_stream> describe_streams(
    const std::vector<cache_stream>& streams, hash_set hashes) {
  std::vector<catalog_stream> all;
  all.reserve(streams.size());
  for (const cache_stream& each : streams) {
    check_stream(each);
    if (!each.validate_hash.empty() && each.validate_hash != no_hash && !each.maker)
      hashes.require(each.validate_hash);
    std::string directory = normal_path(each.directory);
    const bool has_remote =
        each.in_place.empty() &&
        (each.maker || (each.remote && !is_same_place(*each.remote, each.prefix, directory)));
    catalog_stream known =
        stream_of_index(*each.index, each.name, std::move(directory), each.validate_hash, hashes);
    known.version = each.version;
    known.adopted = each.adopted;
    known.has_remote = has_remote;
    known.in_place = each.in_place;
    known.keep_zip = each.keep_zip || !has_remote;
    if (each.maker) make_shards(known);
    all.push_back(std::move(known));
  }
  return all;
}

}  // namespace mdstream::inline v0::detail
