#pragma once

/// Where the bytes of an answer's body go, whoever receives them. Pure.

#include <mdstream/core/bytes.hpp>
#include <mdstream/net/http_message.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace mdstream::inline v0::net::detail {

/// The body of an answer on its way to where it belongs. libcurl gives 16 KiB at a time, however
/// much it has received; `take` gets larger blocks: a file system that takes in a block at once
/// needs half the time that it needs for its sixteen pieces.
class body_receiver {
 public:
  enum class verdict : std::uint8_t { more, full, too_long };
  static constexpr std::size_t block_bytes = 256 << 10;

  body_receiver(std::optional<http_sink> sink, std::size_t most_text)
      : sink_(std::move(sink)), most_text_(most_text) {}

  [[nodiscard]] bool has_sink() const noexcept { return sink_.has_value(); }
  [[nodiscard]] http_sink& sink() noexcept { return *sink_; }

  /// Puts the next bytes; `to_sink` as the head of the answer decided.
  verdict put(bytes_view bytes, bool to_sink, http_response& answer) {
    return to_sink ? put_into(bytes, answer) : put_text(bytes, answer.text);
  }

  /// Hands out what waits for the rest of its block. After it, and after `take` has thrown, nothing
  /// waits.
  void flush() {
    if (gathered_ > 0) sink_->take({block_.get(), std::exchange(gathered_, 0)});
  }

 private:
  verdict put_into(bytes_view bytes, http_response& answer) {
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

  void put_there(bytes_view bytes, std::uint64_t offset) {
    if (sink_->take) return gather(bytes);
    std::memcpy(sink_->into.data() + offset, bytes.data(), bytes.size());
  }

  void gather(bytes_view bytes) {
    const auto room = static_cast<std::size_t>(std::min<std::uint64_t>(sink_->most, block_bytes));
    if (gathered_ + bytes.size() > room) flush();
    if (bytes.size() >= room) return sink_->take(bytes);
    if (!block_) block_ = std::make_unique_for_overwrite<std::byte[]>(room);
    std::memcpy(block_.get() + gathered_, bytes.data(), bytes.size());
    gathered_ += bytes.size();
    if (gathered_ == room) flush();
  }

  verdict put_text(bytes_view bytes, std::string& text) const {
    const std::size_t fits = std::min(bytes.size(), most_text_ - text.size());
    text.append(as_text(bytes.first(fits)));
    return fits < bytes.size() ? verdict::too_long : verdict::more;
  }

  std::optional<http_sink> sink_;
  std::size_t most_text_;
  std::unique_ptr<std::byte[]> block_{};
  std::size_t gathered_ = 0;  // bytes of the block
};

}  // namespace mdstream::inline v0::net::detail
