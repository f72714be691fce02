#pragma once

// Datasets of one column "id" (Python's int) with shards of given sizes, put together byte by byte,
// so that tests of readers do not rest on the library's own writer.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace support {

namespace detail {

inline void append_u32(std::string& to, std::uint64_t value) {
  const auto word = static_cast<std::uint32_t>(value);
  to.append(reinterpret_cast<const char*>(&word), sizeof word);
}

inline std::string shard_bytes(std::uint64_t samples, std::int64_t first_id) {
  std::string out;
  append_u32(out, samples);
  for (std::uint64_t i = 0; i <= samples; ++i) append_u32(out, 4 + 4 * (samples + 1) + 8 * i);
  for (std::uint64_t i = 0; i < samples; ++i) {
    const std::int64_t id = first_id + static_cast<std::int64_t>(i);
    out.append(reinterpret_cast<const char*>(&id), sizeof id);
  }
  return out;
}

inline std::string shard_name(std::size_t number) {
  std::string digits = std::to_string(number);
  digits.insert(0, 5 - digits.size(), '0');
  return "shard." + digits + ".mds";
}

}  // namespace detail

/// Writes a dataset to `directory`; sample i has id `first_id + i`. Returns the next id.
inline std::int64_t write_plain_dataset(const std::string& directory,
                                        const std::vector<std::uint64_t>& shard_sizes,
                                        std::int64_t first_id = 0) {
  std::filesystem::create_directories(directory);
  std::string entries;
  for (std::size_t k = 0; k < shard_sizes.size(); ++k) {
    const std::string bytes = detail::shard_bytes(shard_sizes[k], first_id);
    first_id += static_cast<std::int64_t>(shard_sizes[k]);
    std::ofstream(directory + '/' + detail::shard_name(k), std::ios::binary) << bytes;
    entries += std::string(k == 0 ? "" : ", ") +
               R"({"column_encodings": ["int"], "column_names": ["id"], "column_sizes": [8], )"
               R"("compression": null, "format": "mds", "hashes": [], "raw_data": {"basename": ")" +
               detail::shard_name(k) + R"(", "bytes": )" + std::to_string(bytes.size()) +
               R"(, "hashes": {}}, "samples": )" + std::to_string(shard_sizes[k]) +
               R"(, "size_limit": null, "version": 2, "zip_data": null})";
  }
  std::ofstream(directory + "/index.json") << R"({"shards": [)" + entries + R"(], "version": 2})";
  return first_id;
}

}  // namespace support
