#pragma once

#include <mdstream/core/detail/hex.hpp>
#include <mdstream/format/detail/index_columns.hpp>
#include <mdstream/hash/hash.hpp>
#include <mdstream/version.hpp>

#include <algorithm>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::optional<usual_name> parse_usual_name(std::string_view name,
                                                           std::string_view suffix) {
  const std::size_t slash = name.rfind('/');
  const std::size_t file = slash == std::string_view::npos ? 0 : slash + 1;
  const std::string_view base = name.substr(file);
  constexpr std::string_view head = "shard.";
  if (base.size() < head.size() + 5 + suffix.size() || base.substr(0, head.size()) != head ||
      base.substr(base.size() - suffix.size()) != suffix)
    return std::nullopt;
  const std::string_view digits =
      base.substr(head.size(), base.size() - suffix.size() - head.size());
  if (digits.size() > 15 || (digits.size() > 5 && digits.front() == '0')) return std::nullopt;
  std::uint64_t number = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return usual_name{name.substr(0, file), number};
}

/// ".mds", ".json.meta.gz": what follows the number in the usual name of a file of this role.
MDSTREAM_INLINE std::string usual_suffix(const shard_config& config, file_role role) {
  const bool meta = role == file_role::raw_meta || role == file_role::zip_meta;
  const bool zip = role == file_role::zip_data || role == file_role::zip_meta;
  const std::string_view compression = config.compression;
  std::string out(".");
  out += mdstream::to_string(config.layout.format());
  if (meta) out += ".meta";
  if (zip) out.append(".").append(compression.substr(0, compression.find(':')));
  return out;
}

MDSTREAM_INLINE const index_run& index_columns::run_of(std::size_t shard) const noexcept {
  if (runs.size() == 1) return runs.front();
  const auto after =
      std::upper_bound(runs.begin(), runs.end(), shard,
                       [](std::size_t s, const index_run& run) { return s < run.first; });
  return *(after - 1);
}

MDSTREAM_INLINE std::uint8_t index_columns::bit(file_role role) noexcept {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(role));
}

MDSTREAM_INLINE file_info index_columns::file(std::size_t shard, file_role role) const {
  const index_run& run = run_of(shard);
  file_info out{.name = name_of(run, shard, role), .bytes = bytes_of(shard, role)};
  std::size_t at = run.digests_at + (shard - run.first) * run.digest_bytes;
  for (std::size_t r = 0; r < file_roles; ++r)
    for (const std::string& hash : run.hashes[r]) {
      const std::size_t size = *mdstream::digest_bytes(hash);
      if (r == static_cast<std::size_t>(role))
        out.hashes.push_back({hash, to_hex(bytes_view(digests).subspan(at, size))});
      at += size;
    }
  return out;
}

MDSTREAM_INLINE std::string index_columns::name_of(const index_run& run, std::size_t shard,
                                                   file_role role) const {
  const std::size_t within = shard - run.first;
  if (!run.usual) {
    const auto before = static_cast<unsigned>(run.files) & (bit(role) - 1U);
    const auto files = static_cast<std::size_t>(__builtin_popcount(run.files));
    return names[run.names_at + within * files +
                 static_cast<std::size_t>(__builtin_popcount(before))];
  }
  const std::string digits = std::to_string(run.number + within);
  std::string out = run.directory + "shard.";
  if (digits.size() < 5) out.append(5 - digits.size(), '0');
  return out + digits + usual_suffix(configs[run.config], role);
}

MDSTREAM_INLINE std::size_t index_columns::memory() const noexcept {
  std::size_t sum = samples.capacity() * sizeof(samples[0]) + digests.capacity() +
                    runs.capacity() * sizeof(index_run) + names.capacity() * sizeof(std::string);
  for (const auto& column : bytes) sum += column.capacity() * sizeof(std::uint64_t);
  for (const std::string& name : names) sum += name.size() > 15 ? name.capacity() + 1 : 0;
  return sum;
}

MDSTREAM_INLINE void index_columns::shrink() {
  samples.shrink_to_fit();
  digests.shrink_to_fit();
  for (auto& column : bytes) column.shrink_to_fit();
}

