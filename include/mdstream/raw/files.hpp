#pragma once

/// Files as samples: pictures in directories of their class, or files of any kind.

#include <mdstream/raw/format.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::raw {

namespace detail {

/// What `files` and `images` share. Their samples are whole objects: a listing is all that is read
/// to cut them, by the rule of the virtual shards in the concatenation of all objects.
struct whole_files {
  static constexpr bool takes_whole_objects = true;

  /// Nobody scans the bytes of whole objects.
  [[nodiscard]] static std::uint64_t cut(const window& in, cut_sink&);

  static void transcode(const cut_source& in, sample_sink& out);

  /// The encoding of all files: by their extension, if it is the same.
  [[nodiscard]] static std::string encoding_of(std::span<const std::string_view> keys);
};

[[nodiscard]] std::string_view directory_of(std::string_view key);

}  // namespace detail

/// Reads whole files as samples. Columns: `file`, by the extension, and `path: str`, the key.
struct files : detail::whole_files {
  static constexpr std::string_view name = "files";
  [[nodiscard]] static std::vector<column> columns(std::span<const std::string_view> keys) {
    return {{"file", encoding_of(keys), {}}, {"path", "str", {}}};
  }
};

/// Reads pictures in directories of their class. Columns: `file`, `label: int`, the rank of the
/// file's directory among all, and `path: str`.
///
///     mds::stream_options stream{.remote = "s3://bucket/imagenet", .raw = {.format = "images"}};
struct images : detail::whole_files {
  static constexpr std::string_view name = "images";
  [[nodiscard]] static std::vector<column> columns(std::span<const std::string_view> keys);
};

/// The label of each key: the rank of its directory among the directories of all, by bytes.
[[nodiscard]] std::vector<std::int64_t> labels_of(std::span<const std::string_view> keys);

}  // namespace mdstream::inline v0::raw

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/raw/detail/impl/files.ipp>
#endif
