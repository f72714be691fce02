#pragma once

/// Whose shards a stream's directory holds: `<directory>/.mdstream/origin`.

#include <mdstream/core/bytes.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mdstream::inline v0::detail {

/// The digest of an index that tells versions of a dataset apart; 0 stands for none.
[[nodiscard]] std::uint64_t index_version(bytes_view index);

/// Nanoseconds of the clock that files are dated by.
[[nodiscard]] std::int64_t file_clock_now();

struct stream_origin {
  std::string remote{};       ///< without secrets
  std::uint64_t version = 0;  ///< of the dataset's index
  std::string tag{};          ///< of the index in the remote (an ETag), when it was read; or empty
  std::uint64_t tagged_bytes = 0;  ///< its size then
  /// What lay there before this time was put there by others and taken as it was.
  std::int64_t adopted = 0;

  friend bool operator==(const stream_origin&, const stream_origin&) = default;
};

/// The text of the file: five lines and a last one that says that nothing is missing.
[[nodiscard]] std::string text_of_origin(const stream_origin& origin);

/// None for a text that is not whole.
[[nodiscard]] std::optional<stream_origin> parse_origin(std::string_view text);

[[nodiscard]] inline std::string origin_path(const std::string& directory) {
  return directory + "/.mdstream/origin";
}

[[nodiscard]] std::optional<stream_origin> read_origin(const std::string& directory);

/// Flushed: after a power loss it is there or not, and says no more than what was true before.
void write_origin(const std::string& directory, const stream_origin& origin);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/cache/detail/impl/stream_origin.ipp>
#endif
