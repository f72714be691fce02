#pragma once

/// What a scan found in a stretch of an object, as text: so that a scan that ends early is gone on
/// with.

#include <mdstream/core/json.hpp>
#include <mdstream/raw/detail/column_inference.hpp>
#include <mdstream/raw/detail/object_cutter.hpp>
#include <mdstream/raw/detail/row_index.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::raw::detail {

/// One stretch of an object, and what is in it.
struct scan_record {
  listed_object file{};
  std::optional<listed_object> beside{};
  std::uint64_t stretch = 0;
  object_cuts found{};
  column_inference columns{};
  std::uint64_t skipped = 0;  ///< rows that were left out
  /// The states of entry points, one behind the other, until they are kept; not part of the text.
  std::vector<std::byte> states{};
};

/// Begins a text of records.
[[nodiscard]] std::string scan_records_head(const options& about);

/// A line of a text of records.
void append_scan_record(std::string& out, const scan_record& each);

/// The records of a text that was made with these settings; none of one that was not. Throws
/// errc::corrupt for a text that is damaged.
[[nodiscard]] std::vector<scan_record> parse_scan_records(std::string_view text,
                                                          const options& about);

}  // namespace mdstream::inline v0::raw::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/raw/detail/impl/scan_record.ipp>
#endif
