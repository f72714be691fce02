#include <mdstream/core/json/reader.hpp>

#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

TEST_CASE("the reader pulls what is asked for and skips the rest", "[json]") {
  mdstream::json::reader in(
      R"({"skip": [{"a": "]}"}, -1.5e3], "n": 7, "\u0061": null, "t": true})");
  std::vector<std::string> keys;
  std::uint64_t n = 0;
  in.begin_object();
  while (const auto key = in.next_key()) {
    keys.emplace_back(*key);
    if (*key == "n")
      n = in.unsigned_integer();
    else if (*key == "a")
      CHECK(in.take_null());
    else
      in.skip();
  }
  in.finish();
  CHECK(keys == std::vector<std::string>{"skip", "n", "a", "t"});
  CHECK(n == 7);
  for (const char* text : {"18446744073709551616", "-1", "1.0", "1e3", "007", "x", ""}) {
    INFO(text);
    support::expect_error([&] { (void)mdstream::json::reader(text).unsigned_integer(); },
                          mdstream::errc::corrupt);
  }
  CHECK(mdstream::json::reader("18446744073709551615").unsigned_integer() ==
        std::numeric_limits<std::uint64_t>::max());
}

TEST_CASE("a string is read to its end, and what interrupts it is seen at any place", "[json]") {
  using mdstream::json::reader;
  for (std::size_t at = 0; at < 200; ++at) {
    for (const std::size_t more : {0, 1, 7, 8, 63, 64, 65, 200}) {
      INFO(at << " characters before it, " << more << " after it");
      const std::string before(at, '\x7f'), after(more, ' ');
      const auto text = [&](std::string_view between) {
        return '"' + before + std::string(between) + after + '"';
      };
      const auto reads = [&](std::string_view between, const std::string& value) {
        const std::string whole = text(between);
        reader skipped(whole);
        skipped.skip();
        skipped.finish();
        return reader(whole).string() == before + value + after;
      };
      CHECK(reads("", ""));
      CHECK(reads("\xC3\xA9", "\xC3\xA9"));
      CHECK(reads("\\n", "\n"));
      CHECK(reads("\\\"", "\""));
      CHECK(reads("\\ud83d\\ude00", "\xF0\x9F\x98\x80"));
      CHECK(reader(text("\"")).string() == before);
      support::expect_error([&] { (void)reader(text("\x1f")).string(); }, mdstream::errc::corrupt,
                            {"byte " + std::to_string(at + 1)});
      support::expect_error([&] { (void)reader('"' + before + after).string(); },
                            mdstream::errc::corrupt);
    }
  }
}

TEST_CASE("the reader says what comes next, and what was there instead", "[json]") {
  using mdstream::json::kind;
  mdstream::json::reader in(R"([{}, [], "", true, null, -1, 1e3])");
  in.begin_array();
  for (const kind expected : {kind::object, kind::array, kind::string, kind::boolean, kind::null,
                              kind::integer, kind::real}) {
    REQUIRE(in.next_item());
    INFO(mdstream::json::to_string(expected));
    CHECK(in.peek() == expected);
    in.skip();
  }
  CHECK_FALSE(in.next_item());
  CHECK_NOTHROW(in.finish());

  support::expect_error(
      [] {
        mdstream::json::reader text("  [1]", {.what = "", .url = "a.json"});
        text.begin_object();
      },
      mdstream::errc::corrupt, {"an object", "byte 2", "a.json"});
  support::expect_error(
      [] {
        mdstream::json::reader text("1 2");
        text.skip();
        text.finish();
      },
      mdstream::errc::corrupt, {"byte 2"});
}
