#pragma once

/// Makes a row index of a listing: says what has to be read, takes what was found in it.

#include <mdstream/core/error.hpp>
#include <mdstream/raw/detail/column_inference.hpp>
#include <mdstream/raw/detail/object_cutter.hpp>
#include <mdstream/raw/detail/row_index.hpp>
#include <mdstream/raw/format.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace mdstream::inline v0::raw::detail {

/// Collects the cuts of a source's objects, in any order.
///
///     index_builder builder(format, listing);
///     for (std::size_t i = 0; i < builder.objects().size(); ++i)
///       if (const listed_object* scanned = builder.to_scan(i)) {
///         column_inference columns = ...;      // by infer_columns, where builder.infers()
///         builder.add(i, cuts_of(*scanned), columns);  // by an object_cutter
///       }
///     row_index index = builder.finish();
class index_builder {
 public:
  /// The listing may hold keys that are no data, and has any order. Throws errc::not_found where
  /// there is no data, errc::corrupt for an object that no index can name.
  index_builder(source_format format, std::vector<listed_object> listing);

  [[nodiscard]] const std::vector<indexed_object>& objects() const noexcept { return objects_; }

  /// The object whose bytes tell the cuts of object `i`, or null where nothing has to be read. The
  /// cutter's `object_bytes` are those of `objects()[i]`.
  [[nodiscard]] const listed_object* to_scan(std::size_t i) const;

  /// Whether columns have to be inferred from the objects' first rows.
  [[nodiscard]] bool infers() const;

  /// Takes what was found in object `i`.
  void add(std::size_t i, object_cuts found, const column_inference& columns);

  /// Objects that were left out, where the options allow it.
  [[nodiscard]] std::uint64_t skipped() const noexcept { return skipped_; }

  /// The index. Precondition: all objects that have to be scanned were added.
  [[nodiscard]] row_index finish();

 private:
  /// Why an object cannot be read.
  [[nodiscard]] std::optional<error> refused(const listed_object& each, bool takes_files) const;

  void pair_with_indexes();

  /// A cut belongs to the object that it begins with, and lies in the concatenation of all.
  void cut_files();

  source_format format_;
  std::vector<indexed_object> objects_;
  std::vector<listed_object> beside_;
  column_inference columns_;
  std::uint64_t skipped_ = 0;
};

/// A range of an object that a shard is made of.
struct part_range {
  std::size_t object = 0;
  bool beside = false;  ///< of the second object
  byte_range range{};

  friend bool operator==(const part_range&, const part_range&) = default;
};

/// What has to be read for a shard, in the order in which `transcode` wants it. Throws
/// errc::corrupt where the index tells ranges that its objects do not have.
[[nodiscard]] std::vector<part_range> parts_of(const source_format& format, const row_index& index,
                                               const shard_place& place);

}  // namespace mdstream::inline v0::raw::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/raw/detail/impl/index_builder.ipp>
#endif
