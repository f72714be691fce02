#pragma once

/// The files of a shard as the index describes them.

#include <mdstream/format/sample_layout.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0 {

/// A checksum of a file, as the index has it.
struct file_hash {
  std::string name{};  ///< of the hash: "xxh64"
  std::string hex{};   ///< lower-case digest

  friend bool operator==(const file_hash&, const file_hash&) = default;
};

/// One file of a shard.
struct file_info {
  std::string name{};  ///< relative to the directory of the index; never leaves it
  std::uint64_t bytes = 0;
  std::vector<file_hash> hashes{};

  /// The digest under that hash, or null if the index has none.
  [[nodiscard]] const std::string* hash(std::string_view hash_name) const noexcept;

  friend bool operator==(const file_info&, const file_info&) = default;
};

/// What a shard is made of, in the order of the index. JSONL and XSV shards have a meta file beside
/// the data.
enum class file_role : std::uint8_t { raw_data, raw_meta, zip_data, zip_meta };

/// The number of `file_role`s.
inline constexpr std::size_t file_roles = 4;

/// The name in the index: "raw_data".
[[nodiscard]] constexpr std::string_view to_string(file_role role) noexcept {
  switch (role) {
    case file_role::raw_data: return "raw_data";
    case file_role::zip_data: return "zip_data";
    case file_role::raw_meta: return "raw_meta";
    case file_role::zip_meta: return "zip_meta";
  }
  return "";
}

/// What shards written with the same options have in common.
struct shard_config {
  sample_layout layout{};
  std::string compression{};            ///< as the writer's user gave it: "zstd:7"; empty: none
  std::vector<std::string> hashes{};    ///< names, sorted
  std::string newline{};                ///< JSONL and XSV
  std::string separator{};              ///< XSV, CSV and TSV
  std::string size_limit_text{"null"};  ///< JSON of the writer's limit: bytes or null

  friend bool operator==(const shard_config&, const shard_config&) = default;
};

/// The usual name of a file of shard `number`: `shard.00017.mds`, `shard.00017.json.meta.gz`.
/// `extension` is the codec's, empty for a raw file.
[[nodiscard]] std::string shard_file_name(std::uint64_t number, shard_format format, bool meta,
                                          std::string_view extension);

/// Why a name from an index cannot be used, or nothing if it can. Such a name stays in its
/// directory, and clear of what the library keeps there itself.
[[nodiscard]] constexpr std::optional<std::string_view> unsafe_file_name(
    std::string_view name) noexcept {
  if (name.empty()) return "is empty";
  if (name.front() == '/') return "is an absolute path";
  if (name.find('\0') != std::string_view::npos) return "holds a zero byte";
  std::string_view rest = name;
  while (true) {
    const std::size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    if (part == "..") return "leaves its directory";
    if (part.empty() || part == ".") return "has an empty part";
    if (part == ".mdstream") return "is reserved for the cache";
    if (slash == std::string_view::npos) {
      if (part == "index.json") return "is that of an index";
      return std::nullopt;
    }
    rest.remove_prefix(slash + 1);
  }
}

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/format/detail/impl/file_info.ipp>
#endif
