#include <mdstream/format/own_encoding.hpp>
#include <mdstream/format/pickle.hpp>
#include <mdstream/format/sample_view.hpp>
#include <mdstream/format/schema.hpp>

#include <mdstream/collate/detail/source.hpp>
#include <mdstream/format/detail/encode_sample.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/point.hpp"

// Encodings of one's own, and the columns that a layout picks of another.

namespace own_encoding_test {

namespace mds = mdstream;
using mds::errc;
using support::point;

struct liar : point {
  static std::string encode(const view&) { return "seven b"; }
};

struct words {  // varies in size, and throws what is no error
  static constexpr std::string_view name = "words";
  using view = std::string;
  static view decode(mds::bytes_view value) {
    if (value.empty()) throw std::runtime_error("no words");
    return std::string(mds::as_text(value));
  }
  static std::vector<std::byte> encode(const std::string& value) {
    if (value.empty()) throw std::logic_error("nothing to say");
    const auto bytes = mds::as_bytes(value);
    return {bytes.begin(), bytes.end()};
  }
};

struct thrower {  // throws what is no std::exception, or an error of its own
  static constexpr std::string_view name = "thrower";
  using view = int;
  static view decode(mds::bytes_view value) {
    if (value.empty()) throw 17;
    throw mds::error(errc::unsupported, "a value of version 2");
  }
  static std::string encode(int) { throw "no such value"; }
};

struct shouted {  // another type for an encoding of MDS
  static constexpr std::string_view name = "str";
  using view = std::string;
  static view decode(mds::bytes_view value) { return std::string(mds::as_text(value)) + "!"; }
};

using rows =
    mds::schema<mds::column<"z", point>, mds::column<"a", words>, mds::column<"s", mds::str>>;

template <class Schema, class... Values>
std::vector<std::byte> sample_of(const Values&... values) {
  std::vector<std::byte> out;
  mds::detail::encode_sample<Schema>(
      [&](std::uint64_t bytes) {
        out.resize(static_cast<std::size_t>(bytes));
        return out.data();
      },
      values...);
  return out;
}

}  // namespace own_encoding_test

TEST_CASE("values of one's own encodings are written and read", "[own]") {
  using namespace own_encoding_test;
  static_assert(mds::own_encoding<point> && mds::own_encoding<words> && mds::own_encoding<shouted>);
  static_assert(!mds::own_encoding<mds::str> && !mds::own_encoding<int>);
  static_assert(rows::header_bytes == 8 && rows::smallest_sample == 16);
  static_assert(mds::writable_as<std::array<float, 2>, point> && !mds::writable_as<int, point>);
  CHECK(rows::layout().describe() == "a: words, s: str, z: point");
  const auto sample = sample_of<rows>(point::view{1.5F, -2}, std::string("hello"), "text");
  CHECK(rows::get<"z">(sample) == point::view{1.5F, -2});
  CHECK(rows::get<"a">(sample) == "hello");

  const mds::sample_layout layout = rows::layout();
  const mds::sample_view<rows> typed(sample, layout);
  CHECK(typed.get<"s", shouted>() == "text!");
  const mds::sample_view<mds::dynamic_schema> by_name(sample, layout);
  CHECK(by_name.get<point>("z")[0] == 1.5F);
  CHECK(by_name.get<words>("a") == "hello");
  CHECK(by_name.get<shouted>("s") == "text!");
  CHECK(by_name.get<mds::bytes_view>("z").size() == 8);
  support::expect_error([&] { (void)by_name.get<point>("a"); }, errc::invalid_argument,
                        {"column \"a\"", "words", "point"});
  support::expect_error([&] { (void)by_name.get<point>("q"); }, errc::not_found, {"q"});

  // In a batch it is its bytes.
  const mds::column_layout* const z = &layout.columns()[2];
  CHECK(mds::collate::detail::source_of(z->type).value_bytes == 8);
  CHECK(mds::collate::detail::source_of(layout[0].type).value_bytes == 0);
}

TEST_CASE("an encoding that lies about its size, or fails, is an error that names it", "[own]") {
  using namespace own_encoding_test;
  using lying = mds::schema<mds::column<"z", liar>>;
  support::expect_error([] { (void)sample_of<lying>(point::view{}); }, errc::invalid_argument,
                        {"column \"z\"", "point", "8 bytes", "one of 7"});
  const std::string seven = "1234567";
  support::expect_error([&] { (void)sample_of<lying>(mds::as_bytes(seven)); },
                        errc::invalid_argument, {"column \"z\"", "7 bytes"});
  support::expect_error([] { (void)sample_of<rows>(point::view{}, std::string(), "text"); },
                        errc::invalid_argument, {"column \"a\"", "words", "nothing to say"});
  const auto sample = sample_of<rows>(point::view{}, std::vector<std::byte>(), "text");
  support::expect_error([&] { (void)rows::get<"a">(sample); }, errc::corrupt,
                        {"column \"a\"", "words", "no words"});
  using throwing = mds::schema<mds::column<"t", thrower>>;
  support::expect_error([] { (void)sample_of<throwing>(1); }, errc::invalid_argument,
                        {"column \"t\"", "thrower", "unknown type"});
  const auto empty = sample_of<throwing>(std::vector<std::byte>());
  support::expect_error([&] { (void)throwing::get<"t">(empty); }, errc::corrupt,
                        {"column \"t\"", "thrower", "unknown type"});
  const auto one = sample_of<throwing>(std::vector<std::byte>(1));
  support::expect_error([&] { (void)throwing::get<"t">(one); }, errc::unsupported,
                        {"column \"t\"", "a value of version 2"});
}

