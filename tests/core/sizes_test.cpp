#include <mdstream/core/sizes.hpp>

#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/golden_file.hpp"

#include <nlohmann/json.hpp>

#include <fstream>
#include <string>

namespace sizes_test {

using nlohmann::json;
using parser = std::optional<mdstream::detail::int128> (*)(std::string_view);

std::string text_of(mdstream::detail::int128 value) {
  const bool negative = value < 0;
  std::string out;
  for (auto left = negative ? -value : value; left > 0; left /= 10)
    out.insert(out.begin(), static_cast<char>('0' + static_cast<int>(left % 10)));
  if (out.empty()) out = "0";
  return negative ? '-' + out : out;
}

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void check(const std::string& input, const json& expected, parser parse) {
  INFO('"' << input << "\" " << expected);
  const auto got = parse(input);
  CHECK(got.has_value() != expected.is_object());
  if (got && !expected.is_object()) CHECK(text_of(*got) == text_of(expected));
}

TEST_CASE("sizes and counts are read as Python reads them", "[core][golden]") {
  std::ifstream file(support::golden_file("util.json"));
  const json golden = json::parse(file);
  for (const json& c : golden["sizes"]) {
    if (!c["in"].is_string()) continue;
    const auto input = c["in"].get<std::string>();
    if (static_cast<unsigned char>(input.empty() ? 0 : input[0]) > 127)
      continue;  // ASCII digits only
    check(input, c["bytes_to_int"], &mdstream::detail::parse_bytes);
    check(input, c["number_abbrev_to_int"], &mdstream::detail::parse_count);
  }
}

TEST_CASE("sizes come from numbers, literals and texts", "[core]") {
  using namespace mdstream::literals;
  const mdstream::byte_size from_text = "1.5kb";
  CHECK(from_text.value == 1536);
  CHECK(mdstream::byte_size(std::string_view("64MB")) == 64_MiB);
  CHECK(mdstream::byte_size(7).value == 7);
  CHECK(200_GiB == mdstream::byte_size("200gb"));
  CHECK(2_TiB > 2_GiB);
  CHECK(1_KiB == mdstream::byte_size(1024));
  CHECK(mdstream::sample_count("64M").value == 64'000'000);
}

TEST_CASE("texts that are no size are refused", "[core]") {
  using mdstream::errc;
  for (const char* text : {"", "abc", "-1kb", "1zb", "1.5", "99999999999999999999", "1kb2",
                           "1__0kb", "nankb", "infk", "1e400kb", "-infm"}) {
    INFO(text);
    support::expect_error([&] { mdstream::byte_size{text}; }, errc::invalid_argument,
                          {text, "bytes"});
    support::expect_error([&] { mdstream::sample_count{text}; }, errc::invalid_argument,
                          {"samples"});
  }
}

}  // namespace sizes_test
