#pragma once

/// Writes MDS datasets, as Python's MDSWriter does: the same split into shards, the same bytes, the
/// same index.

#include <mdstream/format/mds_shard_builder.hpp>
#include <mdstream/format/sample_encoder.hpp>
#include <mdstream/format/schema.hpp>
#include <mdstream/writer/detail/shard_uploader.hpp>
#include <mdstream/writer/options.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

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
        limit_(checked_limit(opts.size_limit.value)),
        encoder_(layout_),
        config_(make_config(layout_, opts)),
        config_text_(json::dump(config_, json::key_order::sorted)),
        uploader_(std::move(opts.out).open(), shard_format::mds, config_, opts.compression,
                  opts.hashes, opts.max_workers),
        builder_(make_builder()) {
    prepare_store(opts.exist_ok);
  }

  writer(const writer&) = delete;
  writer& operator=(const writer&) = delete;

  /// Writes a sample: one value a column, in the schema's order.
  /// Throws errc::invalid_argument, naming the column, for a value that can not be stored; the
  /// writer stays usable. Throws what storing an earlier shard failed with.
  template <class... Values>
    requires(!schema::is_dynamic)
  void write(const Values&... values) {
    static_assert(sizeof...(Values) == schema::size, "write takes one value for each column");
    write_typed(std::index_sequence_for<Values...>(), values...);
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
  void finish() {
    require_open();
    if (builder_->samples() != 0) flush();
    uploader_.wait();
    uploader_.publish_index();
    finished_ = true;
  }

  /// Samples written so far.
  [[nodiscard]] std::uint64_t samples() const noexcept { return samples_; }
  /// Shards completed so far.
  [[nodiscard]] std::uint64_t shards() const noexcept { return shards_; }
  [[nodiscard]] const sample_layout& layout() const noexcept { return layout_; }

 private:
  using builder_ptr = std::unique_ptr<mds_shard_builder>;

  static sample_layout make_layout(const options& opts) {
    if constexpr (schema::is_dynamic) {
      return sample_layout::mds(opts.columns);
    } else {
      if (!opts.columns.empty())
        throw error(errc::invalid_argument, "the columns are those of the policies' schema");
      return schema::layout();
    }
  }

  static std::uint64_t checked_limit(std::uint64_t bytes) {
    if (bytes > mds_shard_builder::max_bytes)
      throw error(errc::invalid_argument, "size_limit is " + std::to_string(bytes) +
                                              " bytes; a shard has to stay below 4 GiB");
    return bytes;
  }

  static json::object make_config(const sample_layout& layout, const options& opts) {
    json::array names;
    json::array encodings;
    json::array sizes;
    for (const column_layout& each : layout.columns()) {
      names.emplace_back(each.name);
      encodings.emplace_back(each.encoding_text);
      sizes.push_back(each.size ? json::value(*each.size) : json::value());
    }
    json::array hashes;
    for (std::size_t i = 0; i < opts.hashes.size(); ++i) {
      if (i > 0 && opts.hashes[i] <= opts.hashes[i - 1])
        throw error(errc::invalid_argument, "hashes must be unique and in sorted order");
      hashes.emplace_back(opts.hashes[i]);
    }
    const std::uint64_t limit = opts.size_limit.value;
    return {{"column_encodings", std::move(encodings)},
            {"column_names", std::move(names)},
            {"column_sizes", std::move(sizes)},
            {"compression", opts.compression.empty() ? json::value() : opts.compression},
            {"format", "mds"},
            {"hashes", std::move(hashes)},
            {"size_limit", limit == 0 ? json::value() : json::value(limit)},
            {"version", 2}};
  }

  [[nodiscard]] builder_ptr make_builder() const {
    return std::make_unique<mds_shard_builder>(config_text_, limit_);
  }

  void prepare_store(bool exist_ok) {
    const store& target = uploader_.store();
    const bool has_index = exists(target, index_file_name);
    const std::vector<object_info> shards = store_list(target, "shard.");
    if (!has_index && shards.empty()) return;
    if (!exist_ok)
      throw error(errc::invalid_argument,
                  diagnostics{.what = "a dataset is already there; set exist_ok to replace it",
                              .url = target.url("")});
    if (has_index) store_remove(target, index_file_name);
    for (const object_info& each : shards) store_remove(target, each.key);
  }

  void require_open() {
    if (finished_) throw error(errc::invalid_argument, "the writer is already finished");
  }

  template <std::size_t I, class V>
  static auto encode_column(const V& value) {
    using declared = typename schema::template declared<I>;
    static_assert(writable_as<V, typename declared::type>,
                  "a value of this type can not be written to that column of the schema");
    try {
      return declared::traits::encode(value);
    } catch (const error& e) {
      diagnostics where = e.where();
      where.column = declared::name.view();
      throw error(e.code(), std::move(where));
    }
  }

  template <std::size_t... I, class... Values>
  void write_typed(std::index_sequence<I...> columns, const Values&... values) {
    const auto parts = std::make_tuple(encode_column<I>(values)...);
    const std::uint64_t size =
        schema::header_bytes + (std::uint64_t{0} + ... + std::get<I>(parts).size());
    std::byte* out = place(size);
    std::byte* sizes = out;
    out += schema::header_bytes;
    (copy_part<schema::storage_order[I]>(parts, sizes, out), ...);
    (void)columns;
  }

  template <std::size_t I, class Parts>
  static void copy_part(const Parts& parts, std::byte*& sizes, std::byte*& out) {
    const auto& part = std::get<I>(parts);
    if constexpr (!fixed_size(schema::template declared<I>::traits::type)) {
      store_to(sizes, static_cast<std::uint32_t>(part.size()));
      sizes += 4;
    }
    part.copy_to(out);
    out += part.size();
  }

  /// Where the next sample of `bytes` bytes goes; the shard before is completed if it is full.
  std::byte* place(std::uint64_t bytes) {
    require_open();
    if (limit_ != 0 && limit_ < builder_->file_size() + 4 + bytes) flush();
    std::byte* at = builder_->add(bytes);
    ++samples_;
    return at;
  }

  void flush() {
    builder_ptr next = take_spare();
    detail::finished_shard shard{.number = shards_, .samples = builder_->samples()};
    shard.data = builder_->finish();
    shard.release = [this, full = std::move(builder_)]() mutable {
      full->clear();
      const std::lock_guard lock(spare_mutex_);
      spare_.push_back(std::move(full));
    };
    builder_ = std::move(next);
    ++shards_;
    uploader_.submit(std::move(shard));
  }

  builder_ptr take_spare() {
    const std::lock_guard lock(spare_mutex_);
    if (spare_.empty()) return make_builder();
    builder_ptr out = std::move(spare_.back());
    spare_.pop_back();
    return out;
  }

  sample_layout layout_;
  std::uint64_t limit_;
  sample_encoder encoder_;
  json::object config_;
  std::string config_text_;
  std::mutex spare_mutex_;
  std::vector<builder_ptr> spare_;
  detail::shard_uploader<store, typename Policies::codec, typename Policies::hash> uploader_;
  builder_ptr builder_;
  std::uint64_t samples_ = 0;
  std::uint64_t shards_ = 0;
  bool finished_ = false;
};

}  // namespace mdstream::inline v0
