#include <mdstream/format/schema.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace schema_test {

using namespace mdstream;  // short names for column types, within this namespace only

using rows = schema<column<"tokens", ndarray<std::uint16_t, 2, 3>>, column<"id", int_>,
                    column<"text", str>, column<"any", ndarray<>>, column<"f", ndarray<float>>,
                    column<"u", std::uint8_t>, column<"raw", bytes>, column<"h", float16>>;
using fixed = schema<column<"b", std::int32_t>, column<"a", double>>;

/// A sample made of values in storage order.
template <class... Parts>
std::string sample_of(const sample_layout& layout, const Parts&... values) {
  const std::vector<std::string> parts{values...};
  std::string sizes;
  std::string body;
  for (std::size_t i = 0; i < layout.size(); ++i) {
    if (!layout[i].size) {
      const auto size = static_cast<std::uint32_t>(parts[i].size());
      sizes.append(reinterpret_cast<const char*>(&size), 4);
    }
    body += parts[i];
  }
  return sizes + body;
}

template <class T>
std::string bytes_of(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

}  // namespace schema_test

TEST_CASE("a schema knows its storage order and sizes while compiling", "[schema]") {
  using namespace schema_test;
  static_assert(rows::size == 8);
  static_assert(rows::index_of<"any"> == 0);
  static_assert(rows::index_of<"u"> == 7);
  static_assert(rows::header_bytes == 16);
  static_assert(rows::smallest_sample == 16 + 12 + 8 + 1 + 2);
  static_assert(!rows::is_fixed && fixed::is_fixed);
  static_assert(fixed::smallest_sample == 12);
  static_assert(fixed::index_of<"a"> == 0);
  CHECK(rows::layout().describe() ==
        "any: ndarray, f: ndarray:float32, h: float16, id: int, raw: bytes, text: str, tokens: "
        "ndarray:uint16:2,3, u: uint8");
}

TEST_CASE("columns of a sample are read by name", "[schema]") {
  using namespace schema_test;
  std::string tokens;
  for (std::uint16_t i = 0; i < 6; ++i) tokens += bytes_of(static_cast<std::uint16_t>(1000 + i));
  const std::string any = std::string("\x08\x04\x02", 3) + "\x0A\x0B";
  const std::string f = std::string("\x08\x01\x02", 3) + bytes_of(1.5F) + bytes_of(-2.0F);
  const std::string sample = sample_of(rows::layout(), any, f, bytes_of(float16(0.5).bits),
                                       bytes_of(std::int64_t{-7}), std::string("\xFF\x00", 2),
                                       std::string("t\xC3\xA9xt"), tokens, std::string("\xC8"));
  const auto bytes = as_bytes(sample);
  CHECK(rows::get<"tokens">(bytes)[5] == 1005);
  CHECK(rows::get<"tokens">(bytes).size() == 6);
  CHECK(rows::get<"id">(bytes) == -7);
  CHECK(rows::get<"text">(bytes) == "t\xC3\xA9xt");
  CHECK(rows::get<"u">(bytes) == 200);
  CHECK(float{rows::get<"h">(bytes)} == 0.5F);
  CHECK(as_text(rows::get<"raw">(bytes)) == std::string("\xFF\x00", 2));
  CHECK(rows::get<"any">(bytes).type() == dtype::uint8);
  CHECK(rows::get<"f">(bytes).shape() == array_shape{1, 2});
  CHECK(rows::get<"f">(bytes)[1] == -2.0F);
  // the same places as the layout at run time finds
  for (std::size_t i = 0; i < rows::size; ++i) CHECK_NOTHROW(rows::layout().locate(bytes, i));
  CHECK(rows::raw<"tokens">(bytes).data() ==
        rows::layout().locate(bytes, rows::index_of<"tokens">).data());
}

TEST_CASE("columns that reach beyond the sample or hold nonsense are refused by name", "[schema]") {
  using namespace schema_test;
  const std::string good =
      sample_of(rows::layout(), std::string("\x08\x04\x01x"), std::string("\x04\x00"), "hh",
                std::string(8, 'i'), "", "text", std::string(12, 't'), "u");
  CHECK_NOTHROW(rows::get<"u">(as_bytes(good)));
  support::expect_error([&] { (void)rows::get<"u">(as_bytes(good).first(good.size() - 1)); },
                        errc::corrupt, {"column \"u\""});
  support::expect_error([&] { (void)rows::get<"any">(bytes_view()); }, errc::corrupt,
                        {"column \"any\""});
  support::expect_error([&] { (void)fixed::get<"b">(as_bytes("12345678901")); }, errc::corrupt,
                        {"column \"b\""});
  std::string text = good;
  text[text.size() - 14] = '\xFF';
  support::expect_error([&] { (void)rows::get<"text">(as_bytes(text)); }, errc::corrupt,
                        {"column \"text\"", "UTF-8", "byte 3"});
  std::string any = good;
  any[16] = '\x07';
  support::expect_error([&] { (void)rows::get<"any">(as_bytes(any)); }, errc::corrupt,
                        {"column \"any\"", "id 7"});
}

