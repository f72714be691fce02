#pragma once

/// Scans a stretch of an object: its cuts, and the columns of its first rows.

#include <mdstream/raw/detail/scan_record.hpp>
#include <mdstream/source/detail/plain_bytes.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

namespace mdstream::inline v0::detail {

/// What is scanned of an object.
struct stretch_of {
  const raw::source_format* format = nullptr;
  const raw::detail::indexed_object* object = nullptr;
  std::uint64_t number = 0, count = 1;  ///< of the object's stretches

  [[nodiscard]] const raw::detail::listed_object& scanned() const {
    return object->beside ? *object->beside : object->file;
  }
  [[nodiscard]] std::uint64_t from() const { return number * format->settings().shard_bytes.value; }
  [[nodiscard]] std::uint64_t to() const;
  /// Bytes of the object as it is stored that belong to the stretch.
  [[nodiscard]] std::uint64_t bytes() const;
};

/// An error that names a key names the object's URL.
[[nodiscard]] error with_url(const error& e, const any_async_store& store, const std::string& key);

/// The columns of an object's first 1,000 rows, or of as many as its first `enough` bytes hold.
/// With `skip_bad`, rows that cannot be read tell none.
[[nodiscard]] raw::detail::column_inference first_columns(const raw::source_format& format,
                                                          const std::string& key,
                                                          std::optional<std::uint64_t> object_bytes,
                                                          plain_bytes& bytes,
                                                          std::uint64_t enough = std::uint64_t{8}
                                                                                 << 20);

/// How far apart the entry points of an object are that has so many bytes as it is stored: one
/// before each shard. Fewer of small shards, whose states would be as large as they are, and of
/// very large objects, of which 2,048 are enough.
[[nodiscard]] entry_spacing spacing_of(std::uint64_t shard_bytes, std::uint64_t object_bytes);

/// How a stretch is scanned besides.
struct scan_request {
  bool infers = false;  ///< the columns of the object's first rows
  bool cuts = true;
  bool leaves_bad_rows_out = false;  ///< read as the columns that the format has by then
  bool notes_entries = false;        ///< of a compressed object
  std::function<void(std::uint64_t bytes)> on_bytes{};  ///< were read, as they are stored
};

[[nodiscard]] raw::detail::scan_record scan_stretch(const any_async_store& store,
                                                    const stream_decoders& decoders,
                                                    const stretch_of& what,
                                                    const scan_request& wanted,
                                                    const std::stop_token& stop);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/source/detail/impl/scan.ipp>
#endif
