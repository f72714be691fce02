#include <mdstream/core/detail/utf8.hpp>

#include <cstring>
#include <string>

#include "support/catch.hpp"

TEST_CASE("invalid UTF-8 is found, at the byte", "[utf8]") {
  using mdstream::detail::first_invalid_utf8;
  const std::string ascii(100, 'x');
  for (const std::string& good :
       {std::string(), ascii, std::string("\xC2\x80"), std::string("\xEF\xBF\xBF"),
        std::string("\xF4\x8F\xBF\xBF"), ascii + "\xF0\x9F\x99\x82" + ascii, std::string(1, '\0')})
    CHECK(first_invalid_utf8(good) == good.size());
  for (const std::string& bad :
       {std::string("\x80"), std::string("\xC1\xBF"), std::string("\xE0\x80\x80"),
        std::string("\xED\xA0\x80"), std::string("\xF4\x90\x80\x80"),
        std::string("\xF5\x80\x80\x80"), std::string("\xC2"), std::string("\xE2\x82"),
        std::string("\xF0\x9F\x99"), std::string("\xC2x")}) {
    CHECK(first_invalid_utf8(bad) == 0);
    CHECK(first_invalid_utf8(ascii + bad + ascii) == 100);
  }
}

TEST_CASE("surrogates pass only where they are allowed", "[utf8]") {
  CHECK(mdstream::detail::first_invalid_utf8("\xED\xA0\x80") == 0);
  CHECK(mdstream::detail::first_invalid_utf8("\xED\xA0\x80", true) == 3);
}

TEST_CASE("every code point survives encoding and decoding", "[utf8]") {
  for (char32_t c = 0; c <= 0x10FFFF; c += c < 0x3000 ? 1 : 61) {
    std::string text;
    mdstream::detail::append_utf8(text, c);
    const mdstream::detail::code_point back = mdstream::detail::decode_utf8(text, true);
    REQUIRE(back.value == c);
    REQUIRE(back.bytes == text.size());
  }
}
