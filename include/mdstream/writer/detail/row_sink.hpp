#pragma once

/// Rows into shards of JSONL, CSV, TSV and XSV: what a row_writer does.

#include <mdstream/core/json/writer.hpp>
#include <mdstream/format/detail/row_shard.hpp>
#include <mdstream/format/detail/shard_config_json.hpp>
#include <mdstream/format/row_values.hpp>
#include <mdstream/writer/detail/dataset_sink.hpp>
#include <mdstream/writer/detail/stored_shards.hpp>
#include <mdstream/writer/options.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

class row_sink {
 public:
  row_sink(row_writer_options&& opts, const storage_policies& storage)
      : config_(make_config(opts)),
        limit_(checked_size_limit(opts.size_limit.value)),
        encoder_(config_),
        entry_(make_entry(config_, opts)),
        sink_(
            opts, storage, opts.format, entry_, config_.layout,
            [head = encoder_.head(), text = json::dump(entry_, json::key_order::sorted)] {
              return std::make_unique<row_shard>(head, text);
            },
            [this](bytes_view data, bytes_view meta) {
              return check_stored_rows(data, meta, encoder_.head(), entry_);
            }) {}

  void write(std::span<const named_value> values) {
    sink_.require_open();
    const std::string_view row = encoder_.encode(values.data(), values.size());
    if (limit_ != 0 && limit_ < builder().row_bytes() + row.size() && !must_not_be_empty() &&
        !sink_.is_cut_already())
      sink_.flush();
    builder().add(row);
    ++samples_;
  }

  void finish() { sink_.finish(); }

  [[nodiscard]] std::uint64_t kept_samples() const noexcept { return sink_.kept_samples(); }
  [[nodiscard]] std::uint64_t samples() const noexcept { return samples_; }
  [[nodiscard]] std::uint64_t shards() const noexcept { return sink_.shards(); }
  [[nodiscard]] const sample_layout& layout() const noexcept { return config_.layout; }

 private:
  struct row_shard final : growing_shard {
    row_shard(const std::string& head, const std::string& config) : made(head, config) {}
    [[nodiscard]] std::uint64_t samples() const override { return made.samples(); }
    void fill(finished_shard& shard) override {
      made.finish();
      shard.data = made.data();
      shard.meta = made.meta();
    }
    void clear() override { made.clear(); }
    row_shard_builder made;
  };

  [[nodiscard]] row_shard_builder& builder() noexcept {
    return static_cast<row_shard&>(sink_.shard()).made;
  }

  /// Python's zstd cannot read compressed files of no bytes: where a first row beyond the limit
  /// would leave one, it goes into the first shard instead of the second.
  [[nodiscard]] bool must_not_be_empty() const {
    return sink_.shard().samples() == 0 && !config_.compression.empty() &&
           config_.layout.format() == shard_format::json;
  }

  static shard_config make_config(const row_writer_options& opts) {
    const auto refuse = [](std::string what) {
      throw error(errc::invalid_argument, std::move(what));
    };
    if (opts.format == shard_format::mds) refuse("rows do not go into MDS shards: use writer");
    if (opts.format != shard_format::xsv && !opts.separator.empty())
      refuse("only xsv has a separator of choice");
    shard_config out{
        .layout = make_layout(opts), .compression = opts.compression, .newline = opts.newline};
    if (opts.format == shard_format::json) {
      if (opts.newline.find_first_not_of(" \t\r\n") != std::string::npos)
        refuse("the newline of JSONL has to be white space");
      return out;
    }
    out.separator = opts.format == shard_format::csv   ? ","
                    : opts.format == shard_format::tsv ? "\t"
                                                       : opts.separator;
    if (out.separator.empty() || out.newline.empty() || out.separator == out.newline)
      refuse("xsv needs a separator and a newline, and not the same");
    for (const column_layout& column : out.layout.columns())
      if (column.name.find(out.separator) != std::string::npos ||
          column.name.find(out.newline) != std::string::npos)
        refuse("the column name \"" + column.name + "\" holds the separator or the newline");
    return out;
  }

  static sample_layout make_layout(const row_writer_options& opts) {
    std::vector<column_layout> columns;
    for (const column_spec& spec : opts.columns) {
      const auto type = find_cell_encoding(spec.encoding_text);
      if (!type)
        throw error(errc::invalid_argument,
                    diagnostics{.what = "\"" + spec.encoding_text +
                                        "\" is no type of a cell: there are str, int and float",
                                .column = spec.name});
      columns.push_back({spec.name, spec.encoding_text, *type, std::nullopt});
    }
    if (columns.empty()) throw error(errc::invalid_argument, "a dataset needs at least one column");
    std::sort(columns.begin(), columns.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    for (std::size_t i = 1; i < columns.size(); ++i)
      if (columns[i].name == columns[i - 1].name)
        throw error(errc::invalid_argument,
                    diagnostics{.what = "a column is named twice", .column = columns[i].name});
    return {opts.format, std::move(columns)};
  }

  static json::object make_entry(const shard_config& config, const row_writer_options& opts) {
    json::object out =
        common_config(opts.format, opts.compression, opts.hashes, opts.size_limit.value);
    out.emplace_back("newline", opts.newline);
    if (opts.format == shard_format::json) {
      json::object columns;
      for (const column_layout& each : config.layout.columns())
        columns.emplace_back(each.name, each.encoding_text);
      out.emplace_back("columns", std::move(columns));
      return out;
    }
    json::array names;
    json::array encodings;
    for (const column_layout& each : config.layout.columns()) {
      names.emplace_back(each.name);
      encodings.emplace_back(each.encoding_text);
    }
    out.emplace_back("column_names", std::move(names));
    out.emplace_back("column_encodings", std::move(encodings));
    if (opts.format == shard_format::xsv) out.emplace_back("separator", opts.separator);
    return out;
  }

  shard_config config_;
  std::uint64_t limit_;
  row_encoder encoder_;
  json::object entry_;
  dataset_sink sink_;
  std::uint64_t samples_ = 0;
};

}  // namespace mdstream::inline v0::detail
