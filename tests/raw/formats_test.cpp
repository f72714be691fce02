// What each format takes and refuses, one by one.
#include <mdstream/raw/detail/tar.hpp>
#include <mdstream/raw/formats.hpp>

#include <mdstream/format/column_value.hpp>

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "raw/random_sources.hpp"
#include "raw/raw_source.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace raw_formats_test {

using namespace raw_test;
using mdstream::errc;
using texts = std::vector<std::string>;

struct found {
  raw::detail::row_index index;
  texts rows;
  [[nodiscard]] texts column(std::string_view name) const { return texts_of(index, rows, name); }
  [[nodiscard]] std::string encodings() const {
    std::string out;
    for (const raw::column& each : index.options.columns)
      out += (out.empty() ? "" : " ") + raw::to_string(each);
    return out;
  }
};

found read(const raw::options& about, const source& objects) {
  const raw::source_format format = format_of(about);
  found out{index_of(format, objects), {}};
  out.rows = rows_of(format, out.index, objects);
  return out;
}

void refuse(const raw::options& about, const source& objects, errc code,
            std::initializer_list<std::string_view> pieces) {
  support::expect_error([&] { (void)read(about, objects); }, code, pieces);
}

std::string number(std::int64_t value) {
  return std::string(reinterpret_cast<const char*>(&value), 8);
}

}  // namespace raw_formats_test

TEST_CASE("columns as texts", "[raw]") {
  using namespace raw_formats_test;
  const raw::column full = raw::parse_column("url=str@/meta/a~1b");
  CHECK(full == raw::column{"url", "str", "/meta/a~1b"});
  CHECK(raw::to_string(full) == "url=str@/meta/a~1b");
  CHECK(raw::parse_column("n=ndarray:int32:2") == raw::column{"n", "ndarray:int32:2", ""});
  for (const char* bad : {"text", "=str", "a=string"})
    support::expect_error([&] { (void)raw::parse_column(bad); }, errc::invalid_argument);
}

TEST_CASE("columns of JSON lines are inferred from all objects", "[raw]") {
  using namespace raw_formats_test;
  const source objects{{"1",
                        "{\"i\": 1, \"f\": 1, \"b\": true, \"s\": \"x\", \"n\": null, \"m\": 1, "
                        "\"h\": 1, \"l\": []}\n"},
                       {"2",
                        "{\"i\": -2, \"f\": 0.5, \"b\": false, \"s\": \"\", \"n\": 1, \"m\": \"\", "
                        "\"h\": 99999999999999999999}\n"}};
  const found all = read({.format = "jsonl"}, objects);
  CHECK(all.encodings() == "b=uint8 f=float64 h=str_int i=int l=json m=json n=json s=str");
  CHECK(all.column("i") == texts{number(1), number(-2)});
  CHECK(all.column("h") == texts{"1", "99999999999999999999"});
  CHECK(all.column("n") == texts{"null", "1"});
  // a key that some rows lack is null
  CHECK(all.column("l") == texts{"[]", "null"});
  refuse({.format = "jsonl", .columns = {{"l", "str"}}}, {{"1", "{}"}}, errc::invalid_argument,
         {"no value", "column \"l\"", "sample 0"});
  const found filled = read({.format = "jsonl", .null_value = "0"}, objects);
  CHECK(filled.encodings() == "b=uint8 f=float64 h=str_int i=int l=json m=json n=int s=str");
  CHECK(filled.column("n") == texts{number(0), number(1)});
  CHECK(filled.column("l") == texts{"[]", "0"});
}

TEST_CASE("lines of JSON's blanks are no rows", "[raw]") {
  using namespace raw_formats_test;
  const source objects{{"a.jsonl", " \t\n{\"n\": 1}\n \n\t\r\r\n\r\n  {\"n\": 2} \n \t "},
                       {"b.jsonl", "\xEF\xBB\xBF \n\n"},
                       {"c.jsonl", "\t"}};
  for (const raw::options& about : {raw::options{.format = "jsonl"},
                                    raw::options{.format = "jsonl", .columns = {{"n", "int"}}}}) {
    const found all = read(about, objects);
    CHECK(all.index.samples() == 2);
    CHECK(all.column("n") == texts{number(1), number(2)});
  }
  // Other bytes that some call blank are none of JSON's; a text's line of blanks is a text.
  for (const char* other : {"\v", "\f", "\xC2\xA0"})
    refuse({.format = "jsonl"}, {{"a", std::string("{\"n\": 1}\n ") + other + "\n"}}, errc::corrupt,
           {"byte 10"});
  CHECK(read({.format = "text"}, {{"a", "one\n \n\ntwo\n"}}).column("text") ==
        texts{"one", " ", "two"});
}

