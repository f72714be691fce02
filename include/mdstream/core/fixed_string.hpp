#pragma once

/// A string that can be a template argument: `column<"tokens", ...>`.

#include <mdstream/version.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace mdstream::inline v0 {

/// A text as a template argument: the name of a column or of a hash.
template <std::size_t N>
struct fixed_string {
  char chars[N]{};

  // Implicit on purpose: a string literal is written where the template argument is wanted.
  constexpr fixed_string(const char (&text)[N]) noexcept { std::copy_n(text, N, chars); }

  [[nodiscard]] constexpr std::string_view view() const noexcept { return {chars, N - 1}; }
  constexpr operator std::string_view() const noexcept { return view(); }
};

template <std::size_t N, std::size_t M>
[[nodiscard]] constexpr bool operator==(const fixed_string<N>& a,
                                        const fixed_string<M>& b) noexcept {
  return a.view() == b.view();
}

}  // namespace mdstream::inline v0
