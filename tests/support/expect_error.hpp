#pragma once

// Checks of a thrown mdstream::error: its code, and the pieces that its text has to name.

#include <initializer_list>
#include <mdstream/core/error.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "support/catch.hpp"

namespace support {

template <class F>
[[nodiscard]] std::optional<mdstream::error> error_of(F&& run) {
  try {
    run();
  } catch (const mdstream::error& e) {
    return e;
  }
  return std::nullopt;
}

/// Runs `run`, which has to throw an mdstream::error of this code whose text holds all `pieces`.
template <class F>
void expect_error(F&& run, mdstream::errc code,
                  std::initializer_list<std::string_view> pieces = {}) {
  const std::optional<mdstream::error> e = error_of(run);
  REQUIRE(e.has_value());
  const std::string text = e->what();
  INFO(text);
  CHECK(e->code() == code);
  CHECK(text.find("hush") == std::string::npos);  // so fixtures call what is secret
  for (const std::string_view piece : pieces) {
    INFO("names: " << piece);
    CHECK(text.find(piece) != std::string::npos);
  }
}

}  // namespace support
