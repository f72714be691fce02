#include <mdstream/core/detail/utf8.hpp>
#include <mdstream/core/json.hpp>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/seed.hpp"

namespace json_test {

namespace json = mdstream::json;
using mdstream::errc;

std::string round_trip(std::string_view text) { return json::dump(json::parse(text)); }

/// A random tree, for comparison with another implementation.
json::value random_value(std::mt19937_64& random, int depth) {
  switch (random() % (depth > 0 ? 8 : 6)) {
    case 0: return {};
    case 1: return random() % 2 == 0;
    case 2: return static_cast<std::int64_t>(random());
    case 3:
      return std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 200) - 100);
    case 4:
    case 5: {
      std::string text;
      for (std::uint64_t i = random() % 20; i > 0; --i) {
        char32_t c = static_cast<char32_t>(random() % 0x500);
        if (random() % 4 == 0) c = 0x1F600 + static_cast<char32_t>(random() % 64);
        mdstream::detail::append_utf8(text, c);
      }
      return text;
    }
    case 6: {
      json::array items;
      for (std::uint64_t i = random() % 5; i > 0; --i)
        items.push_back(random_value(random, depth - 1));
      return items;
    }
    default: {
      json::object members;
      for (std::uint64_t i = random() % 5; i > 0; --i)
        members.emplace_back("k" + std::to_string(i), random_value(random, depth - 1));
      return members;
    }
  }
}

}  // namespace json_test

TEST_CASE("JSON text is written as Python's json.dumps writes it", "[json]") {
  using json_test::round_trip;
  CHECK(round_trip(" { \"b\" : 1 ,\n\"a\":[true,false,null,{}, []] } ") ==
        R"({"b": 1, "a": [true, false, null, {}, []]})");
  CHECK(round_trip("123456789012345678901234567890") == "123456789012345678901234567890");
  CHECK(round_trip("[NaN, Infinity, -Infinity]") == "[NaN, Infinity, -Infinity]");
  CHECK(round_trip("[1E5, 1e-7, -0.0, 1e400, -1e400, 1e-400]") ==
        "[100000.0, 1e-07, -0.0, Infinity, -Infinity, 0.0]");
  CHECK(round_trip("\"\\u00e9\xF0\x9F\x99\x82\\/\\b\\f\\n\\r\\t\\\"\\\\\x7F\"") ==
        "\"\\u00e9\\ud83d\\ude42/\\b\\f\\n\\r\\t\\\"\\\\\\u007f\"");
  CHECK(round_trip("\"\\ud83d\\ude42 \\ud83d \\ude42\"") == "\"\\ud83d\\ude42 \\ud83d \\ude42\"");
  CHECK(mdstream::json::dump(
            mdstream::json::parse(
                R"({"b": {"z": 1, "a": 2}, "\u00e9": 3, "Z": 4, "a": [{"d": 1, "c": 2}]})"),
            mdstream::json::key_order::sorted) ==
        R"({"Z": 4, "a": [{"c": 2, "d": 1}], "b": {"a": 2, "z": 1}, "\u00e9": 3})");
}

TEST_CASE("random trees agree with another JSON library", "[json]") {
  const unsigned seed = support::test_seed(GENERATE(range(0U, 3U)));
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 300; ++i) {
    const mdstream::json::value tree = json_test::random_value(random, 4);
    const std::string text = mdstream::json::dump(tree);
    const auto other = nlohmann::ordered_json::parse(text);
    REQUIRE(mdstream::json::parse(other.dump()) == tree);
    REQUIRE(mdstream::json::dump(mdstream::json::parse(text)) == text);
  }
}

TEST_CASE("what is not JSON is refused with its byte", "[json]") {
  struct bad {
    std::string text;
    std::uint64_t byte;
  };
  const bad cases[] = {{"", 0},
                       {"[", 1},
                       {"{\"a\" 1}", 5},
                       {"{\"a\":1,}", 7},
                       {"[1,]", 3},
                       {"01", 1},
                       {"[1 2]", 3},
                       {"\"\x01\"", 1},
                       {"\"\\x\"", 2},
                       {"nul", 0},
                       {"1.", 1},
                       {"1e", 1},
                       {"-", 0},
                       {"+1", 0},
                       {".5", 0},
                       {"tru", 0},
                       {"\"abc", 4},
                       {"\"\\u12g4\"", 5},
                       {"\xFF", 0},
                       {"\"\xC0\x80\"", 1},
                       {"{1: 2}", 1},
                       {"[1] x", 4},
                       {"'a'", 0},
                       {"\"\\", 2},
                       {"{\"a\": }", 6},
                       {"[,1]", 1},
                       {"\"\xED\xA0\x80\"", 1}};
  for (const bad& each : cases) {
    INFO(each.text);
    const auto failure = support::error_of([&] { (void)mdstream::json::parse(each.text); });
    REQUIRE(failure.has_value());
    CHECK(failure->code() == mdstream::errc::corrupt);
    CHECK(failure->where().byte == each.byte);
  }
  support::expect_error([] { (void)mdstream::json::parse("[1", {.stream = "c4", .url = "/x"}); },
                        mdstream::errc::corrupt, {"stream \"c4\"", "/x", "byte 2", "ends"});
}

TEST_CASE("nesting has a limit, but a generous one", "[json]") {
  CHECK_NOTHROW(mdstream::json::parse(std::string(512, '[') + std::string(512, ']')));
  support::expect_error([] { (void)mdstream::json::parse(std::string(100'000, '[')); },
                        mdstream::errc::corrupt, {"nests too deeply", "byte 512"});
}

TEST_CASE("a text that is not UTF-8 can not be written", "[json]") {
  support::expect_error([] { (void)mdstream::json::dump(std::string("a\xFF")); },
                        mdstream::errc::invalid_argument, {"byte 1"});
}
