#include <mdstream/format/text_numbers.hpp>

#include <string>

#include "support/catch.hpp"

TEST_CASE("Python's int() of a text", "[text_numbers]") {
  const auto parsed = [](std::string_view text) {
    const auto value = mdstream::parse_python_int(text);
    return value ? value->digits : "error";
  };
  CHECK(parsed("0") == "0");
  CHECK(parsed("-0") == "0");
  CHECK(parsed(" +007\n") == "7");
  CHECK(parsed("1_000") == "1000");
  CHECK(parsed("-123456789012345678901234567890") == "-123456789012345678901234567890");
  for (const char* bad : {"", " ", "+", "-", "1__0", "_1", "1_", "1 0", "0x1", "1.0", "--1", "+-1",
                          "True", "1e3", "-_1"})
    CHECK(parsed(bad) == "error");
}

TEST_CASE("Decimals keep their digits and exponent", "[text_numbers]") {
  const auto parsed = [](std::string_view text) {
    const auto value = mdstream::parse_decimal(text);
    return value ? to_string(*value) : "error";
  };
  for (const char* canonical :
       {"0",        "-0",        "1",
        "1.00",     "1E+5",      "1E-7",
        "0.000001", "0.0000010", "1.5E-10",
        "1.23E+10", "123.456",   "0.00",
        "0E+3",     "0E-8",      "NaN",
        "-NaN",     "sNaN",      "NaN123",
        "Infinity", "-Infinity", "12345678901234567890.12345678901234567890"})
    CHECK(parsed(canonical) == canonical);
  CHECK(parsed("1e5") == "1E+5");
  CHECK(parsed("0.00001e5") == "1");
  CHECK(parsed(".5") == "0.5");
  CHECK(parsed("5.") == "5");
  CHECK(parsed("007") == "7");
  CHECK(parsed("000") == "0");
  CHECK(parsed("+1") == "1");
  CHECK(parsed("inf") == "Infinity");
  CHECK(parsed("nan00") == "NaN");
  CHECK(parsed("100E-2") == "1.00");
  CHECK(parsed("12345E3") == "1.2345E+7");
  for (const char* bad :
       {"", ".", "1e", "e5", "1.2.3", "NaNx", "0x1", "--1", "1e1.5", "1e9999999999999999999", "-"})
    CHECK(parsed(bad) == "error");
}
