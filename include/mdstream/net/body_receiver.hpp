#pragma once

/// Where the bytes of an answer's body go. Pure.

#include <mdstream/core/bytes.hpp>
#include <mdstream/net/http_message.hpp>

#include <cstddef>
#include <cstdint>
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
  verdict put(bytes_view bytes, bool to_sink, http_response& answer);

  /// Hands out what waits for the rest of its block. After it, and after `take` has thrown, nothing
  /// waits.
  void flush();

 private:
  verdict put_into(bytes_view bytes, http_response& answer);

  void put_there(bytes_view bytes, std::uint64_t offset);

  void gather(bytes_view bytes);

  verdict put_text(bytes_view bytes, std::string& text) const;

  std::optional<http_sink> sink_;
  std::size_t most_text_;
  std::unique_ptr<std::byte[]> block_{};
  std::size_t gathered_ = 0;  // bytes of the block
};

}  // namespace mdstream::inline v0::net::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/body_receiver.ipp>
#endif
