#pragma once

/// index.json, version 2: the shards of a dataset, their files and columns.

#include <mdstream/format/detail/index_columns.hpp>
#include <mdstream/format/file_info.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace mdstream::inline v0 {

/// The name of the index within a dataset's directory.
inline constexpr std::string_view index_file_name = "index.json";

/// How an index is read.
struct index_options {
  /// Accept datasets with `pkl` columns. They are still never executed.
  bool allow_unsafe_types = false;
  /// What errors say about the text: stream and URL.
  diagnostics where{};
};

/// An index in compact columns: about 20 bytes a shard for files with usual names, and the digests.
/// Immutable and safe from any thread.
class dataset_index {
 public:
  dataset_index() = default;

  /// Parses the text of an index.
  /// Throws errc::corrupt, naming shard and byte, if it is cut short, contradicts itself or names
  /// files outside its directory; errc::unsupported for another version, an unknown shard format,
  /// and for `pkl` columns unless they are allowed. An encoding that MDS does not define is read as
  /// `encoding_kind::other`. O(text).
  [[nodiscard]] static dataset_index parse(std::string_view text,
                                           const index_options& options = {});

  /// Number of shards.
  [[nodiscard]] std::size_t shards() const noexcept { return columns_.shards(); }

  /// Number of samples of all shards.
  [[nodiscard]] std::uint64_t samples() const noexcept { return columns_.total_samples; }

  /// Number of samples of shard `i`. Precondition here and below: i < shards().
  [[nodiscard]] std::uint32_t shard_samples(std::size_t i) const noexcept {
    return columns_.samples[i];
  }

  /// Number of samples of each shard.
  [[nodiscard]] std::vector<std::uint64_t> shard_sizes() const {
    return {columns_.samples.begin(), columns_.samples.end()};
  }

  /// Columns and options that shard `i` was written with; equal ones are one object.
  /// Valid as long as the index.
  [[nodiscard]] const shard_config& config(std::size_t i) const noexcept {
    return columns_.configs[columns_.run_of(i).config];
  }

  [[nodiscard]] const sample_layout& layout(std::size_t i) const noexcept {
    return config(i).layout;
  }

  [[nodiscard]] shard_format format(std::size_t i) const noexcept { return layout(i).format(); }

  /// The compression as the index has it, "zstd:7"; empty if there is none.
  [[nodiscard]] std::string_view compression(std::size_t i) const noexcept {
    return config(i).compression;
  }

  /// The uncompressed data file, which is what a dataset's size and samples are measured by.
  [[nodiscard]] file_info raw(std::size_t i) const { return columns_.file(i, file_role::raw_data); }

  /// The compressed data file, if the shard is compressed.
  [[nodiscard]] std::optional<file_info> zip(std::size_t i) const {
    return file(i, file_role::zip_data);
  }

  /// A file of the shard, if it has that one.
  [[nodiscard]] std::optional<file_info> file(std::size_t i, file_role role) const;

  /// Bytes of a file of the shard; 0 if it does not have that one. No allocation.
  [[nodiscard]] std::uint64_t file_bytes(std::size_t i, file_role role) const noexcept {
    return columns_.has(i, role) ? columns_.bytes_of(i, role) : 0;
  }

  /// The distinct configurations, in order of first use. One for a dataset written in one go.
  [[nodiscard]] const std::vector<shard_config>& configs() const noexcept {
    return columns_.configs;
  }

  /// Bytes of memory that the index holds besides its configurations.
  [[nodiscard]] std::size_t memory() const noexcept { return columns_.memory(); }

 private:
  detail::index_columns columns_;
};

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/format/detail/impl/index.ipp>
#endif
