#pragma once

#include <mdstream/source/detail/block_reader.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE block_reader::block_reader(any_async_store store, raw::detail::listed_object object,
                                           std::uint64_t ahead_until, std::stop_token stop)
    : store_(std::move(store)),
      object_(std::move(object)),
      ahead_until_(std::min(ahead_until, object_.bytes)),
      stop_(std::move(stop)) {}

MDSTREAM_INLINE bytes_view block_reader::read(std::uint64_t offset, std::uint64_t wanted) {
  if (offset >= object_.bytes) return {};
  const bool goes_on = offset == next_ && offset != 0;
  block_ = goes_on ? std::min(2 * block_, most_bytes) : std::uint64_t{64} << 10;
  std::unique_ptr<call> got = std::move(ahead_);
  if (got && got->offset != offset) {
    got->done.wait();
    got.reset();
  }
  if (!got) got = start(offset, std::max(wanted, block_));
  finish(*got);
  next_ = offset + got->bytes.size();
  bytes_read_ += got->bytes.size();
  if (goes_on && next_ < ahead_until_)
    ahead_ = start(next_, std::min(std::min(2 * block_, most_bytes), ahead_until_ - next_));
  now_ = std::move(got->bytes);
  return now_;
}

MDSTREAM_INLINE std::unique_ptr<block_reader::call> block_reader::start(std::uint64_t offset,
                                                                        std::uint64_t count) {
  auto out = std::make_unique<call>();
  out->offset = offset;
  out->bytes.resize(static_cast<std::size_t>(std::min(count, object_.bytes - offset)));
  store_.async_read_version(object_.key, {.bytes = object_.bytes, .tag = object_.tag}, offset,
                            out->bytes, stop_, out->where,
                            [at = out.get()](std::error_code failure, std::size_t got) {
                              at->failure = failure;
                              at->got = got;
                              at->done.set();
                            });
  return out;
}

MDSTREAM_INLINE void block_reader::finish(call& one) const {
  one.done.wait();
  if (one.failure) throw error(one.failure, std::move(one.where));
  if (one.got < one.bytes.size())
    throw error(errc::corrupt, {.what = "the object became shorter while it was read",
                                .url = store_.url(object_.key)});
}

}  // namespace mdstream::inline v0::detail
