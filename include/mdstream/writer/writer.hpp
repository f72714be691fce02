#pragma once

/// Writes MDS datasets, as Python's MDSWriter does: the same split into shards, the same bytes, the
/// same index.

#include <mdstream/format/encode_sample.hpp>
#include <mdstream/format/mds_shard_builder.hpp>
#include <mdstream/format/sample_encoder.hpp>
#include <mdstream/format/schema.hpp>
#include <mdstream/writer/detail/dataset_sink.hpp>
#include <mdstream/writer/options.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace mdstream::inline v0 {

/// Writes samples into shards of a store.
///
///     writer<policies> out({.out = "/data/c4", .compression = "zstd", .size_limit = 64_MiB});
///     for (...) out.write(tokens);
///     out.finish();
///
/// `Policies` names `schema`, `store`, `codec` and `hash`. The index is written by `finish`, when
/// everything else is stored; without it readers see no dataset, so a writer that is destroyed
/// earlier, by an exception say, leaves nothing that looks complete. Not for two threads at once.
template <class Policies>
class writer {
 public:
  using schema = typename Policies::schema;
  using store = typename Policies::store;
  using options = writer_options<store>;

  /// Throws errc::invalid_argument for options that can not be right or a dataset that is already
  /// there, errc::unsupported for a codec or hash that the policies do not serve, and what the
  /// store throws.
  explicit writer(options opts)
      : layout_(make_layout(opts)),
        limit_(detail::checked_size_limit(opts.size_limit.value)),
        encoder_(layout_),
        config_(detail::mds_config(layout_, opts.compression, opts.hashes, opts.size_limit.value)),
        sink_(opts, shard_format::mds, config_, layout_,
              [text = json::dump(config_, json::key_order::sorted), limit = limit_] {
                return std::make_unique<builder>(text, limit);
              }) {}

  writer(const writer&) = delete;
  writer& operator=(const writer&) = delete;

  /// Writes a sample: one value a column, in the schema's order.
  /// Throws errc::invalid_argument, naming the column, for a value that can not be stored; the
  /// writer stays usable. Throws what storing an earlier shard failed with.
  template <class... Values>
    requires(!schema::is_dynamic)
  void write(const Values&... values) {
    static_assert(sizeof...(Values) == schema::size, "write takes one value for each column");
    encode_sample<schema>([this](std::uint64_t bytes) { return place(bytes); }, values...);
  }

  /// Writes a sample: values by column name, in any order. Values of other columns are ignored.
  void write(std::span<const named_value> values)
    requires(schema::is_dynamic)
  {
    encoder_.encode(values.data(), values.size());
    encoder_.copy_to(place(encoder_.size()));
  }
  void write(std::initializer_list<named_value> values)
    requires(schema::is_dynamic)
  {
    write(std::span<const named_value>(values.begin(), values.size()));
  }

  /// Writes a sample that is already in MDS form, `sample_layout` and all. It is checked.
  void write_raw(bytes_view sample) {
    layout_.check(sample);
    std::memcpy(place(sample.size()), sample.data(), sample.size());
  }

  /// Stores the last shard, waits for all, and writes the index. Afterwards nothing can be written.
  void finish() { sink_.finish(); }

  /// Samples written so far.
  [[nodiscard]] std::uint64_t samples() const noexcept { return samples_; }
  /// Shards completed so far.
  [[nodiscard]] std::uint64_t shards() const noexcept { return sink_.shards(); }
  [[nodiscard]] const sample_layout& layout() const noexcept { return layout_; }

 private:
  struct builder : mds_shard_builder {
    using mds_shard_builder::mds_shard_builder;
    void fill(detail::finished_shard& shard) { shard.data = finish(); }
  };

  static sample_layout make_layout(const options& opts) {
    if constexpr (schema::is_dynamic) {
      return sample_layout::mds(opts.columns);
    } else {
      if (!opts.columns.empty())
        throw error(errc::invalid_argument, "the columns are those of the policies' schema");
      return schema::layout();
    }
  }

  /// Where the next sample of `bytes` bytes goes; the shard before is completed if it is full.
  std::byte* place(std::uint64_t bytes) {
    sink_.require_open();
    if (limit_ != 0 && limit_ < sink_.builder().file_size() + 4 + bytes) sink_.flush();
    std::byte* at = sink_.builder().add(bytes);
    ++samples_;
    return at;
  }

  sample_layout layout_;
  std::uint64_t limit_;
  sample_encoder encoder_;
  json::object config_;
  detail::dataset_sink<store, typename Policies::codec, typename Policies::hash, builder> sink_;
  std::uint64_t samples_ = 0;
};

}  // namespace mdstream::inline v0
