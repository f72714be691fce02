#pragma once

#include <mdstream/source/detail/plain_bytes.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE plain_bytes::plain_bytes(any_async_store store, raw::detail::listed_object object,
                                         std::unique_ptr<stream_decoder> decoder,
                                         std::uint64_t ahead_until, std::stop_token stop)
    : reader_(std::move(store), std::move(object), ahead_until, std::move(stop)),
      decoder_(std::move(decoder)) {}

MDSTREAM_INLINE plain_bytes::piece plain_bytes::at(std::uint64_t offset, std::uint64_t count) {
  if (offset < begin_) go_back(offset);
  forget_until(std::min(offset, keep_));
  const std::uint64_t until = count > no_end - offset ? no_end : offset + count;
  while (end() < until && !ended_) decoder_ ? decode() : append(until - end());
  const std::uint64_t from = std::min(offset, end()) - begin_;
  const std::uint64_t size = std::min(until, std::max(end(), offset)) - offset;
  return {held().subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(size)),
          ended_ && until >= end()};
}

MDSTREAM_INLINE void plain_bytes::go_back(std::uint64_t offset) {
  if (decoder_)
    throw error(
        errc::invalid_argument,
        {.what = "the bytes were read and forgotten", .url = reader_.object().key, .byte = offset});
  buffer_.clear();
  front_ = 0;
  begin_ = offset;
  ended_ = false;
}

MDSTREAM_INLINE void plain_bytes::forget_until(std::uint64_t offset) {
  while (offset > end() && decoder_ && !ended_) {
    forget(end() - begin_);
    decode();
  }
  if (offset > end() && !decoder_) {
    forget(end() - begin_);
    begin_ = offset;
    ended_ = begin_ >= reader_.object().bytes;
  } else if (offset > begin_) {
    forget(std::min(offset, end()) - begin_);
  }
}

MDSTREAM_INLINE void plain_bytes::forget(std::uint64_t count) {
  begin_ += count;
  front_ += static_cast<std::size_t>(count);
  if (front_ < buffer_.size() / 2) return;
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(front_));
  front_ = 0;
}

MDSTREAM_INLINE void plain_bytes::append(std::uint64_t wanted) {
  const bytes_view more = reader_.read(end(), wanted);
  buffer_.insert(buffer_.end(), more.begin(), more.end());
  ended_ = end() >= reader_.object().bytes;
}

MDSTREAM_INLINE void plain_bytes::decode() {
  constexpr std::size_t step = std::size_t{256} << 10;
  if (packed_.empty()) {
    packed_ = reader_.read(packed_read_, step);
    packed_read_ += packed_.size();
  }
  const std::size_t before = buffer_.size();
  buffer_.resize(before + step);
  std::size_t made = 0;
  try {
    made = decoder_->decode(packed_, mutable_bytes(buffer_).subspan(before));
  } catch (const error& e) {
    fail(e.code(), e.where());
  }
  buffer_.resize(before + made);
  if (made != 0 || !packed_.empty() || packed_read_ < reader_.object().bytes) return;
  if (!decoder_->may_end()) fail(errc::corrupt, {.what = "the compressed data are cut short"});
  ended_ = true;
}

MDSTREAM_INLINE void plain_bytes::fail(std::error_code code, diagnostics where) const {
  where.url = reader_.object().key;
  where.byte = packed_read_ - packed_.size();
  throw error(code, std::move(where));
}

}  // namespace mdstream::inline v0::detail
