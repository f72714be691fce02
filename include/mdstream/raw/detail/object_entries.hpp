#pragma once

/// Where a compressed object can be decompressed from, as a row index has it.

#include <mdstream/core/json.hpp>
#include <mdstream/raw/format.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::raw::detail {

/// A place in a compressed object from which on it can be decompressed.
struct object_entry {
  std::uint64_t plain = 0;   ///< decompressed bytes before it
  std::uint64_t packed = 0;  ///< the compressed byte that is read first
  byte_range state{};  ///< what its codec needs besides, in the object of states; often no bytes

  friend bool operator==(const object_entry&, const object_entry&) = default;
};

/// The entry points of an object, in their order.
struct object_entries {
  /// Where the states of objects lie below the directory of the row index.
  static constexpr std::string_view directory = "entries/";
  /// Of one state; a codec's are far smaller.
  static constexpr std::uint64_t most_state_bytes = std::uint64_t{1} << 17;

  std::string states{};  ///< the name of the object of states; empty where no point has one
  std::vector<object_entry> points{};

  /// Adds the next one of the object `key`, whose state follows those before. Throws errc::corrupt
  /// where it cannot follow them, or be one of an object of so many bytes.
  void add(std::uint64_t plain, std::uint64_t packed, std::uint64_t state_bytes,
           std::string_view key, std::uint64_t object_bytes);

  [[nodiscard]] std::uint64_t state_bytes() const noexcept {
    return points.empty() ? 0 : points.back().state.offset + points.back().state.bytes;
  }

  /// How many entry points lie before a decompressed byte, or at it.
  [[nodiscard]] std::size_t count_until(std::uint64_t plain) const noexcept;

  friend bool operator==(const object_entries&, const object_entries&) = default;
};

void append_object_entries(std::string& out, const object_entries& entries);
/// Of the object `key`, of so many bytes. Throws as `object_entries::add`.
[[nodiscard]] object_entries read_entries(json::reader& in, std::string_view key,
                                          std::uint64_t object_bytes);

}  // namespace mdstream::inline v0::raw::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/raw/detail/impl/object_entries.ipp>
#endif
