#pragma once

/// Datasets whose samples belong together, joined column by column: a stream of the first one's
/// shards, which get the columns of the others when they are fetched.

#include <mdstream/cache/detail/shard_maker.hpp>
#include <mdstream/codec/detail/codec_set.hpp>
#include <mdstream/core/detail/pages.hpp>
#include <mdstream/format/detail/mds_shard_builder.hpp>
#include <mdstream/format/index.hpp>
#include <mdstream/hash/detail/hash_set.hpp>
#include <mdstream/source/detail/source_request.hpp>
#include <mdstream/store/any_async_store.hpp>
#include <mdstream/store/detail/call.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// The stores of several datasets as one: "1/shard.00000.mds" is a key of the second.
class joined_store final : public store_interface {
 public:
  explicit joined_store(std::vector<any_async_store> parts) : parts_(std::move(parts)) {}

  MDSTREAM_INLINE void start(store_call call, std::stop_token stop, diagnostics& where,
                             answer_handler done) const override;
  [[nodiscard]] MDSTREAM_INLINE std::string url(std::string_view key) const override;
  [[nodiscard]] MDSTREAM_INLINE store_abilities abilities() const override;
  [[nodiscard]] std::string credentials() const override { return parts_.front().credentials(); }

 private:
  /// The store that has a key, which becomes its own; null where there is none.
  [[nodiscard]] const any_async_store* part_of(std::string_view& key) const;

  std::vector<any_async_store> parts_;
};

/// What a join is made of.
struct join_request {
  std::vector<any_async_store> parts{};  ///< each of a dataset's directory; repeat by themselves
  codec_set codecs;
  hash_set hashes;
  std::string validate_hash{};
  index_options index{};
};

/// Makes the shards of a join. Immutable; any thread may ask. Outlives what its makings do.
class joined_maker final : public shard_maker {
 public:
  /// A dataset: its index, and the number of the first sample of each shard, and of all samples.
  struct dataset {
    dataset_index index{};
    std::vector<std::uint64_t> first{};
  };
  /// Samples of one shard of a dataset that belong to the shard that is made.
  struct fragment {
    std::size_t dataset = 0, shard = 0;
    std::uint64_t begin = 0, end = 0;  ///< of the shard's samples
    bool whole = false;                ///< the shard's file is read as it is, else a range of it
  };

  /// Reads the indexes. Throws `errc::invalid_argument` where the datasets have different numbers
  /// of samples, or two have a column of one name, `errc::unsupported` for shards that are not MDS
  /// or whose columns differ within a dataset, and the errors of stores and indexes. Blocks.
  explicit joined_maker(join_request request);

  /// The text of an index.json with these shards, whose sizes are estimates.
  [[nodiscard]] std::string index_text() const;

  [[nodiscard]] MDSTREAM_INLINE std::unique_ptr<shard_making> begin(
      std::uint32_t shard) const override;
  [[nodiscard]] std::uint64_t step() const override { return 0; }

 private:
  friend class joined_making;

  /// Where a column of the join is.
  struct column_place {
    std::size_t dataset = 0, column = 0;
  };

  [[nodiscard]] dataset read(std::size_t number) const;
  [[nodiscard]] bool names_hash() const;
  void check_lengths() const;
  void settle_columns();
  [[nodiscard]] std::vector<fragment> fragments(std::size_t shard) const;
  /// The file that is read for a fragment.
  [[nodiscard]] file_info file_of(const fragment& of) const;
  [[nodiscard]] std::string url_of(const fragment& of) const;
  [[nodiscard]] std::string config() const;

  const join_request request_;
  std::vector<dataset> sets_;
  sample_layout layout_;
  std::vector<column_place> columns_;  // of `layout_`
};

/// One shard of a join.
class joined_making final : public shard_making {
 public:
  joined_making(const joined_maker& of, std::size_t shard);

  [[nodiscard]] MDSTREAM_INLINE std::vector<object_range> next() override;
  MDSTREAM_INLINE void take(std::vector<part_of_pages> bytes) override;
  MDSTREAM_INLINE void check(const object_range& asked, const object_version& now) const override;
  MDSTREAM_INLINE void finish(const shard_taker& take) override;

 private:
  /// A fragment and what was read of it.
  struct piece {
    joined_maker::fragment of;
    part_of_pages offsets{};  ///< of its samples, and the end; only where a range is read
    part_of_pages bytes{};
    pages unzipped{};

    [[nodiscard]] std::uint64_t offset(std::uint64_t i) const;  ///< `i`: of the fragment
  };

  [[nodiscard]] object_range range_of(const piece& of, std::uint64_t offset,
                                      std::uint64_t bytes) const;
  /// Checks a shard that was read as a whole, and decompresses it.
  void open_whole(piece& of) const;
  /// Checks the offsets of a range.
  void check_offsets(const piece& of) const;
  /// The bytes of each sample of a dataset, one after another.
  [[nodiscard]] std::vector<bytes_view> samples_of(std::size_t dataset) const;

  const joined_maker& of_;
  const std::uint64_t samples_;
  std::vector<piece> pieces_;
  int asked_ = 0;  // times
};

/// Opens a join as a dataset. Throws as `joined_maker`. Blocks: not for a thread of the stores'
/// runtime.
[[nodiscard]] opened_source open_joined(join_request request);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/joined_source.ipp>
#endif
