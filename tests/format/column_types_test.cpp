#include <mdstream/format/column_types.hpp>

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace column_types_test {

namespace mds = mdstream;

/// The bytes that a value of column type `T` is stored as.
template <class T, class V>
std::string stored(const V& value) {
  const auto part = mds::column_traits<T>::encode(value);
  std::string out(part.size(), '\0');
  if (!out.empty()) part.copy_to(reinterpret_cast<std::byte*>(out.data()));
  return out;
}

}  // namespace column_types_test

TEST_CASE("numbers go into columns that hold them, and into no others", "[column_types]") {
  using column_types_test::stored;
  using mdstream::errc;
  CHECK(stored<std::uint8_t>(255) == "\xFF");
  CHECK(stored<mdstream::int_>(true) == std::string("\1\0\0\0\0\0\0\0", 8));
  CHECK(stored<float>(std::int64_t{2}) == stored<float>(2.0));
  CHECK(stored<mdstream::float16>(0.5F) == std::string("\x00\x38", 2));
  support::expect_error([] { (void)stored<std::uint8_t>(256); }, errc::invalid_argument,
                        {"256 does not fit", "uint8"});
  support::expect_error([] { (void)stored<std::uint32_t>(-1); }, errc::invalid_argument,
                        {"-1 does not fit"});
  support::expect_error(
      [] { (void)stored<std::int64_t>(std::numeric_limits<std::uint64_t>::max()); },
      errc::invalid_argument, {"18446744073709551615"});
  CHECK_FALSE(mdstream::writable_as<double, std::int32_t>);  // would lose its fraction
  CHECK_FALSE(mdstream::writable_as<std::string, std::int32_t>);
  CHECK_FALSE(mdstream::writable_as<int, mdstream::str>);
}

TEST_CASE("byte strings are stored as they are, where their length is the column's",
          "[column_types]") {
  using column_types_test::stored;
  const std::array<std::byte, 4> four{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  CHECK(stored<std::int32_t>(four) == std::string("\1\2\3\4"));
  CHECK(stored<mdstream::ndarray<std::uint16_t, 2>>(four) == std::string("\1\2\3\4"));
  CHECK(stored<mdstream::pkl>(four) == std::string("\1\2\3\4"));
  support::expect_error([&] { (void)stored<std::int64_t>(four); }, mdstream::errc::invalid_argument,
                        {"4 bytes", "8 bytes"});
}

TEST_CASE("arrays come back with the shape that they were stored with", "[column_types]") {
  using namespace mdstream;
  using column_types_test::stored;
  const std::vector<std::uint16_t> six{1, 2, 3, 4, 5, 6};
  const std::string fixed = stored<ndarray<std::uint16_t, 2, 3>>(six);
  CHECK(fixed.size() == 12);
  CHECK(column_traits<ndarray<std::uint16_t, 2, 3>>::decode(as_bytes(fixed))[5] == 6);
  const std::string typed = stored<ndarray<std::uint16_t>>(six);
  CHECK(column_traits<ndarray<std::uint16_t>>::decode(as_bytes(typed)).shape() == array_shape{6});
  const std::string any = stored<ndarray<>>(six);
  CHECK(column_traits<ndarray<>>::decode(as_bytes(any)).type() == dtype::uint16);

  support::expect_error(
      [&] { (void)stored<ndarray<std::uint16_t, 2, 3>>(std::span(six).first(5)); },
      errc::invalid_argument, {"5"});
  CHECK_FALSE(writable_as<std::vector<std::uint16_t>, ndarray<float>>);
  support::expect_error(
      [&] { (void)column_traits<ndarray<std::uint16_t, 2, 3>>::decode(as_bytes(fixed).first(11)); },
      errc::corrupt, {"11 bytes", "12 bytes"});
}

TEST_CASE("a json column takes texts of any string type, and values", "[column_types]") {
  using column_types_test::stored;
  using mdstream::json_text;
  CHECK(stored<json_text>(std::string(R"({"a":1})")) == R"({"a": 1})");
  CHECK(stored<json_text>(std::string_view("[1,2]")) == "[1, 2]");
  CHECK(stored<json_text>("[ ]") == "[]");
  CHECK(stored<json_text>(mdstream::json::parse("null")) == "null");
  CHECK(stored<json_text>(7) == "7");
}

TEST_CASE("texts that are no such value are refused when they are read", "[column_types]") {
  using namespace mdstream;
  CHECK(column_traits<str_int>::decode(as_bytes("-12")).digits == "-12");
  CHECK(column_traits<str_float>::decode(as_bytes("1e3")) == 1000.0);
  CHECK(column_traits<json_text>::decode(as_bytes("[1, {}]")) == "[1, {}]");
  support::expect_error([] { (void)column_traits<str_int>::decode(as_bytes("1.5")); },
                        errc::corrupt, {"integer"});
  support::expect_error([] { (void)column_traits<str_float>::decode(as_bytes("one")); },
                        errc::corrupt, {"number"});
  support::expect_error([] { (void)column_traits<str_decimal>::decode(as_bytes("1..2")); },
                        errc::corrupt, {"decimal"});
  support::expect_error([] { (void)column_traits<json_text>::decode(as_bytes("[1,")); },
                        errc::corrupt, {"byte 3"});
  support::expect_error([] { (void)column_traits<str>::decode(as_bytes("ab\xFF")); }, errc::corrupt,
                        {"UTF-8", "byte 2"});
  support::expect_error([] { (void)column_traits<std::int32_t>::decode(as_bytes("abc")); },
                        errc::corrupt, {"3 bytes", "int32"});
}
