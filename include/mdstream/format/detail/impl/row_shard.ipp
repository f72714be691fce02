#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/format/detail/mds_shard_builder.hpp>
#include <mdstream/format/detail/row_shard.hpp>
#include <mdstream/version.hpp>

#include <cstring>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE row_shard_view::row_shard_view(bytes_view data, bytes_view meta,
                                               std::uint64_t samples)
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

MDSTREAM_INLINE bytes_view row_shard_view::operator[](std::uint64_t i) const {
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

MDSTREAM_INLINE void row_shard_view::fail(std::string what, std::uint64_t byte) {
  throw error(errc::corrupt, diagnostics{.what = std::move(what), .byte = byte});
}

MDSTREAM_INLINE void row_shard_view::fail_offsets(std::uint64_t i, std::uint32_t begin,
                                                  std::uint32_t end) const {
  throw error(
      errc::corrupt,
      diagnostics{.what = "offsets " + std::to_string(begin) + " to " + std::to_string(end) +
                          (begin >= end ? " hold no row: they do not run forwards"
                                        : " reach beyond the data's " +
                                              std::to_string(data_.size()) + " bytes"),
                  .sample = i,
                  .byte = 4 + 4 * i});
}

MDSTREAM_INLINE void row_shard_builder::add(std::string_view row) {
  if (row.empty()) throw error(errc::invalid_argument, "a row without bytes can not be stored");
  if (data_.size() + row.size() > mds_shard_builder::max_bytes)
    throw error(errc::invalid_argument,
                "a shard of 4 GiB or more can not be stored: set a smaller size_limit");
  data_ += row;
  offsets_.push_back(static_cast<std::uint32_t>(data_.size()));
}

MDSTREAM_INLINE void row_shard_builder::finish() {
  meta_.resize(4 + 4 * offsets_.size() + config_.size());
  store_to(meta_.data(), static_cast<std::uint32_t>(samples()));
  std::memcpy(meta_.data() + 4, offsets_.data(), 4 * offsets_.size());
  std::memcpy(meta_.data() + 4 + 4 * offsets_.size(), config_.data(), config_.size());
}

MDSTREAM_INLINE void row_shard_builder::clear() {
  data_ = head_;
  offsets_.assign(1, static_cast<std::uint32_t>(head_.size()));
}

}  // namespace mdstream::inline v0::detail
