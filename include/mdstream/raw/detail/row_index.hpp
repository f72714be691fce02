#pragma once

/// The row index: which objects a source of foreign files has, and how they are cut into shards.

#include <mdstream/core/fnv.hpp>
#include <mdstream/core/json.hpp>
#include <mdstream/raw/detail/object_entries.hpp>
#include <mdstream/raw/format.hpp>
#include <mdstream/raw/options.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::raw::detail {

/// An object as a listing shows it.
struct listed_object {
  std::string key{};  ///< relative to the source's URL
  std::uint64_t bytes = 0;
  std::string tag{};  ///< what changes with its bytes: ETag, generation, time of change

  friend bool operator==(const listed_object&, const listed_object&) = default;
};

/// An object of a source and its cuts.
struct indexed_object {
  listed_object file{};
  std::optional<listed_object> beside{};  ///< a second one that belongs to it: Megatron's `.idx`
  std::string note{};                     ///< what the format has to know of it
  std::vector<cut> cuts{};
  /// Of a compressed object, where its scan looked for them.
  std::optional<object_entries> entries{};

  friend bool operator==(const indexed_object&, const indexed_object&) = default;
};

/// Where a shard is found: the object, and the cut's number in it.
struct shard_place {
  std::size_t object = 0;
  std::size_t cut = 0;
};

/// All that is known of a source before its rows are read. Objects are sorted by key; shards are
/// their cuts, in this order. Text form: JSON lines, see docs/raw.md.
struct row_index {
  static constexpr std::uint64_t version = 1;

  raw::options options{};  ///< the columns are those of the samples, inferred or named
  std::vector<indexed_object> objects{};

  [[nodiscard]] std::uint64_t shards() const noexcept;
  [[nodiscard]] std::uint64_t samples() const noexcept;

  /// Every shard's place, by number.
  [[nodiscard]] std::vector<shard_place> places() const;

  /// The text. O(shards).
  [[nodiscard]] std::string dump() const;
  /// Throws errc::corrupt, naming line and byte, for a text that is no row index, contradicts
  /// itself or names a key that leaves the source; errc::unsupported for another version.
  [[nodiscard]] static row_index parse(std::string_view text);

  friend bool operator==(const row_index& a, const row_index& b) { return a.dump() == b.dump(); }

  /// What a saved state notes of the source: changes with keys, cuts, columns and options, and with
  /// tags where cuts have no checksums. So a copy elsewhere may be the same source. Entry points
  /// change nothing of what is read.
  [[nodiscard]] std::uint64_t fingerprint() const;
};

/// What a shard is made of, as one text: two shards with the same identity have the same bytes.
/// Names of cached shards are made of it.
[[nodiscard]] std::string identity_of(const row_index& index, const shard_place& place);

/// What an update of an index has to do, by the object's tag and size.
struct index_update {
  std::vector<listed_object> to_scan{};  ///< new, or changed
  std::vector<listed_object> changed{};  ///< those of them that the index has with another tag
  std::vector<std::string> gone{};
};

/// Parts of an index as JSON text, and read from there. These are not made as `json::value`: an
/// index may have millions of lines.
void append_json(std::string& out, const listed_object& file, bool with_tag = true);
void append_json(std::string& out, const std::vector<cut>& cuts);
[[nodiscard]] listed_object read_object(json::reader& in);
[[nodiscard]] std::vector<cut> read_cuts(json::reader& in);

[[nodiscard]] json::value json_of(const options& about);

[[nodiscard]] options options_of(const json::value& text);

/// Why an index cannot have this key; nothing where it can.
[[nodiscard]] std::optional<std::string_view> unsafe_object_key(std::string_view key) noexcept;

/// Checks what fetches rely on: cuts come in their order, each in a stretch of its own.
void check_cuts(const std::vector<cut>& cuts, std::uint64_t shard_bytes);

[[nodiscard]] std::uint64_t plus(std::uint64_t a, std::uint64_t b);

std::string identity_of(const row_index& index, const shard_place& place);

/// Compares an index with a new listing, which is sorted by key. O(objects).
[[nodiscard]] index_update compare(const row_index& index,
                                   const std::vector<listed_object>& listing);

/// Throws errc::corrupt, naming object and both tags, if the object is another one by now.
void check_unchanged(const listed_object& indexed, const listed_object& found);

}  // namespace mdstream::inline v0::raw::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/raw/detail/impl/row_index.ipp>
#endif
