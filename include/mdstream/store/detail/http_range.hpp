#pragma once

/// Whether the answer to a ranged GET is what was asked for. Pure; every byte of it is a server's.

#include <mdstream/net/http_message.hpp>
#include <mdstream/store/detail/call.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::detail {

/// What is asked of a server with one ranged GET, and whether its answer is that. Pure.
struct range_question {
  std::uint64_t offset = 0;
  std::uint64_t count = 0;                  ///< > 0
  std::optional<object_version> version{};  ///< the answer has to be of it

  /// The last byte; nothing lies beyond what 64 bits count.
  [[nodiscard]] std::uint64_t last() const noexcept {
    return offset + std::min(count - 1, ~std::uint64_t{0} - offset);
  }
  [[nodiscard]] std::string header() const;
};

/// What the head of an answer promises about its body.
struct range_promise {
  std::uint64_t skip = 0;                   ///< bytes of the body before the range
  std::optional<std::uint64_t> expected{};  ///< bytes of the range that follow, where they are told
  object_version found{};                   ///< the object; no bytes where its size is not told
};

[[nodiscard]] std::optional<std::uint64_t> content_length(const net::http_headers& headers);

[[nodiscard]] inline std::string tag_of(const net::http_headers& headers) {
  return std::string(headers.find("ETag").value_or(""));
}

/// The size of the whole object, as far as the answer to a ranged GET tells it.
[[nodiscard]] std::optional<std::uint64_t> object_bytes(const net::http_response& answer);

/// Says that the object is not the one that was asked for: another range of it will not be either.
std::error_code tell_of_change(diagnostics& about, std::string how = {});

/// Reads the head of a 200 or 206. `about` says what is wrong where the code is set.
[[nodiscard]] std::error_code check_range(const range_question& asked,
                                          const net::http_response& head, range_promise& promise,
                                          diagnostics& about);

/// Bytes that came, and the object that was found.
using range_handler = store_handler<std::size_t, object_version>;

/// Where the bytes of a range go.
struct range_target {
  mutable_bytes into{};
  byte_taker take{};  ///< in place of `into`
  std::uint64_t most = 0;

  /// Of a read.
  [[nodiscard]] static range_target of(const store_call& call) {
    return {.into = call.into, .take = call.take, .most = call.amount()};
  }
  /// `owner` has target and promise and lives as long as the request.
  template <class Owner>
  [[nodiscard]] net::http_sink sink(std::shared_ptr<Owner> owner) const {
    if (!take) return {.into = into};
    return {.take = [owner = std::move(owner)](
                        bytes_view bytes) { owner->target.take(owner->promise.found, bytes); },
            .most = most};
  }
};

/// Completes a read; `of` is the call.
[[nodiscard]] range_handler answer_range(const store_call& of, answer_handler done);

/// Reads a 416 of an object of `total` bytes, as far as they are told: no code where nothing is at
/// the offset. `about` says what is wrong where the code is set.
[[nodiscard]] std::error_code check_beyond_end(const range_question& asked,
                                               std::optional<std::uint64_t> total,
                                               diagnostics& about);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/http_range.ipp>
#endif