TEST_CASE("columns of JSON lines are named by pointers and encodings", "[raw]") {
  using namespace raw_formats_test;
  const source objects{
      {"a.jsonl",
       "\xEF\xBB\xBF{\"meta\": {\"a/b\": \"x\", \"l\": [5, {\"z\": \"\\u00e9\\n\"}]}, "
       "\"ids\": [[1,2],[3,4]], \"d\": 1.50, \"t\": \"u\"}\r\n\r\n\n"}};
  raw::options about{.format = "jsonl",
                     .columns = {{"u", "str", "/meta/a~1b"},
                                 {"z", "str", "/meta/l/1/z"},
                                 {"m", "json", "/meta"},
                                 {"ids", "ndarray:uint8"},
                                 {"flat", "ndarray:int16:2,2", "/ids"},
                                 {"d", "str_decimal"},
                                 {"t", "str"}}};
  refuse(about, objects, errc::invalid_argument, {"two columns take the same value", "flat"});
  about.columns[4] = {"five", "int8", "/meta/l/0"};
  const found all = read(about, objects);
  CHECK(all.column("u") == texts{"x"});
  CHECK(all.column("z") == texts{"\xC3\xA9\n"});
  CHECK(all.column("m") == texts{"{\"a/b\": \"x\", \"l\": [5, {\"z\": \"\\u00e9\\n\"}]}"});
  CHECK(all.column("ids") == texts{std::string("\x08\x02\x02\x01\x02\x03\x04", 7)});
  CHECK(all.column("d") == texts{"1.50"});
  CHECK(all.column("five") == texts{"\x05"});
}

TEST_CASE("rows of JSON lines that cannot be read are named, or skipped", "[raw]") {
  using namespace raw_formats_test;
  const auto bad = [](const std::string& row, errc code,
                      std::initializer_list<std::string_view> pieces) {
    INFO(row);
    const source objects{{"en/a.jsonl", "{\"t\": \"good\"}\n" + row + "\n"}};
    raw::options about{.format = "jsonl", .columns = {{"t", "str"}}};
    refuse(about, objects, code, pieces);
    refuse(about, objects, code, {"en/a.jsonl", "sample 1"});
    about.skip_bad = true;
    CHECK(read(about, objects).column("t") == texts{"good"});
  };
  bad("[{\"t\": 1}]", errc::corrupt, {"array", "byte 14"});
  bad("{\"t\": 1}", errc::corrupt,
      {"an integer does not go into", "str", "column \"t\"", "byte 20"});
  bad("{\"t\": \"\xFF\"}", errc::corrupt, {"not UTF-8", "byte 21"});
  bad("{\"t\": \"\\ud800\"}", errc::corrupt, {"not UTF-8"});
  bad("{\"t\": null}", errc::corrupt, {"null", "column \"t\""});
  bad("{\"x\": \"\"}", errc::invalid_argument, {"no value", "column \"t\""});
  bad("{\"t\": \"a\"} x", errc::corrupt, {"text follows", "byte 25"});
  bad("{\"t\": \"a\"", errc::corrupt, {"the JSON text ends"});
  bad("17", errc::corrupt, {"not a JSON object"});

  const auto wrong = [](const std::string& value, const std::string& encoding) {
    INFO(value << ' ' << encoding);
    support::expect_error(
        [&] {
          (void)read({.format = "jsonl", .columns = {{"t", encoding}}},
                     {{"a", "{\"t\": " + value + "}\n"}});
        },
        errc::corrupt, {"column \"t\"", "sample 0", "byte"});
  };
  for (const auto& [value, encoding] : {std::pair{"1.5", "int"},
                                        {"9223372036854775808", "int"},
                                        {"\"1\"", "int"},
                                        {"true", "float64"},
                                        {"[1,[2]]", "ndarray:int32"},
                                        {"[[1],[2,3]]", "ndarray:int32"},
                                        {"[]", "ndarray:int32"},
                                        {"[1]", "ndarray"},
                                        {"[300]", "ndarray:uint8"},
                                        {"[1.5]", "ndarray:uint8"},
                                        {"{}", "str"},
                                        {"1.5", "str_int"},
                                        {"\"x\"", "str_decimal"},
                                        {"\"x\"", "jpeg"}})
    wrong(value, encoding);
}

