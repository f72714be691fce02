#pragma once

/// Makes the shards of a source of foreign files: which ranges of which objects they are made of,
/// and how.

#include <mdstream/cache/detail/shard_maker.hpp>
#include <mdstream/codec/detail/stream_decoder.hpp>
#include <mdstream/raw/detail/index_builder.hpp>
#include <mdstream/raw/detail/sample_sink.hpp>
#include <mdstream/raw/detail/transcode.hpp>
#include <mdstream/source/build_index.hpp>
#include <mdstream/store/opened_store.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace mdstream::inline v0::detail {

/// Where the states of entry points are read from.
struct entry_states {
  /// In front of their names.
  std::string prefix = std::string(raw::row_index_directory) + '/' +
                       std::string(raw::detail::object_entries::directory);
  std::optional<opened_store> store{};  ///< of this machine; else it is that of the files
};

/// Immutable; any thread may ask. Outlives what its makings do; they may be destroyed after it.
class raw_maker final : public shard_maker {
 public:
  /// `format`: opened with the index's options. `store`: what errors name objects by. Throws
  /// errc::unsupported, naming the object, where more than `most_skipped` bytes of it would be
  /// decompressed in front of a shard, because it is one zstd frame.
  raw_maker(raw::source_format format, raw::detail::row_index index, stream_decoders decoders,
            any_async_store store, entry_states states = {});

  static constexpr std::uint64_t most_skipped = std::uint64_t{1} << 30;

  [[nodiscard]] const raw::detail::row_index& index() const noexcept { return index_; }
  [[nodiscard]] std::size_t shards() const noexcept { return places_.size(); }

  /// The text of an index.json with these shards: as they are made, or in place. Their names and
  /// hashes change with their bytes. O(shards).
  [[nodiscard]] std::string index_text(bool in_place) const;

  [[nodiscard]] MDSTREAM_INLINE std::unique_ptr<shard_making> begin(
      std::uint32_t shard) const override;
  [[nodiscard]] std::uint64_t step() const override { return step_; }

 private:
  friend class raw_making;

  [[nodiscard]] std::uint64_t step_of_all() const;
  void check_entries() const;

  [[nodiscard]] const raw::detail::listed_object& object_of(
      const raw::detail::part_range& part) const;
  [[nodiscard]] std::string name_of(const raw::detail::shard_place& place,
                                    const std::vector<raw::detail::part_range>& parts) const;

  const raw::source_format format_;
  const raw::detail::row_index index_;
  const stream_decoders decoders_;
  const any_async_store store_;
  const entry_states states_;
  const std::vector<raw::detail::shard_place> places_;
  std::vector<std::int64_t> labels_{};  // images: by object
  std::uint64_t step_ = 0;
};

/// One shard. A compressed object is decompressed from the last entry point before the shard, or
/// from its beginning, up to the shard's end.
class raw_making final : public shard_making {
 public:
  raw_making(const raw_maker& of, const raw::detail::shard_place& place);

  [[nodiscard]] MDSTREAM_INLINE std::vector<object_range> next() override;
  MDSTREAM_INLINE void take(std::vector<part_of_pages> bytes) override;
  MDSTREAM_INLINE void check(const object_range& asked, const object_version& now) const override;
  MDSTREAM_INLINE void finish(const shard_taker& take) override;

 private:
  static constexpr std::uint64_t packed_at_once = std::uint64_t{16} << 20;
  static constexpr std::uint64_t least_packed_at_once = std::uint64_t{256} << 10;

  [[nodiscard]] object_range range_of(std::size_t part) const;
  /// Finds the last entry point before the shard, and about where its compressed bytes end.
  void find_entry();
  [[nodiscard]] object_range range_of_state() const;
  void read_state();
  void enter(bytes_view state);
  [[nodiscard]] object_range next_packed();
  /// Tells in `where` what was entered.
  void name_entry(diagnostics& where) const;
  void make(const shard_taker& take);
  void decode(bytes_view packed);
  /// Names the object, and the byte before the last `left` that were read.
  [[noreturn]] void fail_packed(std::error_code code, diagnostics where, std::size_t left) const;

  const raw_maker& of_;
  const raw::detail::indexed_object& object_;
  const raw::cut& cut_;
  const std::vector<raw::detail::part_range> parts_;
  const raw::detail::object_entry* entry_ = nullptr;
  std::unique_ptr<stream_decoder> decoder_;     // of a compressed object; null until it is entered
  std::vector<part_of_pages> bytes_;            // of the parts
  std::uint64_t packed_read_ = 0;               // of the compressed object
  std::uint64_t packed_until_ = 0;              // about where the shard's end is
  std::uint64_t packed_step_ = packed_at_once;  // how much is read at a time from there on
  std::uint64_t plain_at_ = 0;                  // decompressed so far
  bool asked_ = false;                          // for the parts as they are
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/source/detail/impl/raw_maker.ipp>
#endif