MDSTREAM_INLINE void index_columns::append(std::uint32_t config, std::uint32_t shard_samples,
                                           const file_entries& files) {
  const std::optional<usual_name> usual = common_usual_name(config, files);
  if (runs.empty() || !continues(runs.back(), config, files, usual))
    begin_run(config, files, usual);
  for (std::size_t r = 0; r < file_roles; ++r) {
    if (!files[r].present && bytes[r].empty()) continue;
    bytes[r].resize(samples.size());
    bytes[r].push_back(files[r].present ? files[r].bytes : 0);
  }
  if (!runs.back().usual)
    for (const file_entry& file : files)
      if (file.present) names.push_back(file.name);
  for (const file_entry& file : files)
    if (file.present)
      for (std::size_t d = 0; d < file.digest_count; ++d) append_digest(file.digests[d].hex);
  samples.push_back(shard_samples);
  total_samples += shard_samples;
}

MDSTREAM_INLINE void index_columns::append_next(
    std::uint32_t shard_samples, const std::array<std::uint64_t, file_roles>& file_bytes) {
  for (std::size_t r = 0; r < file_roles; ++r)
    if (!bytes[r].empty()) bytes[r].push_back(file_bytes[r]);
  samples.push_back(shard_samples);
  total_samples += shard_samples;
}

MDSTREAM_INLINE std::optional<usual_name> index_columns::common_usual_name(
    std::uint32_t config, const file_entries& files) {
  if (suffix_config_ != config) {
    for (std::size_t r = 0; r < file_roles; ++r)
      suffixes_[r] = usual_suffix(configs[config], static_cast<file_role>(r));
    suffix_config_ = config;
  }
  std::optional<usual_name> common;
  for (std::size_t r = 0; r < file_roles; ++r) {
    if (!files[r].present) continue;
    const std::optional<usual_name> name = parse_usual_name(files[r].name, suffixes_[r]);
    if (!name) return std::nullopt;
    if (common && (common->directory != name->directory || common->number != name->number))
      return std::nullopt;
    common = name;
  }
  return common;
}

MDSTREAM_INLINE bool index_columns::continues(
    const index_run& run, std::uint32_t config, const file_entries& files,
    const std::optional<usual_name>& usual) const noexcept {
  if (run.config != config || run.usual != usual.has_value()) return false;
  if (usual && (run.number + (samples.size() - run.first) != usual->number ||
                run.directory != usual->directory))
    return false;
  for (std::size_t r = 0; r < file_roles; ++r) {
    if (((run.files >> r) & 1U) != (files[r].present ? 1U : 0U)) return false;
    if (!files[r].present) continue;
    if (run.hashes[r].size() != files[r].digest_count) return false;
    for (std::size_t d = 0; d < files[r].digest_count; ++d)
      if (run.hashes[r][d] != files[r].digests[d].name) return false;
  }
  return true;
}

MDSTREAM_INLINE void index_columns::begin_run(std::uint32_t config, const file_entries& files,
                                              const std::optional<usual_name>& usual) {
  index_run run{.first = samples.size(), .config = config, .usual = usual.has_value()};
  run.names_at = names.size();
  run.digests_at = digests.size();
  if (usual) {
    run.directory = usual->directory;
    run.number = usual->number;
  }
  for (std::size_t r = 0; r < file_roles; ++r) {
    if (!files[r].present) continue;
    run.files = static_cast<std::uint8_t>(run.files | bit(static_cast<file_role>(r)));
    for (std::size_t d = 0; d < files[r].digest_count; ++d) {
      run.hashes[r].push_back(files[r].digests[d].name);
      run.digest_bytes += *mdstream::digest_bytes(files[r].digests[d].name);
    }
  }
  runs.push_back(std::move(run));
}

MDSTREAM_INLINE void index_columns::append_digest(std::string_view hex) {
  const auto nibble = [](char c) {
    return static_cast<unsigned>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
  };
  for (std::size_t i = 0; i < hex.size(); i += 2)
    digests.push_back(static_cast<std::byte>(nibble(hex[i]) << 4 | nibble(hex[i + 1])));
}

}  // namespace mdstream::inline v0::detail
