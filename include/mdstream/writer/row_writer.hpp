#pragma once

/// Writes JSONL, CSV, TSV and XSV datasets, as Python's JSONWriter and XSVWriter do.

#include <mdstream/format/row_values.hpp>
#include <mdstream/policies.hpp>
#include <mdstream/writer/detail/row_sink.hpp>
#include <mdstream/writer/options.hpp>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>

namespace mdstream::inline v0 {

/// Writes rows into shards of a store; `writer` says more about what both do alike.
///
///     row_writer<policies> out({.out = "/data/labels", .format = shard_format::csv,
///                               .columns = {{"name", "str"}, {"count", "int"}}});
///     out.write({{"name", "a"}, {"count", 3}});
///     out.finish();
///
/// Of the policies, store, codec and hash count.
template <class Policies = policies<>>
class row_writer {
  static_assert(detail::checked_policies<Policies>::value);

 public:
  using options = row_writer_options;

  /// Throws errc::invalid_argument for options that cannot be right or a dataset that is already
  /// there, errc::unsupported for a codec or hash that the policies do not serve, and what the
  /// store throws.
  explicit row_writer(options opts) : out_(std::move(opts), detail::storage_of<Policies>()) {}

  row_writer(const row_writer&) = delete;
  row_writer& operator=(const row_writer&) = delete;

  /// Writes a row: values by column name, in any order. Values of other columns are ignored. Types
  /// have to be the columns': text, integers of any size, doubles.
  /// Throws errc::invalid_argument, naming the column, for a value that cannot be stored; the
  /// writer stays usable. Throws what storing an earlier shard failed with.
  void write(std::span<const named_value> values) { out_.write(values); }
  void write(std::initializer_list<named_value> values) {
    write(std::span<const named_value>(values.begin(), values.size()));
  }

  /// Stores the last shard, waits for all, and writes the index. Afterwards nothing can be written.
  void finish() { out_.finish(); }

  /// Rows that are there already and are kept: with `existing` as resume, what a killed writer
  /// left in complete shards; write what comes after them. With an index also those of the index.
  [[nodiscard]] std::uint64_t kept_samples() const noexcept { return out_.kept_samples(); }
  /// Rows written by this writer so far.
  [[nodiscard]] std::uint64_t samples() const noexcept { return out_.samples(); }
  /// Shards completed so far.
  [[nodiscard]] std::uint64_t shards() const noexcept { return out_.shards(); }
  [[nodiscard]] const sample_layout& layout() const noexcept { return out_.layout(); }

 private:
  detail::row_sink out_;
};

}  // namespace mdstream::inline v0
