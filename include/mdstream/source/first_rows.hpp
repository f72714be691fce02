#pragma once

/// The rows of a source that has no index, from its first on.

#include <mdstream/codec/detail/stream_decoder.hpp>
#include <mdstream/raw/detail/index_builder.hpp>
#include <mdstream/store/opened_store.hpp>

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::raw {

/// Takes a sample in MDS form; returns whether more are wanted.
using row_taker = std::function<bool(const sample_layout& layout, bytes_view sample)>;

namespace detail {

class first_rows_run {
 public:
  first_rows_run(const any_async_store& store, const mdstream::detail::stream_decoders& decoders,
                 source_format format, std::vector<listed_object> listing, const row_taker& use,
                 std::stop_token stop);

  void run();

 private:
  void hold(listed_object& file) const;

  /// Files as samples: nothing is cut.
  void read_files();

  /// Token files and those that are read from their end: to find the samples costs little.
  void read_scanned(const indexed_object& object);

  void read_streamed(const indexed_object& object);

  void emit(const part& from, std::string_view note, const std::vector<std::uint64_t>& extra);

  const any_async_store& store_;
  const mdstream::detail::stream_decoders& decoders_;
  source_format format_;
  const index_builder builder_;
  const row_taker& use_;
  const std::stop_token stop_;
  bool more_ = true;
};

}  // namespace detail

/// Gives `use` the samples of a listing (`list_source`) in the order of its index, until no more
/// are wanted, reading little more than they need. Columns that are not named are those of the
/// first object's first rows. `format` is best opened with small `shard_bytes`, by which rows are
/// read at a time. Throws as `build_index`, and what a row is refused for.
///
///     mds::raw::for_each_first_row(
///         store, mds::full_codec::streams(), mds::raw::plain_formats::open({.format = "jsonl"}),
///         mds::raw::list_source(store, "*.jsonl"),
///         [&](const mds::sample_layout& layout, mds::bytes_view sample) {
///           use(mds::read_column(layout, sample, "text"));
///           return --left > 0;
///         });
void for_each_first_row(const any_async_store& store,
                        const mdstream::detail::stream_decoders& decoders, source_format format,
                        std::vector<detail::listed_object> listing, const row_taker& use,
                        std::stop_token stop = {});

}  // namespace mdstream::inline v0::raw

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/source/detail/impl/first_rows.ipp>
#endif
