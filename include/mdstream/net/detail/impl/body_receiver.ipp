#pragma once

#include <mdstream/net/body_receiver.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstring>

namespace mdstream::inline v0::net::detail {

MDSTREAM_INLINE body_receiver::verdict body_receiver::put(bytes_view bytes, bool to_sink,
                                                          http_response& answer) {
  return to_sink ? put_into(bytes, answer) : put_text(bytes, answer.text);
}

MDSTREAM_INLINE void body_receiver::flush() {
  if (gathered_ > 0) sink_->take({block_.get(), std::exchange(gathered_, 0)});
}

MDSTREAM_INLINE body_receiver::verdict body_receiver::put_into(bytes_view bytes,
                                                               http_response& answer) {
  const std::uint64_t skipped = std::min<std::uint64_t>(sink_->skip, bytes.size());
  sink_->skip -= skipped;
  bytes = bytes.subspan(static_cast<std::size_t>(skipped));
  const auto fits = static_cast<std::size_t>(
      std::min<std::uint64_t>(bytes.size(), sink_->room() - answer.received));
  if (fits > 0) put_there(bytes.first(fits), answer.received);
  answer.received += fits;
  if (fits == bytes.size()) return verdict::more;
  return sink_->until_full ? verdict::full : verdict::too_long;
}

MDSTREAM_INLINE void body_receiver::put_there(bytes_view bytes, std::uint64_t offset) {
  if (sink_->take) return gather(bytes);
  std::memcpy(sink_->into.data() + offset, bytes.data(), bytes.size());
}

MDSTREAM_INLINE void body_receiver::gather(bytes_view bytes) {
  const auto room = static_cast<std::size_t>(std::min<std::uint64_t>(sink_->most, block_bytes));
  if (gathered_ + bytes.size() > room) flush();
  if (bytes.size() >= room) return sink_->take(bytes);
  if (!block_) block_ = std::make_unique_for_overwrite<std::byte[]>(room);
  std::memcpy(block_.get() + gathered_, bytes.data(), bytes.size());
  gathered_ += bytes.size();
  if (gathered_ == room) flush();
}

MDSTREAM_INLINE body_receiver::verdict body_receiver::put_text(bytes_view bytes,
                                                               std::string& text) const {
  const std::size_t fits = std::min(bytes.size(), most_text_ - text.size());
  text.append(as_text(bytes.first(fits)));
  return fits < bytes.size() ? verdict::too_long : verdict::more;
}

}  // namespace mdstream::inline v0::net::detail
