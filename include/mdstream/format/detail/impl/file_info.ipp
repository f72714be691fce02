#pragma once

#include <mdstream/format/file_info.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0 {

MDSTREAM_INLINE const std::string* file_info::hash(std::string_view hash_name) const noexcept {
  for (const file_hash& each : hashes)
    if (each.name == hash_name) return &each.hex;
  return nullptr;
}

MDSTREAM_INLINE std::string shard_file_name(std::uint64_t number, shard_format format, bool meta,
                                            std::string_view extension) {
  const std::string digits = std::to_string(number);
  std::string out = "shard.";
  if (digits.size() < 5) out.append(5 - digits.size(), '0');
  out.append(digits).append(".").append(to_string(format));
  if (meta) out += ".meta";
  if (!extension.empty()) out.append(".").append(extension);
  return out;
}

}  // namespace mdstream::inline v0
