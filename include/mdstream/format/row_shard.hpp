#pragma once

/// JSONL, CSV, TSV and XSV shards as views over mapped bytes, and their builder.
///
/// A shard is two files. The data: rows of text, one after another, in XSV after a first line with
/// the columns' names. The meta: u32 n; n + 1 u32 offsets into the data, so that row i is
/// [offsets[i], offsets[i + 1]); the configuration as JSON text, which readers ignore.

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/format/mds_shard_builder.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// A whole raw shard of rows. Owns nothing: valid as long as the bytes are. Safe from any thread.
class row_shard_view {
 public:
  row_shard_view() = default;

  /// `data` and `meta`: the bytes of the two files; `samples`: how many rows the index says there
  /// are. O(1): offsets are checked as they are used.
  /// Throws errc::corrupt, naming the byte, if the meta file is shorter than its offsets or holds
  /// another number of rows.
  row_shard_view(bytes_view data, bytes_view meta, std::uint64_t samples)
      : data_(data), meta_(meta), samples_(samples) {
    if (meta.size() < 4 || (meta.size() - 4) / 4 < samples_ + 1 || samples_ + 1 == 0)
      fail("the meta file has " + std::to_string(meta.size()) +
               " bytes, too few for the offsets of " + std::to_string(samples_) + " rows",
           meta.size());
    if (load<std::uint32_t>(meta.data()) != samples_)
      fail("the meta file says that there are " + std::to_string(load<std::uint32_t>(meta.data())) +
               " rows, the index says " + std::to_string(samples_),
           0);
  }

  /// The number of rows.
  [[nodiscard]] std::uint64_t size() const noexcept { return samples_; }
  [[nodiscard]] bool empty() const noexcept { return samples_ == 0; }

  /// The bytes of row `i`, with its newline.
  /// Throws errc::out_of_range beyond the end, errc::corrupt if its offsets run backwards, are
  /// equal, or leave the data; both name the row as sample, and the byte of the meta file.
  [[nodiscard]] bytes_view operator[](std::uint64_t i) const {
    if (i >= samples_)
      throw error(errc::out_of_range,
                  diagnostics{.what = "the shard has only " + std::to_string(samples_) + " samples",
                              .sample = i});
    const std::byte* at = meta_.data() + 4 + 4 * static_cast<std::size_t>(i);
    const std::uint32_t begin = load<std::uint32_t>(at);
    const std::uint32_t end = load<std::uint32_t>(at + 4);
    if (begin >= end || end > data_.size()) fail_offsets(i, begin, end);
    return {data_.data() + begin, end - begin};
  }

 private:
  [[noreturn]] static void fail(std::string what, std::uint64_t byte) {
    throw error(errc::corrupt, diagnostics{.what = std::move(what), .byte = byte});
  }

  [[noreturn]] void fail_offsets(std::uint64_t i, std::uint32_t begin, std::uint32_t end) const {
    throw error(
        errc::corrupt,
        diagnostics{.what = "offsets " + std::to_string(begin) + " to " + std::to_string(end) +
                            (begin >= end ? " hold no row: they do not run forwards"
                                          : " reach beyond the data's " +
                                                std::to_string(data_.size()) + " bytes"),
                    .sample = i,
                    .byte = 4 + 4 * i});
  }

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
  void add(std::string_view row) {
    if (row.empty()) throw error(errc::invalid_argument, "a row without bytes can not be stored");
    if (data_.size() + row.size() > mds_shard_builder::max_bytes)
      throw error(errc::invalid_argument,
                  "a shard of 4 GiB or more can not be stored: set a smaller size_limit");
    data_ += row;
    offsets_.push_back(static_cast<std::uint32_t>(data_.size()));
  }

  /// Completes the two files; `data` and `meta` are valid until the next call. `clear` comes next.
  void finish() {
    meta_.resize(4 + 4 * offsets_.size() + config_.size());
    store_to(meta_.data(), static_cast<std::uint32_t>(samples()));
    std::memcpy(meta_.data() + 4, offsets_.data(), 4 * offsets_.size());
    std::memcpy(meta_.data() + 4 + 4 * offsets_.size(), config_.data(), config_.size());
  }
  [[nodiscard]] bytes_view data() const noexcept { return as_bytes(data_); }
  [[nodiscard]] bytes_view meta() const noexcept { return meta_; }

  /// Begins the next shard in the same memory.
  void clear() {
    data_ = head_;
    offsets_.assign(1, static_cast<std::uint32_t>(head_.size()));
  }

 private:
  std::string head_;
  std::string config_;
  std::string data_;
  std::vector<std::uint32_t> offsets_;
  std::vector<std::byte> meta_;
};

}  // namespace mdstream::inline v0
