#pragma once

/// Makes the row index of a source: scans its objects in parallel, and goes on where an earlier run
/// ended.

#include <mdstream/raw/detail/index_builder.hpp>
#include <mdstream/source/detail/kept_scans.hpp>
#include <mdstream/source/detail/scan.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::raw {

/// Counted while an index is made, by any thread.
struct index_progress {
  std::atomic<std::uint64_t> bytes{0};           ///< of objects as they are stored, that were read
  std::atomic<std::uint64_t> bytes_expected{0};  ///< in the end
  std::atomic<std::uint64_t> objects{0};         ///< of the source
};

/// How a row index is built.
struct index_settings {
  unsigned jobs = 0;  ///< stretches that are scanned at a time; 0: twice the cores, at least 8
  /// A scan is kept for a later run when so many bytes were read since the last time.
  byte_size keep_every = 256_MiB;
  /// What objects that did not change are taken from; the columns are its columns.
  const detail::row_index* known = nullptr;
  /// Entry points of compressed objects are kept, so that a shard is not read from its object's
  /// beginning.
  bool entries = true;
  index_progress* progress = nullptr;  ///< if set, counts what has been read
  std::stop_token stop{};              ///< ends the build with `errc::canceled`
};

/// A row index, and what building it took.
struct made_index {
  detail::row_index index{};
  std::uint64_t skipped = 0;      ///< rows, or empty files, that were left out by this run's scans
  std::uint64_t resumed = 0;      ///< stretches that an earlier run had scanned
  detail::index_update update{};  ///< against `index_settings::known`
};

/// The name of a row index in its directory.
inline constexpr std::string_view row_index_name = "rows.jsonl";
/// Where a row index lies below its source, unless it was told otherwise.
inline constexpr std::string_view row_index_directory = ".mdstream";

/// The row index of a directory, or nothing. Throws as `row_index::parse`.
[[nodiscard]] std::optional<detail::row_index> read_row_index(const opened_store& place);
/// The same of an asynchronous store; not for a thread of its runtime.
[[nodiscard]] std::optional<detail::row_index> read_row_index(const any_async_store& place);

namespace detail {

/// One making of an index.
class row_index_run {
 public:
  row_index_run(const any_async_store& source, const mdstream::detail::stream_decoders& decoders,
                source_format format, std::vector<listed_object> listing, const opened_store& place,
                const index_settings& settings);

  /// The settings that scans depend on.
  [[nodiscard]] const options& about() const noexcept { return format_.settings(); }

  [[nodiscard]] made_index run(mdstream::detail::kept_scans& kept);

 private:
  struct unit {
    std::size_t object = 0;
    mdstream::detail::stretch_of what{};
  };

  [[nodiscard]] const indexed_object& object(std::size_t i) const { return builder_->objects()[i]; }

  void plan();

  /// Objects that an index has cut already.
  void take_known();

  [[nodiscard]] std::vector<column> infer_all() const;

  void scan_all(mdstream::detail::kept_scans& kept);

  void told(std::uint64_t bytes) const;

  void take(const unit& of, scan_record found);

  /// Writes the states of entry points beside the index.
  void keep_states(scan_record& found) const;

  const any_async_store& source_;
  const mdstream::detail::stream_decoders& decoders_;
  source_format format_;
  std::vector<listed_object> listing_;
  const opened_store& place_;
  const index_settings& settings_;
  const unsigned jobs_;
  std::optional<index_builder> builder_{};
  std::vector<const indexed_object*> known_{};  // by object; null: it has to be scanned
  std::vector<unit> units_{};
  std::mutex mutex_{};
  std::vector<std::vector<object_cuts>> found_{};  // by object and stretch
  column_inference columns_{};
  std::optional<std::size_t> first_of_{};  // the object whose columns came first
  const column_inference empty_{};
  made_index out_{};
};

}  // namespace detail

/// Makes the row index of a listing (`list_source`) and writes it to `place`, whole or not at all.
///
/// Objects, and the stretches of large ones, are scanned in parallel. What was scanned is kept in
/// `place` until the index is there, so that a run which was killed is gone on with by calling this
/// again; an object that has another version by then is scanned anew. The index depends on the
/// objects and the options alone. For an update, `settings.known` is the index there was, and the
/// format is opened with its options.
///
/// Throws errc::not_found where there is no data; errc::corrupt, naming the object, where one
/// changed while it was read; what the format refuses, naming object and byte; errc::canceled after
/// a stop. Blocks: not for a thread of the stores' runtime.
/// Memory: for each job 8 MiB and the largest row, with `skip_bad` a shard besides, of a compressed
/// object up to 64 MiB of entry points; the listing.
///
///     const mds::raw::made_index made = mds::raw::build_index(
///         store, mds::full_codec::streams(), mds::raw::plain_formats::open({.format = "jsonl"}),
///         mds::raw::list_source(store, "*.jsonl"), mds::store::local("/data/logs/.mdstream"));
[[nodiscard]] made_index build_index(const any_async_store& source,
                                     const mdstream::detail::stream_decoders& decoders,
                                     source_format format,
                                     std::vector<detail::listed_object> listing,
                                     const opened_store& place,
                                     const index_settings& settings = {});

}  // namespace mdstream::inline v0::raw

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/source/detail/impl/build_index.ipp>
#endif