TEST_CASE("a disk that fails while a shard is given away is named, and not the row", "[raw]") {
  using namespace raw_formats_test;
  raw::detail::sample_sink out({.skip_bad = true}, {{"text", "str", ""}}, "rows.jsonl");
  out.stream_to(2, [](std::uint64_t, mds::bytes_view) {
    throw mds::error(errc::invalid_argument,
                     mds::diagnostics{.what = "no disk", .url = "/cache/shard"});
  });
  out.row(0, [&] { (void)out.add_bytes(300'000); });
  const auto failure =
      support::error_of([&] { out.row(300'000, [&] { (void)out.add_bytes(1); }); });
  REQUIRE(failure);
  CHECK(failure->where().what == "no disk");
  CHECK(failure->where().url == "/cache/shard");
  CHECK_FALSE(failure->where().byte);
  CHECK(out.skipped() == 0);
}

TEST_CASE("lines and paragraphs of a text", "[raw]") {
  using namespace raw_formats_test;
  const source objects{{"a.txt", "\xEF\xBB\xBF one\r\n\r\n\ntwo\nthree\r\n\n\n four"}};
  CHECK(read({.format = "text"}, objects).column("text") == texts{" one", "two", "three", " four"});
  const found all =
      read({.format = "text", .columns = {{"p", "str"}}, .unit = "paragraph"}, objects);
  CHECK(all.column("p") == texts{" one", "two\nthree", " four"});
  refuse({.format = "text", .unit = "page"}, objects, errc::invalid_argument, {"page"});
  refuse({.format = "text"}, {{"b.txt", "good\nb\xFF\n"}}, errc::corrupt,
         {"not UTF-8", "b.txt", "sample 1", "byte 6"});
}

TEST_CASE("CSV objects have their columns in any order", "[raw]") {
  using namespace raw_formats_test;
  const raw::options about{.format = "csv", .columns = {{"a", "int"}, {"b", "str"}}};
  const found all = read(about, {{"1", "a,b\n1,\"x\ny\"\n"}, {"2", "b,a,c\r\n3,4,5"}});
  CHECK(all.column("a") == texts{number(1), number(4)});
  CHECK(all.column("b") == texts{"x\ny", "3"});
  refuse({.format = "csv"}, {{"1", "a\n1\n"}, {"2", "b,a\n"}}, errc::invalid_argument,
         {"missing in 1", "\"b\""});
  refuse(about, {{"1", "a,c\n1,2\n"}}, errc::schema_mismatch,
         {"no such field", "\"b\"", "(column"});
  refuse(about, {{"1", "a,b\n1,2\n3\n"}}, errc::corrupt,
         {"1 fields", "header has 2", "sample 1", "byte 8"});
  refuse(about, {{"1", "a,b\n1,2\n3,x\"y\n"}}, errc::corrupt, {"does not begin", "byte 11"});
  refuse(about, {{"1", "a,b\n1,2\n3,x\"y\"\n"}}, errc::corrupt, {"does not begin", "byte 11"});
  refuse(about, {{"1", "a,b\n1,2\n3,\"x\"y\n"}}, errc::corrupt, {"closing quote", "byte 13"});
  refuse(about, {{"1", "a,b\n1,\"2\n"}}, errc::corrupt, {"not closed", "byte 4"});
  refuse(about, {{"1", "a,b,a\n"}}, errc::corrupt, {"\"a\" twice"});
  refuse(about, {{"1", ""}}, errc::corrupt, {"no header", "(1"});
  refuse(about, {{"1", "a,b\nx,2\n"}}, errc::corrupt, {"not an integer", "column \"a\"", "byte 4"});
  raw::options semicolons = about;
  semicolons.delimiter = ";";
  semicolons.null_value = "-1";
  CHECK(read(semicolons, {{"1", "a;b\n;,\n"}}).column("a") == texts{number(-1)});
  semicolons.delimiter = "\"";
  refuse(semicolons, {}, errc::invalid_argument, {"delimiter"});
}

TEST_CASE("archives that are damaged, sparse or ambiguous are named", "[raw]") {
  using namespace raw_formats_test;
  const std::string one = tar_member("a.txt", "x") + tar_member("a.cls", "1");
  const raw::options about{.format = "webdataset"};
  CHECK(read(about, {{"1.tar", one}}).column("__key__") == texts{"a"});
  const std::string zeros(1024, '\0');
  // what follows the end is not read; an archive without samples has none
  CHECK(read(about, {{"1.tar", one + zeros + "garbage"}, {"2.tar", zeros}, {"3.tar", ""}})
            .rows.size() == 1);
  refuse(about, {{"1.tar", one.substr(0, 512)}}, errc::corrupt, {"1.tar", "cut short", "byte 124"});
  refuse(about, {{"1.tar", one.substr(0, 1100)}}, errc::corrupt,
         {"1.tar", "cut short", "byte 1024"});
  std::string changed = one;
  changed[1024] = 'b';
  refuse(about, {{"1.tar", changed}}, errc::corrupt, {"checksum", "byte 1024"});
  refuse(about, {{"1.tar", "not an archive" + zeros}}, errc::corrupt, {"byte 0"});
  refuse(about, {{"1.tar", one + tar_member("a.jpg", "", '1')}}, errc::unsupported,
         {"hard link", "byte 2048"});
  refuse(about, {{"1.tar", one + tar_member("a.jpg", "", 'S')}}, errc::unsupported, {"sparse"});
  refuse(about, {{"1.tar", one + tar_member("a.TXT", "")}}, errc::corrupt,
         {"\"a\"", "\"txt\" twice", "sample 0", "byte 2048"});
  refuse(about, {{"1.tar", one + tar_member("b.txt", "")}}, errc::invalid_argument,
         {"missing in 1 of the first 2", "cls"});
  raw::options named{.format = "webdataset", .columns = {{"cls", "int"}}};
  refuse(named, {{"1.tar", one + tar_member("b.txt", "")}}, errc::corrupt,
         {"\"b\"", "no field \"cls\"", "sample 1", "byte 2048"});
  named.null_value = "-7";
  CHECK(read(named, {{"1.tar", one + tar_member("b.txt", "")}}).column("cls") ==
        texts{number(1), number(-7)});
  refuse({.format = "webdataset"}, {{"1.tar", tar_member("a.npy", "\x93NUMPY\1")}}, errc::corrupt,
         {"npy", "sample 0"});
}

TEST_CASE("the sum of a tar header may be one of signed bytes", "[raw]") {
  using namespace raw_formats_test;
  const raw::options about{.format = "webdataset"};
  std::string archive = tar_member("\xC3\xA9.txt", "x");  // two bytes that are negative then
  const auto sum = static_cast<unsigned>(std::stoul(archive.substr(148, 6), nullptr, 8));
  for (const unsigned less : {0U, 256U, 512U, 768U}) {
    char digits[8];
    std::snprintf(digits, sizeof digits, "%06o", sum - less);
    archive.replace(148, 6, digits);
    if (less == 0 || less == 512)
      CHECK(read(about, {{"1.tar", archive}}).rows.size() == 1);
    else
      refuse(about, {{"1.tar", archive}}, errc::corrupt, {"checksum", "byte 0"});
  }
}

namespace raw_formats_test {

/// A member whose header has these bytes in the place of its size.
std::string with_size(std::string member, std::string_view field) {
  member.replace(124, 12, field);
  member.replace(148, 8, "        ");
  unsigned sum = 0;
  for (const char c : member.substr(0, 512)) sum += static_cast<unsigned char>(c);
  char digits[8];
  std::snprintf(digits, sizeof digits, "%06o", sum);
  member.replace(148, 7, digits, 7);
  return member;
}

/// GNU's form of a size: a bit, and a number of 95 bits.
std::string binary_size(const std::vector<unsigned char>& last) {
  std::string out(12, '\0');
  out[0] = '\x80';
  for (std::size_t i = 0; i < last.size(); ++i)
    out[out.size() - last.size() + i] = static_cast<char>(last[i]);
  return out;
}

std::string pax(const std::string& records) { return tar_member("PaxHeaders/a", records, 'x'); }

}  // namespace raw_formats_test

TEST_CASE("sizes of members may be binary, or stand in a pax record before them", "[raw]") {
  using namespace raw_formats_test;
  const raw::options about{.format = "webdataset"};
  const std::string data(300, 'd'), zeros = "00000000000", next = tar_member("b.txt", "next");
  const auto check = [&](const std::string& member) {
    const found all = read(about, {{"1.tar", member + next}});
    CHECK(all.column("__key__") == texts{"a", "b"});
    CHECK(all.column("txt") == texts{data, "next"});
  };
  const std::string plain = tar_member("a.txt", data);
  check(with_size(plain, binary_size({1, 44})));
  // A record is taken and the header's size is not, whatever that is; for one member alone.
  check(pax("12 size=300\n") + with_size(plain, std::string_view(zeros.c_str(), 12)));
  check(pax("14 path=a.txt\n12 size=300\n") +
        with_size(tar_member("z", data), binary_size({7, 7})));

  const auto refused = [&](const std::string& member,
                           std::initializer_list<std::string_view> text) {
    refuse(about, {{"1.tar", member + next}}, errc::corrupt, text);
  };
  refused(with_size(plain, std::string(12, '\xFF')), {"negative or too large", "byte 124"});
  refused(with_size(plain, "\x81" + binary_size({}).substr(1)), {"negative or too large"});
  refused(with_size(plain, binary_size({1, 0, 0, 0, 0, 0, 0, 0, 1})), {"too large", "byte 124"});
  refused(with_size(plain, binary_size({0x50, 0, 0, 0, 0, 0, 0, 0})), {"62 bits", "byte 124"});
  refused(with_size(plain, binary_size({0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF})),
          {"62 bits"});
  refused(with_size(plain, binary_size({1, 0, 0, 0, 0})), {"cut short", "4294967296 bytes"});
  refused(with_size(plain, "00000000458 "), {"not an octal number", "byte 124"});
  for (const char* record : {"12 size=30x\n", "11 size=-3\n", "29 size=99999999999999999999\n"})
    refused(pax(record) + plain, {"record's size is not a number", "byte 512"});
  for (const char* record :
       {"13 size=300\n", "11 size=300\n", "x size=300\n", "11 size300\n", "2 \n", "12size=300\n\n"})
    refused(pax(record) + plain, {"not a length, a key and a value", "byte 512"});
}

TEST_CASE("a member of more than 8 GiB has the size that its header tells", "[raw]") {
  using namespace raw_formats_test;
  const std::uint64_t size = (std::uint64_t{1} << 33) + 5;
  const auto size_of = [&](const std::string& headers) {
    const auto member = raw::detail::tar_reader::read(
        {.offset = 1024, .bytes = mds::as_bytes(headers), .object_bytes = std::uint64_t{1} << 34},
        0);
    REQUIRE(member);
    CHECK(member->begin == 1024);
    CHECK(member->data == 1024 + headers.size());
    CHECK(member->end == member->data + (size + 511) / 512 * 512);
    return member->size;
  };
  const std::string header = tar_member("a.bin", "");
  CHECK(size_of(with_size(header, binary_size({2, 0, 0, 0, 5}))) == size);
  CHECK(size_of(pax("19 size=8589934597\n") + header) == size);
}

TEST_CASE("names of members are taken apart as WebDataset does", "[raw]") {
  using namespace raw_formats_test;
  const auto split = [](const char* name) -> std::string {
    const auto out = raw::detail::split_member_name(name);
    return out ? std::string(out->key) + '|' + out->field : "";
  };
  CHECK(split("a.b/c.Seg.PNG") == "a.b/c|seg.png");
  CHECK(split("a") == "");
  CHECK(split("a.b/c") == "");
  CHECK(split("d/.hidden") == "d/|hidden");
  CHECK(split(".hidden") == "");
  CHECK(split("a.b/.hidden") == "");
  CHECK(split("d/__meta__.txt") == "d/__meta__|txt");
  CHECK(split("d/__meta__") == "");
  CHECK(split("x__m__/a.txt") == "");
  CHECK(split("a.") == "a|");
}

TEST_CASE("files are samples, and directories of pictures are labels", "[raw]") {
  using namespace raw_formats_test;
  const source objects{
      {"b/1.jpg", "J1"}, {"a/2.JPEG", "J2"}, {"b/sub/3.jpg", "J3"}, {"b/_x", "no"}};
  const found all = read({.format = "images", .shard_bytes = 16}, objects);
  CHECK(all.encodings() == "file=jpeg label=int path=str");
  CHECK(all.column("path") == texts{"a/2.JPEG", "b/1.jpg", "b/sub/3.jpg"});
  CHECK(all.column("label") == texts{number(0), number(1), number(2)});
  CHECK(all.column("file") == texts{"J2", "J1", "J3"});
  CHECK(all.index.shards() == 1);
  CHECK(read({.format = "files"}, {{"a.jpg", "1"}, {"b.txt", "2"}}).encodings() ==
        "file=bytes path=str");
  const found docs = read({.format = "files", .columns = {{"file", "str"}}}, {{"a.md", "text"}});
  CHECK(docs.column("file") == texts{"text"});
  refuse({.format = "files"}, {{"a.jpg", "1"}, {"b.jpg", ""}}, errc::corrupt, {"empty", "b.jpg"});
  CHECK(read({.format = "files", .skip_bad = true}, {{"a.jpg", "1"}, {"b.jpg", ""}}).rows.size() ==
        1);
  refuse({.format = "files"}, {{"_a", "1"}}, errc::not_found, {"no object"});
  refuse({.format = "files", .files = "*.png"}, objects, errc::not_found, {"*.png"});
}

TEST_CASE("token files that contradict themselves are named", "[raw]") {
  using namespace raw_formats_test;
  std::array<std::uint32_t, 256> words{20240520, 1, 3};
  const auto header = [&] {
    return std::string(reinterpret_cast<const char*>(words.data()), 1024);
  };
  raw::options about{.format = "tokens"};
  about.window = 2;
  CHECK(read(about, {{"a.bin", header() + "112233"}}).column("tokens") == texts{"1122"});
  refuse(about, {{"a.bin", header() + "11223344"}}, errc::corrupt,
         {"a.bin", "3 tokens", "1030 bytes", "1032", "byte 8"});
  refuse(about, {{"a.bin", header().substr(0, 1000)}}, errc::corrupt, {"cut short"});
  words[0] = 20240522;
  refuse(about, {{"a.bin", header()}}, errc::unsupported, {"evaluation"});
  refuse(about, {{"a.bin", "1122"}}, errc::unsupported, {"set dtype"});
  about.dtype = "uint16";
  CHECK(read(about, {{"a.bin", "112233"}}).column("tokens") == texts{"1122"});
  refuse(about, {{"a.bin", "11223"}}, errc::corrupt, {"within a token", "byte 5"});
  refuse({.format = "tokens", .dtype = "uint16"}, {{"a.bin", "1122"}}, errc::invalid_argument,
         {"window"});
  refuse({.format = "tokens", .dtype = "float32"}, {}, errc::invalid_argument, {"float32"});
  refuse({.format = "tokens",
          .columns = {{"tokens", "ndarray:int32"}},
          .window = 2,
          .dtype = "uint16"},
         {{"a.bin", "1122"}}, errc::schema_mismatch, {"ndarray:uint16", "a.bin"});

  // Megatron's index, by each of its numbers
  const auto put = [](std::string& to, auto value) {
    to.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  std::string idx("MMIDIDX\0\0", 9);
  put(idx, std::uint64_t{1});
  put(idx, std::uint8_t{8});
  put(idx, std::uint64_t{2});
  put(idx, std::uint64_t{3});
  for (const std::int32_t length : {2, 1}) put(idx, length);
  for (const std::int64_t pointer : {0, 4}) put(idx, pointer);
  for (const std::int64_t bound : {0, 1, 2}) put(idx, bound);
  const auto megatron = [&](std::size_t at, auto value) {
    std::string changed = idx;
    std::memcpy(changed.data() + at, &value, sizeof value);
    return source{{"a.bin", "112233"}, {"a.idx", changed}};
  };
  about = {.format = "tokens"};
  CHECK(read(about, megatron(9, std::uint64_t{1})).rows.size() == 2);
  refuse(about, megatron(9, std::uint64_t{2}), errc::unsupported, {"version 2", "a.idx", "byte 9"});
  refuse(about, megatron(17, std::uint8_t{9}), errc::corrupt, {"dtype 9", "byte 17"});
  refuse(about, megatron(17, std::uint8_t{6}), errc::corrupt, {"floating"});
  refuse(about, megatron(18, ~std::uint64_t{0}), errc::corrupt, {"18446744073709551615"});
  refuse(about, megatron(18, std::uint64_t{3}), errc::corrupt, {"cut short"});
  refuse(about, megatron(34, std::int32_t{-2}), errc::corrupt, {"length -2", "byte 34"});
  refuse(about, megatron(50, std::int64_t{-2147483644}), errc::corrupt,
         {"sequence 1", "-2147483644", "byte 50"});
  refuse(about, megatron(38, std::int32_t{2}), errc::corrupt, {"8 bytes", "has 6"});
  refuse(about, megatron(66, std::int64_t{7}), errc::corrupt, {"document"});
  refuse(about, megatron(74, std::int64_t{1}), errc::corrupt, {"document"});
  about.dtype = "uint16";
  refuse(about, {{"a.bin", "11"}}, errc::invalid_argument, {"window"});
}
