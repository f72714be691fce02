#pragma once

// A server's answer as text.

#include <mdstream/net/http_message.hpp>

#include <optional>
#include <string_view>

#include "fuzz/refusal.hpp"

namespace fuzz {

/// A line with the status, those of the headers, an empty one, the body. Nothing where a header is
/// none.
inline std::optional<mdstream::net::http_response> answer_of(std::string_view input) {
  mdstream::net::http_response out;
  out.status = mdstream::net::detail::whole_number<int>(take_line(input)).value_or(0);
  while (!input.empty()) {
    const std::string_view line = take_line(input);
    if (line.empty()) break;
    if (!out.headers.add_line(line)) return std::nullopt;
  }
  out.text = input;
  return out;
}

}  // namespace fuzz
