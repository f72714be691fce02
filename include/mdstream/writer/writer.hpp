#pragma once

/// Writes MDS datasets, as Python's MDSWriter does: the same split into shards, the same bytes, the
/// same index.

#include <mdstream/format/column_argument.hpp>
#include <mdstream/format/detail/encode_named.hpp>
#include <mdstream/format/detail/encode_sample.hpp>
#include <mdstream/format/detail/sample_encoder.hpp>
#include <mdstream/format/detail/shard_config_json.hpp>
#include <mdstream/format/schema.hpp>
#include <mdstream/policies.hpp>
#include <mdstream/writer/detail/mds_writer.hpp>
#include <mdstream/writer/options.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>

namespace mdstream::inline v0 {

/// Writes samples into shards of a store.
///
///     writer<policies> out({.out = "/data/c4", .compression = "zstd", .size_limit = 64_MiB});
///     for (...) out.write(tokens);
///     out.finish();
///
/// Of the policies, schema, store, codec and hash count. `finish` writes the index, when
/// everything else is stored. Without an index readers see no dataset, so a writer that is
/// destroyed earlier, for example by an exception, leaves nothing that looks complete.
/// Thread safety: one thread at a time.
template <class Policies = policies<>>
class writer {
  static_assert(detail::checked_policies<Policies>::value);

 public:
  using schema = typename Policies::schema;
  using options = writer_options;

  /// Throws errc::invalid_argument for options that cannot be right or a dataset that is already
  /// there, errc::unsupported for a codec or hash that the policies do not serve, and what the
  /// store throws.
  explicit writer(options opts)
      : out_(make_layout(opts), std::move(opts), detail::storage_of<Policies>()) {}

  writer(const writer&) = delete;
  writer& operator=(const writer&) = delete;

  /// Writes a sample: one value for each column, in the schema's order.
  /// Throws errc::invalid_argument, which names the column, for a value that cannot be stored; the
  /// writer stays usable. Also throws the error of an earlier shard that could not be stored.
  template <class... Values>
    requires(!schema::is_dynamic)
  void write(const Values&... values) {
    static_assert(sizeof...(Values) == schema::size, "write takes one value for each column");
    detail::encode_sample<schema>([this](std::uint64_t bytes) { return out_.place(bytes); },
                                  values...);
  }

  /// Writes a sample: one value for each column, each with its column's name, in any order.
  ///
  ///     out.write(col<"label">(3), col<"tokens">(tokens));
  ///
  /// Throws as `write` of values in the schema's order does. With a schema, a name that it lacks
  /// and a column without a value are errors of the compiler.
  template <fixed_string... Names, class... Values>
    requires(sizeof...(Names) > 0)
  void write(const column_argument<Names, Values>&... values) {
    if constexpr (schema::is_dynamic) {
      write({named_value{Names.view(), column_value(values.value)}...});
    } else {
      detail::encode_named<schema>([this](std::uint64_t bytes) { return out_.place(bytes); },
                                   values...);
    }
  }

  /// Writes a sample: values by column name, in any order. Values of other columns are ignored.
  void write(std::span<const named_value> values)
    requires(schema::is_dynamic)
  {
    out_.write(values);
  }
  void write(std::initializer_list<named_value> values)
    requires(schema::is_dynamic)
  {
    write(std::span<const named_value>(values.begin(), values.size()));
  }

  /// Writes a sample that is already in MDS form. It is checked.
  void write_raw(bytes_view sample) { out_.write_raw(sample); }

  /// Ends the shard, of any size: the next sample begins another one. No effect on an empty shard.
  void end_shard() { out_.end_shard(); }

  /// Stores the last shard, waits for all, and writes the index. No sample can be written later.
  void finish() { out_.finish(); }

  /// Samples that are there already and are kept: with `existing` as resume, what a killed writer
  /// left in complete shards; write what comes after them. With an index also those of the index.
  [[nodiscard]] std::uint64_t kept_samples() const noexcept { return out_.kept_samples(); }
  /// Samples written by this writer so far.
  [[nodiscard]] std::uint64_t samples() const noexcept { return out_.samples(); }
  /// Shards completed so far.
  [[nodiscard]] std::uint64_t shards() const noexcept { return out_.shards(); }
  [[nodiscard]] const sample_layout& layout() const noexcept { return out_.layout(); }

 private:
  static sample_layout make_layout(const options& opts) {
    if constexpr (schema::is_dynamic) {
      return sample_layout::mds(opts.columns);
    } else {
      if (!opts.columns.empty())
        throw error(errc::invalid_argument, "the columns are those of the policies' schema");
      return schema::layout();
    }
  }

  detail::mds_writer out_;
};

}  // namespace mdstream::inline v0
