#pragma once

/// How a dataset_index is stored: columns over all shards, and runs of shards that agree in all but
/// numbers, so that the names of a usual dataset cost nothing.

#include <mdstream/format/file_info.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::detail {

/// A file while its shard is parsed. Views the text of the index or the parser's scratch.
struct file_entry {
  struct digest {
    std::string name;
    std::string hex;
  };

  bool present = false;
  std::string name;
  std::uint64_t bytes = 0;
  std::vector<digest> digests;  // only the first digest_count are of this file: memory is reused
  std::size_t digest_count = 0;
};

using file_entries = std::array<file_entry, file_roles>;

/// A name of the usual pattern, taken apart.
struct usual_name {
  std::string_view directory;  // with its slash
  std::uint64_t number = 0;
};

/// Takes `1/shard.00017.mds` apart if its file part is what `shard_file_name` gives.
[[nodiscard]] std::optional<usual_name> parse_usual_name(std::string_view name,
                                                         std::string_view suffix);

/// Shards in a row that agree in configuration, in which files and digests they have, and whose
/// names either are usual and count up or are stored.
struct index_run {
  std::size_t first = 0;     // shard
  std::uint32_t config = 0;  // of index_columns::configs
  std::uint8_t files = 0;    // bit of each role that is present
  bool usual = true;
  std::string directory{};       // usual names: what precedes the file, with its slash
  std::uint64_t number = 0;      // usual names: of the first shard
  std::size_t names_at = 0;      // stored names: of the first shard, in index_columns::names
  std::size_t digests_at = 0;    // of the first shard, in index_columns::digests
  std::size_t digest_bytes = 0;  // of each shard
  std::array<std::vector<std::string>, file_roles> hashes{};  // names of each file's digests
};

struct index_columns {
  std::vector<std::uint32_t> samples;
  std::uint64_t total_samples = 0;
  std::array<std::vector<std::uint64_t>, file_roles> bytes;  // empty for roles never seen
  std::vector<index_run> runs;
  std::vector<shard_config> configs;
  std::vector<std::string> names;
  std::vector<std::byte> digests;

  [[nodiscard]] std::size_t shards() const noexcept { return samples.size(); }

  [[nodiscard]] const index_run& run_of(std::size_t shard) const noexcept;

  [[nodiscard]] static std::uint8_t bit(file_role role) noexcept;

  [[nodiscard]] bool has(std::size_t shard, file_role role) const noexcept {
    return (run_of(shard).files & bit(role)) != 0;
  }

  [[nodiscard]] std::uint64_t bytes_of(std::size_t shard, file_role role) const noexcept {
    return bytes[static_cast<std::size_t>(role)][shard];
  }

  /// Precondition: has(shard, role).
  [[nodiscard]] file_info file(std::size_t shard, file_role role) const;

  [[nodiscard]] std::string name_of(const index_run& run, std::size_t shard, file_role role) const;

  [[nodiscard]] std::size_t memory() const noexcept;

  void shrink();

  /// Adds a shard whose configuration is `configs[config]`.
  void append(std::uint32_t config, std::uint32_t shard_samples, const file_entries& files);

  /// Adds a shard that goes on with the last run: of its files only sizes differ, and names count
  /// up. Its digests are added already.
  void append_next(std::uint32_t shard_samples,
                   const std::array<std::uint64_t, file_roles>& file_bytes);

 private:
  // suffixes of the roles' usual names under configuration suffix_config
  std::array<std::string, file_roles> suffixes_;
  std::size_t suffix_config_ = static_cast<std::size_t>(-1);

  /// Directory and number, if all files of the shard have usual names with the same.
  [[nodiscard]] std::optional<usual_name> common_usual_name(std::uint32_t config,
                                                            const file_entries& files);

  [[nodiscard]] bool continues(const index_run& run, std::uint32_t config,
                               const file_entries& files,
                               const std::optional<usual_name>& usual) const noexcept;

  void begin_run(std::uint32_t config, const file_entries& files,
                 const std::optional<usual_name>& usual);

  // Precondition: an even number of hexadecimal digits, as the parser checked.
  void append_digest(std::string_view hex);
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/format/detail/impl/index_columns.ipp>
#endif