TEST_CASE("plain data is read of pickles", "[own]") {
  using namespace own_encoding_test;
  using pickles = mds::schema<mds::column<"p", mds::pickled>>;
  CHECK(pickles::layout()[0].type.kind == mds::encoding_kind::pkl);
  const std::string seven("\x80\x02K\x07.", 5);
  const auto sample = sample_of<pickles>(mds::as_bytes(seven));
  const mds::pickle_value value = pickles::get<"p">(sample);
  CHECK(value.text == "7");
  const std::string command("cos\nsystem\n.", 12);
  const auto hostile = sample_of<pickles>(mds::as_bytes(command));
  support::expect_error([&] { (void)pickles::get<"p">(hostile); }, errc::corrupt, {"column \"p\""});
}

TEST_CASE("a schema picks its columns by name, in any order, and by encoding", "[own]") {
  using namespace own_encoding_test;
  using mds::detail::column_picks;
  const auto point_of = [](std::uint64_t bytes) {
    return mds::column_layout{"z", "point", mds::other_encoding(bytes),
                              bytes == 0 ? std::nullopt : std::optional(bytes)};
  };
  const mds::column_layout text{"s", "str", mds::parse_encoding("str"), std::nullopt};
  const mds::column_layout id{"id", "int", mds::parse_encoding("int"), 8};
  const auto layout = [](std::vector<mds::column_layout> columns) {
    return mds::sample_layout(mds::shard_format::mds, std::move(columns));
  };
  using wanted = mds::schema<mds::column<"z", point>, mds::column<"s", mds::str>>;
  CHECK(column_picks(layout({text, point_of(8)}), wanted::layout()).takes_all());
  const mds::sample_layout mixed = layout({point_of(8), id, text});  // in no order
  const column_picks picks(mixed, wanted::layout());
  CHECK_FALSE(picks.takes_all());
  CHECK(picks.ignored() == "id: int");
  // u32 of "s", the point, the id, the text
  std::string stored("\x02\0\0\0", 4);
  stored += point::encode({3, 4}) + std::string("\x09\0\0\0\0\0\0\0", 8) + "hi";
  std::vector<std::byte> out{std::byte{1}};
  picks.append(mixed, wanted::layout(), mds::as_bytes(stored), out);
  const auto made = mds::bytes_view(out).subspan(1);
  CHECK(made.size() == 4 + 2 + 8);
  CHECK(wanted::get<"s">(made) == "hi");
  CHECK(wanted::get<"z">(made) == point::view{3, 4});
  for (std::size_t size = 0; size < stored.size(); ++size)
    support::expect_error(
        [&] { picks.append(mixed, wanted::layout(), mds::as_bytes(stored).first(size), out); },
        errc::corrupt);

  support::expect_error([&] { wanted::check(layout({text, point_of(9)})); }, errc::schema_mismatch,
                        {"column \"z\"", "values of 9 bytes", "of 8 bytes"});
  support::expect_error([&] { wanted::check(layout({text, point_of(0)})); }, errc::schema_mismatch,
                        {"column \"z\"", "values of no fixed size", "of 8 bytes"});
  support::expect_error([&] { wanted::check(layout({text, id})); }, errc::schema_mismatch,
                        {"column \"z\"", "none of this name", "s: str, id: int"});
  auto other = point_of(8);
  other.encoding_text = "vector";
  support::expect_error([&] { wanted::check(layout({text, other})); }, errc::schema_mismatch);

  // As bytes, an encoding that nobody here knows is read.
  using raw = mds::schema<mds::column<"z", mds::bytes>>;
  const column_picks as_bytes(layout({point_of(8)}), raw::layout());
  CHECK_FALSE(as_bytes.takes_all());
  const std::string one = point::encode({5, 6});
  out.clear();
  as_bytes.append(layout({point_of(8)}), raw::layout(), mds::as_bytes(one), out);
  CHECK(mds::as_text(raw::get<"z">(out)) == one);

  CHECK(
      mds::detail::common_columns({layout({text, point_of(8), id}), layout({point_of(8), text})}) ==
      std::vector{text, point_of(8)});
  CHECK(mds::detail::common_columns({layout({point_of(8)}), layout({point_of(9)})}).empty());
}
