#pragma once

#include <mdstream/core/detail/pages.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/format/detail/mds_shard_builder.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstring>
#include <new>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void growing_bytes::restart(std::size_t headroom, std::size_t expected) {
  begin_ = end_ = 0;
  reserve(headroom + expected);
  begin_ = end_ = headroom;
}

MDSTREAM_INLINE std::byte* growing_bytes::extend(std::size_t bytes) {
  reserve(end_ + bytes);
  end_ += bytes;
  return memory_.get() + (end_ - bytes);
}

MDSTREAM_INLINE std::byte* growing_bytes::prepend(std::size_t bytes) {
  if (begin_ < bytes) {
    const std::size_t shift = bytes - begin_;
    reserve(end_ + shift);
    std::memmove(memory_.get() + bytes, memory_.get() + begin_, end_ - begin_);
    begin_ += shift;
    end_ += shift;
  }
  begin_ -= bytes;
  return memory_.get() + begin_;
}

MDSTREAM_INLINE void growing_bytes::drop(std::size_t bytes) noexcept {
  const std::size_t left = size() - bytes;
  if (left > 0) std::memmove(memory_.get(), memory_.get() + begin_ + bytes, left);
  begin_ = 0;
  end_ = left;
}

MDSTREAM_INLINE void growing_bytes::reserve(std::size_t capacity) {
  if (capacity <= capacity_) return;
  const std::size_t wanted = std::max(capacity, capacity_ + capacity_ / 2);
  void* grown = std::realloc(memory_.get(), wanted);
  if (grown == nullptr) throw std::bad_alloc();
  (void)memory_.release();
  memory_.reset(static_cast<std::byte*>(grown));
  capacity_ = wanted;
  want_large_pages(grown, wanted);
}

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0::detail {

// What was made is still in the processor's cache when it is given away, in whole pieces of the
// file, for which the page cache takes large pages.
inline constexpr std::uint64_t given_piece = std::uint64_t{256} << 10;

MDSTREAM_INLINE void mds_shard_builder::stream_to(std::uint64_t samples, shard_taker take) {
  size_hint_ = 2 * given_piece;
  take_ = std::move(take);
  given_to_ = header_size(samples);
}

MDSTREAM_INLINE void mds_shard_builder::give_pieces() {
  if (!take_ || body_.size() < given_piece) return;
  const std::uint64_t end = (given_to_ + body_.size()) / given_piece * given_piece;
  give(static_cast<std::size_t>(end - given_to_));
}

MDSTREAM_INLINE void mds_shard_builder::give(std::size_t bytes) {
  if (bytes == 0) return;
  take_(given_to_, body_.view().first(bytes));
  given_to_ += bytes;
  body_.drop(bytes);
}

MDSTREAM_INLINE std::byte* mds_shard_builder::add(std::uint64_t bytes) {
  if (bytes == 0) throw error(errc::invalid_argument, "a sample without bytes can not be stored");
  if (bytes > max_bytes || file_size() + 4 + bytes > max_bytes)
    throw error(errc::invalid_argument,
                "a shard of 4 GiB or more can not be stored: set a "
                "smaller size_limit");
  if (ends_.empty())
    body_.restart(take_ ? 0 : expected_header(bytes),
                  static_cast<std::size_t>(std::min(size_hint_, most_hint)));
  const std::uint64_t before = ends_.empty() ? 0 : ends_.back();
  std::byte* at = body_.extend(static_cast<std::size_t>(bytes));
  ends_.push_back(static_cast<std::uint32_t>(before + bytes));
  return at;
}

MDSTREAM_INLINE bytes_view mds_shard_builder::finish() {
  const std::size_t header = static_cast<std::size_t>(header_size());
  if (take_) give(body_.size());
  if (take_ || ends_.empty()) body_.restart(header);
  std::byte* at = body_.prepend(header);
  store_to(at, static_cast<std::uint32_t>(ends_.size()));
  store_to(at + 4, static_cast<std::uint32_t>(header));
  at += 8;
  for (const std::uint32_t end : ends_) {
    store_to(at, static_cast<std::uint32_t>(header + end));
    at += 4;
  }
  std::memcpy(at, config_.data(), config_.size());
  if (take_) take_(0, body_.view());
  return body_.view();
}

MDSTREAM_INLINE void mds_shard_builder::clear() noexcept {
  samples_hint_ = ends_.size();
  ends_.clear();
}

MDSTREAM_INLINE std::size_t mds_shard_builder::expected_header(
    std::uint64_t first_sample) const noexcept {
  std::uint64_t expected = size_hint_ / (first_sample + 4);
  if (samples_hint_ != 0) expected = samples_hint_;
  expected += expected / 8 + 1;
  return static_cast<std::size_t>(8 + 4 * expected + config_.size());
}

}  // namespace mdstream::inline v0::detail
