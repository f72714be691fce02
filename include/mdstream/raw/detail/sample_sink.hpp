#pragma once

/// Takes the samples that a format makes of foreign rows, and builds an MDS shard of them.

#include <mdstream/core/error.hpp>
#include <mdstream/format/detail/mds_shard_builder.hpp>
#include <mdstream/format/detail/sample_encoder.hpp>
#include <mdstream/raw/detail/row_values.hpp>
#include <mdstream/raw/options.hpp>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>

namespace mdstream::inline v0::raw::detail {

/// One MDS shard in the making. Its bytes are those that the writer makes of the same samples
/// without a limit, a codec and hashes. Not for two threads at once.
class sample_sink {
 public:
  /// `columns`: those of the samples; `key`: the object that errors name. The hints are the
  /// builder's.
  sample_sink(const options& about, const std::vector<column>& columns, std::string key,
              std::uint64_t size_hint = 0, std::uint64_t samples_hint = 0);
  sample_sink(const sample_sink&) = delete;
  sample_sink& operator=(const sample_sink&) = delete;

  /// Gives the shard away while it is made, as the builder does.
  void stream_to(std::uint64_t samples, mdstream::detail::shard_taker take) {
    builder_.stream_to(samples, std::move(take));
  }

  [[nodiscard]] const sample_layout& layout() const noexcept { return layout_; }
  /// As the user named them or as they were inferred.
  [[nodiscard]] const std::vector<column>& columns() const noexcept { return columns_; }
  /// JSON text of what stands for null; nothing where null is an error.
  [[nodiscard]] const std::optional<std::string>& null_value() const noexcept {
    return null_value_;
  }

  /// Runs `make`, which adds the sample of the row at `byte` of the object. What it refuses is an
  /// error that names object, sample and byte, or is left out and counted, if the options say so.
  /// The byte that an error names is relative to the row.
  template <class Make>
  void row(std::uint64_t byte, Make&& make) {
    builder_.give_pieces();  // what the disk refuses is no fault of the row
    try {
      std::forward<Make>(make)();
    } catch (const error& e) {
      refuse(byte, e);
    }
  }

  /// Adds a sample: values by column, in any order; those of other columns are ignored. Throws
  /// errc::invalid_argument, naming the column, for a value that is missing or does not fit.
  void add(std::span<const named_value> values);
  void add(std::initializer_list<named_value> values) {
    add(std::span<const named_value>(values.begin(), values.size()));
  }

  /// Sets the values of the sample that `add_values` adds. For formats that make many small rows.
  [[nodiscard]] detail::row_values& values() noexcept { return values_; }
  void add_values() { values_.copy_to(add_bytes(values_.size())); }

  /// Adds a sample of `bytes` bytes that is in MDS form, and returns where to write it.
  [[nodiscard]] std::byte* add_bytes(std::uint64_t bytes);

  [[nodiscard]] std::uint64_t samples() const noexcept { return builder_.samples(); }
  /// Rows that were left out.
  [[nodiscard]] std::uint64_t skipped() const noexcept { return skipped_; }
  [[nodiscard]] const std::string& key() const noexcept { return key_; }
  void set_key(std::string_view key) { key_ = key; }

  /// The shard's file, valid until the next call.
  [[nodiscard]] bytes_view finish() { return builder_.finish(); }

 private:
  void refuse(std::uint64_t byte, const error& e);

  std::vector<column> columns_;
  sample_layout layout_;
  mdstream::detail::mds_shard_builder builder_;
  mdstream::detail::sample_encoder encoder_;
  detail::row_values values_;
  std::string key_;
  std::optional<std::string> null_value_;
  bool skip_bad_;
  std::uint64_t skipped_ = 0;
};

}  // namespace mdstream::inline v0::raw::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/raw/detail/impl/sample_sink.ipp>
#endif
