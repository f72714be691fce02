#pragma once

/// Headers of HTTP answers and those of their values that stores rely on (RFC 9110). Pure; every
/// byte is a server's and is checked.

#include <mdstream/core/detail/text.hpp>
#include <mdstream/net/time_text.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::net {

namespace detail {

using mdstream::detail::equal_ignoring_case;
using mdstream::detail::starts_with_ignoring_case;
using mdstream::detail::whole_number;

}  // namespace detail

struct http_header {
  std::string name{};
  std::string value{};

  friend bool operator==(const http_header&, const http_header&) = default;
};

/// The headers of one answer, in their order. Names are compared without case.
class http_headers {
 public:
  [[nodiscard]] auto begin() const noexcept { return all_.begin(); }
  [[nodiscard]] auto end() const noexcept { return all_.end(); }
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }

  /// The value of the first header of that name.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const noexcept;

  /// Takes `Name: value` without its line end. False when that is not what the line is.
  [[nodiscard]] bool add_line(std::string_view line);

  void clear() noexcept { all_.clear(); }

 private:
  [[nodiscard]] static bool is_token(char c) noexcept;

  std::vector<http_header> all_;
};

/// Why no body has the length that an answer states: it is no number below 2^63, or there are two
/// that differ. Empty where it states one, or none (RFC 9112, 6.3).
[[nodiscard]] std::string wrong_length(const http_headers& of);

/// `bytes first-last/total` or `bytes */total`.
struct content_range {
  bool satisfied = false;              ///< first and last are there
  std::uint64_t first = 0;             ///< offset of the first byte
  std::uint64_t last = 0;              ///< offset of the last byte, >= first
  std::optional<std::uint64_t> total;  ///< bytes of the whole object, > last; none for `*`

  /// None for anything that is not one, or contradicts itself.
  [[nodiscard]] static std::optional<content_range> parse(std::string_view value) noexcept;
};

/// The pause that a `Retry-After` asks for at the time `now`: seconds, or a date. Never negative
/// and never more than a day.
[[nodiscard]] std::optional<std::chrono::seconds> parse_retry_after(std::string_view value,
                                                                    wall_clock::time_point now);

/// The pause after which a `RateLimit` (of the draft that the Hugging Face Hub follows,
/// `"api";r=0;t=42`) has requests left; none where it has some, or is no such text.
[[nodiscard]] std::optional<std::chrono::seconds> parse_rate_limit(std::string_view value);

}  // namespace mdstream::inline v0::net

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/http_headers.ipp>
#endif
