#include <mdstream/raw/detail/row_index.hpp>

#include <random>
#include <string>

#include "raw/raw_source.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/seed.hpp"

namespace row_index_test {

using namespace raw_test;
using mdstream::errc;

raw::detail::row_index small() {
  const source objects{{"a/1.jsonl", "{\"t\":\"x\"}\n{\"t\":\"y\"}\n"},
                       {"a/2.jsonl", "{\"t\":\"z\"}"}};
  return index_of(format_of({.format = "jsonl", .shard_bytes = 16}), objects);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace row_index_test

TEST_CASE("a row index is read as it was written", "[raw]") {
  using namespace row_index_test;
  raw::detail::row_index index = small();
  index.options.null_value = "\"\"";
  index.options.document_token = 50256;
  index.objects[1].beside = raw::detail::listed_object{"a/2.idx", 7, "t"};
  index.objects[1].cuts[0].extra = {1, 2, 3};
  const std::string text = index.dump();
  CHECK(raw::detail::row_index::parse(text).dump() == text);
  CHECK(raw::detail::row_index::parse(text).fingerprint() == index.fingerprint());
  CHECK(index.samples() == 3);
  CHECK(index.shards() == 2);
  CHECK(index.places().back().object == 1);
  // the identity of a shard changes with what it is made of, not with other objects
  const std::string identity = raw::detail::identity_of(index, {0, 0});
  raw::detail::row_index other = index;
  other.objects[1].file.tag = "changed";
  CHECK(raw::detail::identity_of(other, {0, 0}) == identity);
  other.objects[0].file.tag = "changed";
  CHECK(raw::detail::identity_of(other, {0, 0}) != identity);
  // that of the source changes with tags where no checksum tells what the bytes are
  CHECK(other.fingerprint() == index.fingerprint());
  index.objects[0].cuts[0].crc32c.reset();
  other.objects[0].cuts[0].crc32c.reset();
  CHECK(other.fingerprint() != index.fingerprint());
  other = index;
  other.objects[1].cuts[0].crc32c = 1;
  CHECK(other.fingerprint() != index.fingerprint());
  // also of a file that lies in the shard of another
  index = index_of(format_of({.format = "files"}), {{"a.bin", "x"}, {"b.bin", "y"}});
  other = index;
  other.objects[1].file.tag = "changed";
  CHECK(other.fingerprint() != index.fingerprint());
}

TEST_CASE("a row index that lies is refused by line and byte", "[raw]") {
  using namespace row_index_test;
  const std::string text = small().dump();
  const auto refuse = [&](const std::string& from, const std::string& to, errc code,
                          std::initializer_list<std::string_view> pieces) {
    INFO(from << " -> " << to);
    support::expect_error([&] { (void)raw::detail::row_index::parse(replaced(text, from, to)); },
                          code, pieces);
  };
  refuse("row index", "other", errc::corrupt, {"line 1", "not a row index"});
  refuse("\"version\": 1", "\"version\": 2", errc::unsupported, {"version 2", "anew"});
  refuse("\"samples\": 3", "\"samples\": 4", errc::corrupt, {"4 samples", "it has 2, 2 and 3"});
  refuse("a/1.jsonl", "../1.jsonl", errc::corrupt, {"line 2", "leaves its directory"});
  refuse("a/1.jsonl", "/1.jsonl", errc::corrupt, {"absolute"});
  refuse("a/1.jsonl", "b/1.jsonl", errc::corrupt, {"line 3", "order"});
  refuse("[[0, 20, 2", "[[0, 20, 0", errc::corrupt, {"no samples"});
  refuse("[[0, 20, 2", "[[18446744073709551615, 20, 2", errc::corrupt, {"64 bits"});
  refuse("[[0, 20, 2", "[[-1, 20, 2", errc::corrupt, {"line 2"});
  refuse("[[0, 20, 2", "[[0, 20, 2, null], [1, 1, 1", errc::corrupt, {"stretch"});
  refuse("\"str\"", "\"text\"", errc::corrupt, {"not an encoding"});
  refuse("\"shard_bytes\": 16", "\"shard_bytes\": 0", errc::corrupt, {"shard_bytes"});
  support::expect_error(
      [&] { (void)raw::detail::row_index::parse(text.substr(0, text.size() - 1)); }, errc::corrupt,
      {"line 3", "cut short"});
  support::expect_error([&] { (void)raw::detail::row_index::parse(""); }, errc::corrupt,
                        {"cut short"});
  // a range beyond the object is refused where it would be read
  const auto index = raw::detail::row_index::parse(replaced(text, "[[0, 20, 2", "[[0, 21, 2"));
  const raw::source_format format = format_of(index.options);
  support::expect_error([&] { (void)raw::detail::parts_of(format, index, {0, 0}); }, errc::corrupt,
                        {"a/1.jsonl", "beyond"});
}

TEST_CASE("entry points are read as they were written, and change nothing of the source", "[raw]") {
  using namespace row_index_test;
  raw::detail::row_index index = small();
  const raw::detail::row_index without = index;
  raw::detail::object_entries& entries = index.objects[0].entries.emplace();
  CHECK(raw::detail::row_index::parse(index.dump()) == index);
  CHECK_FALSE(index == without);
  entries.states = "0123.bin";
  const auto add = [&](std::uint64_t plain, std::uint64_t packed, std::uint64_t state) {
    entries.add(plain, packed, state, index.objects[0].file.key, index.objects[0].file.bytes);
  };
  add(5, 2, 100);
  add(9, 2, 0);
  add(300, 19, 7);
  const raw::detail::row_index read = raw::detail::row_index::parse(index.dump());
  CHECK(read == index);
  CHECK(read.objects[0].entries == entries);
  CHECK(entries.points[2].state == raw::byte_range{100, 7});
  CHECK(entries.state_bytes() == 100 + 0 + 7);
  for (const auto& [plain, count] :
       std::vector<std::pair<std::uint64_t, std::size_t>>{{4, 0}, {5, 1}, {299, 2}, {9999, 3}})
    CHECK(entries.count_until(plain) == count);
  CHECK(index.fingerprint() == without.fingerprint());
  CHECK(raw::detail::identity_of(index, {0, 0}) == raw::detail::identity_of(without, {0, 0}));
}

TEST_CASE("entry points that cannot be are refused by object and entry", "[raw]") {
  using namespace row_index_test;
  raw::detail::row_index index = small();  // its first object has 20 bytes
  index.objects[0].entries = raw::detail::object_entries{.states = "0123.bin"};
  const std::string text = index.dump();
  const auto refuse = [&](const std::string& entries,
                          std::initializer_list<std::string_view> pieces) {
    INFO(entries);
    support::expect_error(
        [&] { (void)raw::detail::row_index::parse(replaced(text, R"(["0123.bin"])", entries)); },
        errc::corrupt, pieces);
  };
  (void)raw::detail::row_index::parse(
      replaced(text, R"(["0123.bin"])", R"(["x", [5, 2, 131072]])"));
  refuse(R"(["x", [5, 2, 7], [5, 3, 7]])", {"line 2", "entry point 1 of \"a/1.jsonl\"", "before"});
  refuse(R"(["x", [0, 2, 7]])", {"entry point 0 of \"a/1.jsonl\""});
  refuse(R"(["x", [5, 3, 7], [6, 2, 7]])", {"entry point 1 of \"a/1.jsonl\""});
  refuse(R"(["x", [5, 20, 7]])", {"entry point 0 of \"a/1.jsonl\"", "byte 20", "20 bytes"});
  refuse(R"(["x", [5, 18446744073709551615, 7]])", {"entry point 0 of \"a/1.jsonl\""});
  refuse(R"(["x", [5, 2, 131073]])", {"entry point 0 of \"a/1.jsonl\"", "131073"});
  refuse(R"(["", [5, 2, 7]])", {"line 2", "nowhere"});
  refuse(R"(["x", [5, 2]])", {"fewer than three"});
  refuse(R"(["x", [5, 2, 7, 1]])", {"more than three"});
  refuse(R"(["x", [5, -2, 7]])", {"line 2"});
  refuse(R"([[5, 2, 7]])", {"line 2"});
  refuse("[]", {"begin with a name"});
  refuse(R"(["../../x"])", {"directory"});
  refuse(R"([".."])", {"leaves"});
}

TEST_CASE("a row index cut anywhere is refused, and one that is read says what its text says",
          "[raw]") {
  using namespace row_index_test;
  raw::detail::row_index index = small();
  index.objects[0].entries =
      raw::detail::object_entries{.states = "0123.bin", .points = {{5, 2, {0, 100}}}};
  const std::string text = index.dump();
  for (std::size_t size = 0; size < text.size(); ++size)
    support::expect_error([&] { (void)raw::detail::row_index::parse(text.substr(0, size)); },
                          errc::corrupt);

  // A text without a checksum may be changed where it holds names and numbers, and is another one
  // then. It may have other space between its parts, and no entry points. All else is refused.
  const auto without_space = [](std::string of) {
    std::erase_if(of, [](char c) { return c == ' ' || c == '\t' || c == '\r'; });
    if (const auto at = of.find("\\u007f"); at != std::string::npos) of.replace(at, 6, "\x7f");
    return of;
  };
  const std::size_t entries = text.find("entries");
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  for (std::size_t at = 0; at < text.size(); ++at)  // a third of all values, another in each run
    for (int byte = static_cast<int>((at + seed) % 3); byte < 256; byte += 3) {
      std::string changed = text;
      changed[at] = static_cast<char>(byte);
      std::string got;
      try {
        got = raw::detail::row_index::parse(changed).dump();
      } catch (const mds::error&) {
        continue;
      }
      if (changed != text && at - entries < std::string_view("entries").size()) continue;
      if (without_space(got) != without_space(changed))
        FAIL("byte " << at << " is " << byte << ":\n" << changed << got);
    }
}

TEST_CASE("a row index that is changed in several places is refused, or read and written again",
          "[raw]") {
  using namespace row_index_test;
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const std::string text = small().dump();
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string changed = text;
    for (auto n = 1 + random() % 3; n > 0; --n)
      changed[random() % changed.size()] = static_cast<char>(random());
    try {
      const std::string got = raw::detail::row_index::parse(changed).dump();
      REQUIRE(raw::detail::row_index::parse(got).dump() == got);
    } catch (const mds::error&) {
      ++refused;
    }
  }
  CHECK(refused > 1900);  // about eight of a thousand change nothing, or make a text that is right
}

TEST_CASE("an update scans what is new or changed", "[raw]") {
  using namespace row_index_test;
  const raw::detail::row_index index = small();
  auto listing = listing_of({{"a/1.jsonl", "{\"t\":\"x\"}\n{\"t\":\"y\"}\n"}, {"a/3.jsonl", ""}});
  raw::detail::index_update update = raw::detail::compare(index, listing);
  CHECK(update.to_scan == std::vector{listing[1]});
  CHECK(update.changed.empty());
  CHECK(update.gone == std::vector<std::string>{"a/2.jsonl"});
  listing[0].tag = "other";
  update = raw::detail::compare(index, listing);
  CHECK(update.to_scan == listing);
  CHECK(update.changed == std::vector{listing[0]});
}
