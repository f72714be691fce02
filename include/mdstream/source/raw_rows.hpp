#pragma once

/// The rows of a source of foreign files, by their number in its row index.

#include <mdstream/raw/detail/object_cutter.hpp>
#include <mdstream/raw/detail/transcode.hpp>
#include <mdstream/source/detail/plain_bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// Reads samples by their number. A shard is read as a whole, by requests for its ranges, and made
/// into MDS form; the last ones stay in memory. A compressed object is read from its beginning, or
/// from where the shard before it ended.
///
/// Thread safety: none. Blocks: not for a thread of the store's runtime.
/// Errors: errc::out_of_range; errc::corrupt, naming the object, where it changed since it was
/// indexed; errc::corrupt and errc::invalid_argument, naming object, sample, byte and column, for a
/// row that does not fit.
class raw_rows {
 public:
  /// `format`: opened with the index's options. `shards_in_memory`: at least one.
  raw_rows(raw::source_format format, std::shared_ptr<const raw::detail::row_index> index,
           any_async_store store, stream_decoders decoders, std::size_t shards_in_memory = 2);
  raw_rows(raw::source_format format, raw::detail::row_index index, any_async_store store,
           stream_decoders decoders, std::size_t shards_in_memory = 2)
      : raw_rows(std::move(format),
                 std::make_shared<const raw::detail::row_index>(std::move(index)), std::move(store),
                 std::move(decoders), shards_in_memory) {}

  /// A sample in MDS form. Keeps its shard in memory.
  struct row {
    std::shared_ptr<const raw::detail::transcoded> shard{};
    bytes_view bytes{};
  };

  [[nodiscard]] std::uint64_t size() const noexcept { return begins_.back(); }
  [[nodiscard]] const raw::detail::row_index& index() const noexcept { return *index_; }
  [[nodiscard]] const sample_layout& layout() const noexcept { return layout_; }

  [[nodiscard]] row at(std::uint64_t number, const std::stop_token& stop = {});

  /// The MDS shard of that number of `index().places()`.
  [[nodiscard]] raw::detail::transcoded shard(std::size_t number, const std::stop_token& stop = {});

 private:
  [[nodiscard]] std::shared_ptr<const raw::detail::transcoded> held_shard(
      std::size_t number, const std::stop_token& stop);

  [[nodiscard]] std::vector<std::byte> read(const raw::detail::listed_object& from,
                                            const raw::byte_range& range,
                                            const std::stop_token& stop);

  [[nodiscard]] std::size_t read_range(const raw::detail::listed_object& from, std::uint64_t offset,
                                       mutable_bytes into, const std::stop_token& stop) const;

  [[nodiscard]] std::vector<std::byte> read_packed(const raw::detail::listed_object& from,
                                                   std::unique_ptr<stream_decoder> decoder,
                                                   const raw::byte_range& range,
                                                   const std::stop_token& stop);

  /// Throws if the object is another by now.
  void tell_change(const raw::detail::listed_object& from, const std::stop_token& stop) const;

  const raw::source_format format_;
  const std::shared_ptr<const raw::detail::row_index> index_;
  const sample_layout layout_;
  const any_async_store store_;
  const stream_decoders decoders_;
  const std::size_t shards_in_memory_;
  const std::vector<raw::detail::shard_place> places_;
  std::vector<std::int64_t> labels_{};   // images: by object
  std::vector<std::uint64_t> begins_{};  // the number of each shard's first row, and of all
  std::deque<std::pair<std::size_t, std::shared_ptr<const raw::detail::transcoded>>> held_{};
  std::optional<plain_bytes> packed_{};  // a compressed object, in mid-way
  std::string packed_key_{};
  std::uint64_t packed_end_ = 0;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/source/detail/impl/raw_rows.ipp>
#endif
