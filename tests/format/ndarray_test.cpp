#include <mdstream/format/ndarray.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "format/golden.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace ndarray_test {

using mdstream::as_bytes;
using mdstream::errc;

}  // namespace ndarray_test

TEST_CASE("array headers widen with the largest extent", "[ndarray]") {
  using mdstream::dtype;
  const auto any = mdstream::parse_encoding("ndarray");
  const auto width = [&](std::uint64_t extent) {
    return std::to_integer<int>(
               mdstream::make_ndarray_header(any, dtype::uint8, {1, extent}).bytes[1]) &
           3;
  };
  CHECK(width(255) == 0);
  CHECK(width(256) == 1);
  CHECK(width(65535) == 1);
  CHECK(width(65536) == 2);
  CHECK(width(0xFFFFFFFF) == 2);
  CHECK(width(0x100000000) == 3);
}

TEST_CASE("arrays that do not fit their column are refused for the first reason", "[ndarray]") {
  using mdstream::dtype;
  using mdstream::errc;
  const auto typed = mdstream::parse_encoding("ndarray:uint16");
  const auto shaped = mdstream::parse_encoding("ndarray:uint16:3,4");
  using mdstream::make_ndarray_header;
  support::expect_error([&] { (void)make_ndarray_header(typed, dtype::uint8, {0}); },
                        errc::invalid_argument, {"uint8", "uint16"});
  support::expect_error([&] { (void)make_ndarray_header(typed, dtype::uint16, {2, 0}); },
                        errc::invalid_argument, {"without elements"});
  support::expect_error([&] { (void)make_ndarray_header(typed, dtype::uint16, {}); },
                        errc::invalid_argument, {"no array"});
  support::expect_error([&] { (void)make_ndarray_header(shaped, dtype::uint16, {4, 3}); },
                        errc::invalid_argument, {"(4,3)", "(3,4)"});
  mdstream::array_shape deep;
  for (int i = 0; i < 64; ++i) deep.push_back(1);
  support::expect_error([&] { (void)make_ndarray_header(typed, dtype::uint16, deep); },
                        errc::invalid_argument, {"63"});
}

TEST_CASE("array bytes are parsed, and refused where they do not add up", "[ndarray]") {
  using format_golden::from_hex;
  using mdstream::errc;
  const auto any = mdstream::parse_encoding("ndarray");
  const std::string good = from_hex("0804020a0b");
  const auto array = mdstream::parse_ndarray(any, mdstream::as_bytes(good));
  CHECK(array.type() == mdstream::dtype::uint8);
  CHECK(array.shape() == mdstream::array_shape{2});
  CHECK(array.values<std::uint8_t>()[1] == 0x0B);
  support::expect_error([&] { (void)array.values<std::int8_t>(); }, errc::schema_mismatch,
                        {"uint8", "int8"});
  for (const char* hex :
       {"", "07", "0700", "08", "0804", "080403", "08040309", "0807010000", "08ff",
        "0805020001020304050607", "10040101", "0807ffffffffffffffff00", "420802020000000000000000",
        // (2^32, 2^32, 2): the product of the first two wraps around to 0
        "080f000000000100000000000000010000000200000000000000"}) {
    INFO(hex);
    const std::string bytes = from_hex(hex);
    support::expect_error([&] { (void)mdstream::parse_ndarray(any, mdstream::as_bytes(bytes)); },
                          errc::corrupt, {"byte"});
  }
}

TEST_CASE("a header of rank 0 is a single value", "[ndarray]") {
  const auto typed = mdstream::parse_encoding("ndarray:uint8");
  const std::string bytes("\x00\x02", 2);
  const auto array = mdstream::parse_ndarray(typed, mdstream::as_bytes(bytes));
  CHECK(array.rank() == 0);
  CHECK(array.size() == 1);
  CHECK(array.values<std::uint8_t>()[0] == 2);
}