TEST_CASE("a dataset with other columns is refused with both lists", "[schema]") {
  using namespace schema_test;
  CHECK_NOTHROW(fixed::check(fixed::layout()));
  CHECK_NOTHROW(fixed::check(sample_layout::mds({{"a", "float64"}, {"b", "int32"}})));
  CHECK_NOTHROW(fixed::check(sample_layout::mds({{"a", "float64"}, {"b", "int32"}, {"c", "str"}})));
  for (const auto& columns :
       std::vector<std::vector<column_spec>>{{{"a", "float64"}, {"b", "int64"}},
                                             {{"a", "float64"}},
                                             {{"a", "float64"}, {"c", "int32"}}}) {
    const sample_layout found = sample_layout::mds(columns);
    support::expect_error([&] { fixed::check(found); }, errc::schema_mismatch,
                          {found.describe(), "a: float64, b: int32"});
  }
  // sizes of the index count, not only names
  auto columns = fixed::layout().columns();
  columns[1].size.reset();
  support::expect_error([&] { fixed::check(sample_layout(shard_format::mds, columns)); },
                        errc::schema_mismatch);
  support::expect_error(
      [&] { fixed::check(sample_layout(shard_format::csv, fixed::layout().columns())); },
      errc::schema_mismatch, {"csv"});
}

TEST_CASE("typed values are encoded, or refused", "[schema]") {
  using namespace schema_test;
  const auto bytes_as = []<class T, class V>(std::type_identity<T>, const V& value) {
    const auto part = column_traits<T>::encode(value);
    std::string out(part.size(), '\0');
    part.copy_to(reinterpret_cast<std::byte*>(out.data()));
    return out;
  };
  CHECK(bytes_as(std::type_identity<std::uint8_t>(), 255) == "\xFF");
  CHECK(bytes_as(std::type_identity<int_>(), true) == bytes_of(std::int64_t{1}));
  CHECK(bytes_as(std::type_identity<float>(), 0.1) == bytes_of(0.1F));
  CHECK(bytes_as(std::type_identity<float16>(), 1) == bytes_of(float16(1.0).bits));
  CHECK(bytes_as(std::type_identity<str>(), std::string("abc")) == "abc");
  const std::vector<std::uint16_t> six{1, 2, 3, 4, 5, 6};
  CHECK(bytes_as(std::type_identity<ndarray<std::uint16_t, 2, 3>>(), six).size() == 12);
  CHECK(bytes_as(std::type_identity<ndarray<>>(), six).substr(0, 3) == "\x10\x04\x06");
  CHECK(bytes_as(std::type_identity<ndarray<std::uint16_t>>(), six).substr(0, 2) == "\x04\x06");
  const std::vector<std::byte> four(4);
  CHECK(bytes_as(std::type_identity<std::int32_t>(), four) == std::string(4, '\0'));
  static_assert(!writable_as<double, std::int32_t>);
  static_assert(!writable_as<std::vector<int>, ndarray<std::uint16_t>>);
  static_assert(!writable_as<std::vector<int>, ndarray<std::uint16_t, 3>>);
  static_assert(!writable_as<ndarray_view<int>, ndarray<std::uint16_t>>);
  static_assert(!writable_as<unaligned_view<int>, ndarray<std::uint16_t>>);
  static_assert(writable_as<std::vector<int>, ndarray<>>);
  static_assert(writable_as<ndarray_view<int>, ndarray<int>>);
  static_assert(!writable_as<std::vector<bool>, ndarray<>>);
  static_assert(!writable_as<int, str>);
  support::expect_error([&] { (void)column_traits<std::uint8_t>::encode(256); },
                        errc::invalid_argument, {"256", "uint8"});
  support::expect_error([&] { (void)column_traits<std::uint64_t>::encode(-1); },
                        errc::invalid_argument, {"-1"});
  support::expect_error([&] { (void)column_traits<std::int64_t>::encode(four); },
                        errc::invalid_argument, {"4 bytes", "8"});
  support::expect_error([&] { (void)column_traits<str>::encode("a\xFF"); }, errc::invalid_argument,
                        {"UTF-8"});
  support::expect_error([&] { (void)column_traits<ndarray<std::uint16_t, 2, 2>>::encode(six); },
                        errc::invalid_argument, {"(6)", "(2,2)"});
  const std::vector<float> one{1};
  const array_shape extents{1};
  const any_ndarray floats(dtype::float32, extents, std::as_bytes(std::span(one)));
  support::expect_error([&] { (void)column_traits<ndarray<std::uint16_t>>::encode(floats); },
                        errc::invalid_argument, {"float32", "uint16"});
}
