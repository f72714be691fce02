#pragma once

/// Parquet files. Needs Arrow's C++ libraries, 21 or newer: link mdstream::parquet.

#if !__has_include(<parquet/arrow/reader.h>)
#error \
    "mdstream/raw/parquet.hpp needs <parquet/arrow/reader.h>: install Arrow's C++ libraries (tools/install-arrow.sh) and link mdstream::parquet"
#endif

#include <mdstream/raw/format.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::raw {

/// A file's footer tells its row groups, which are never parted: those that begin in the same
/// `shard_bytes` of the file's decoded bytes are a shard. Nothing but footers is read to index a
/// source. A shard is fetched as one range, and the footer with it. Where the options name columns,
/// only these are fetched: ranges with a gap below 1 MiB are one.
///
///     using policies = mds::policies<mds::raw::any_format<mds::raw::parquet, mds::raw::jsonl>>;
///
/// All files have the same columns with the same types, or the options name them; a file without
/// one is refused when the source is indexed, unless `null_value` stands for what is missing.
///
/// Inferred columns: numbers by width and sign, `uint8` of booleans, `str`, `bytes`, `str_decimal`,
/// `int32` and `int64` of dates and times in the file's units, `ndarray` of lists of numbers, the
/// bytes of the Hub's pictures and sounds, and `json` of JSON and of all that is nested besides.
/// Memory: of a shard that is made its ranges, and some of its rows as Arrow decodes them. A file
/// that wants more for these than 8 times its row groups' decoded bytes and 16 times
/// `max_row_bytes`, or than 4 GiB, is refused.
class parquet {
 public:
  static constexpr std::string_view name = "parquet";

  /// Throws errc::invalid_argument for `skip_bad`: an index has to tell how many rows are left, and
  /// rows are not read for it.
  explicit parquet(const options& about = {});

  /// Throws errc::corrupt and errc::unsupported for what does not end as a Parquet file.
  [[nodiscard]] static std::uint64_t tail_bytes(const window& in);

  /// A shard's row groups, and the footer.
  [[nodiscard]] static std::vector<byte_range> ranges(const raw::cut& of);

  std::uint64_t cut(const window& in, cut_sink& out) const;

  void infer(const window& in, detail::column_inference& out) const;

  void transcode(const cut_source& in, detail::sample_sink& out) const;

 private:
  std::uint64_t max_row_bytes_;
  std::vector<std::string> columns_{};  // that are fetched; none: all
  bool has_null_value_;
};

}  // namespace mdstream::inline v0::raw

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/raw/detail/impl/parquet.ipp>
#endif
