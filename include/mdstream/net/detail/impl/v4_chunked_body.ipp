#pragma once

#include <mdstream/net/v4_chunked_body.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace mdstream::inline v0::net {

MDSTREAM_INLINE v4_chunked_body::v4_chunked_body(v4_chunk_signer signer, bytes_view body,
                                                 std::function<void(bytes_view)> body_read)
    : signer_(std::move(signer)), body_read_(std::move(body_read)), rest_(body) {
  next_frame();
}

MDSTREAM_INLINE std::size_t v4_chunked_body::pull(mutable_bytes into) {
  std::size_t done = 0;
  while (done < into.size()) {
    if (frame_.empty() && chunk_.empty() && !end_frame()) break;
    bytes_view& source = frame_.empty() ? chunk_ : frame_;
    const std::size_t count = std::min(source.size(), into.size() - done);
    std::memcpy(into.data() + done, source.data(), count);
    source = source.subspan(count);
    done += count;
  }
  return done;
}

MDSTREAM_INLINE void v4_chunked_body::next_frame() {
  whole_ = chunk_ = rest_.first(std::min(rest_.size(), chunk_bytes));
  rest_ = rest_.subspan(chunk_.size());
  last_ = chunk_.empty();
  text_ += signer_.next(chunk_);
  frame_ = as_bytes(text_);
}

MDSTREAM_INLINE bool v4_chunked_body::end_frame() {
  if (ended_) return false;
  if (body_read_ && !whole_.empty()) body_read_(whole_);
  text_ = "\r\n";
  if (last_) {
    ended_ = true;
    frame_ = as_bytes(text_);
  } else {
    next_frame();
  }
  return true;
}

}  // namespace mdstream::inline v0::net
