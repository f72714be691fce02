#pragma once

#include <mdstream/stream/detail/recovery.hpp>
#include <mdstream/version.hpp>

#include <algorithm>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void recovery::failed(std::uint32_t shard, bool is_content,
                                      std::exception_ptr why) noexcept {
  shard_ = shard;
  is_content_ = is_content;
  why_ = std::move(why);
}

MDSTREAM_INLINE bool recovery::may_fetch_again(std::uint32_t shard) const noexcept {
  return std::ranges::find(fetched_again_, shard) == fetched_again_.end();
}

MDSTREAM_INLINE bool recovery::may_substitute(std::error_code why) const noexcept {
  return substitute_ && (why == errc::corrupt || why == errc::not_found);
}

}  // namespace mdstream::inline v0::detail
