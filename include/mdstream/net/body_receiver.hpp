#pragma once

/// Where the bytes of an answer's body go, whoever receives them. Pure.

#include <mdstream/core/bytes.hpp>
#include <mdstream/net/http_message.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

namespace mdstream::inline v0::net::detail {

/// The body of an answer on its way to where it belongs.
class body_receiver {
 public:
  enum class verdict : std::uint8_t { more, full, too_long };

  body_receiver(std::optional<http_sink> sink, std::size_t most_text)
      : sink_(std::move(sink)), most_text_(most_text) {}

  [[nodiscard]] bool has_sink() const noexcept { return sink_.has_value(); }
  [[nodiscard]] http_sink& sink() noexcept { return *sink_; }

  /// Puts the next bytes; `to_sink` as the head of the answer decided.
  verdict put(bytes_view bytes, bool to_sink, http_response& answer) {
    return to_sink ? put_into(bytes, answer) : put_text(bytes, answer.text);
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

  void put_there(bytes_view bytes, std::uint64_t offset) const {
    if (sink_->take) return sink_->take(bytes);
    std::memcpy(sink_->into.data() + offset, bytes.data(), bytes.size());
  }

  verdict put_text(bytes_view bytes, std::string& text) const {
    const std::size_t fits = std::min(bytes.size(), most_text_ - text.size());
    text.append(as_text(bytes.first(fits)));
    return fits < bytes.size() ? verdict::too_long : verdict::more;
  }

  std::optional<http_sink> sink_;
  std::size_t most_text_;
};

}  // namespace mdstream::inline v0::net::detail
