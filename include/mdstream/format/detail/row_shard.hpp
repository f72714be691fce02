#pragma once

/// JSONL, CSV, TSV and XSV shards as views over mapped bytes, and their builder.
///
/// A shard is two files. The data: rows of text, one after another, in XSV after a first line with
/// the columns' names. The meta: u32 n; n + 1 u32 offsets into the data, so that row i is
/// [offsets[i], offsets[i + 1]); the configuration as JSON text, which readers ignore.

#include <mdstream/core/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// A whole raw shard of rows. Owns nothing: valid as long as the bytes are. Safe from any thread.
class row_shard_view {
 public:
  row_shard_view() = default;

  /// `data` and `meta`: the bytes of the two files; `samples`: how many rows the index says there
  /// are. O(1): offsets are checked as they are used.
  /// Throws errc::corrupt, naming the byte, if the meta file is shorter than its offsets or holds
  /// another number of rows.
  row_shard_view(bytes_view data, bytes_view meta, std::uint64_t samples);

  /// The number of rows.
  [[nodiscard]] std::uint64_t size() const noexcept { return samples_; }
  [[nodiscard]] bool empty() const noexcept { return samples_ == 0; }

  /// The bytes of row `i`, with its newline.
  /// Throws errc::out_of_range beyond the end, errc::corrupt if its offsets run backwards, are
  /// equal, or leave the data; both name the row as sample, and the byte of the meta file.
  [[nodiscard]] bytes_view operator[](std::uint64_t i) const;

 private:
  [[noreturn]] static void fail(std::string what, std::uint64_t byte);

  [[noreturn]] void fail_offsets(std::uint64_t i, std::uint32_t begin, std::uint32_t end) const;

  bytes_view data_;
  bytes_view meta_;
  std::uint64_t samples_ = 0;
};

/// Builds the two files of shards of rows, one shard after another in the same memory. Not for two
/// threads at once.
class row_shard_builder {
 public:
  /// `head`: what each data file begins with; `config`: the JSON text that each meta file embeds.
  row_shard_builder(std::string head, std::string config)
      : head_(std::move(head)), config_(std::move(config)) {
    clear();
  }

  [[nodiscard]] std::uint64_t samples() const noexcept { return offsets_.size() - 1; }

  /// Bytes of the rows so far, which is what the reference measures shards by.
  [[nodiscard]] std::uint64_t row_bytes() const noexcept { return data_.size() - head_.size(); }

  /// Adds a row. Throws errc::invalid_argument, and adds nothing, if it is empty or the data would
  /// reach 4 GiB.
  void add(std::string_view row);

  /// Completes the two files; `data` and `meta` are valid until the next call. `clear` comes next.
  void finish();
  [[nodiscard]] bytes_view data() const noexcept { return as_bytes(data_); }
  [[nodiscard]] bytes_view meta() const noexcept { return meta_; }

  /// Begins the next shard in the same memory.
  void clear();

 private:
  std::string head_;
  std::string config_;
  std::string data_;
  std::vector<std::uint32_t> offsets_;
  std::vector<std::byte> meta_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/format/detail/impl/row_shard.ipp>
#endif
