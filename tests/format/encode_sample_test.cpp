#include <mdstream/format/detail/encode_sample.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace encode_sample_test {

using namespace mdstream;  // short names for column types, within this namespace only

/// Declared in another order than they are stored in, which is that of their names.
using rows = schema<column<"text", str>, column<"id", std::uint16_t>,
                    column<"array", ndarray<std::uint8_t>>, column<"more", bytes>>;

template <class Schema, class... Values>
std::string sample_of(const Values&... values) {
  std::string out;
  detail::encode_sample<Schema>(
      [&out](std::uint64_t bytes) {
        out.resize(bytes);
        return reinterpret_cast<std::byte*>(out.data());
      },
      values...);
  return out;
}

}  // namespace encode_sample_test

TEST_CASE("a sample is its variable sizes, then its values in storage order", "[encode_sample]") {
  using namespace encode_sample_test;
  const std::vector<std::uint8_t> array{7, 8};
  const std::string made = sample_of<rows>("t\xC3\xA9xt", 0x0102, array, as_bytes("xyz"));
  // array: a head of one dimension in one byte, and its extent
  CHECK(made == std::string("\4\0\0\0"
                            "\3\0\0\0"
                            "\5\0\0\0",
                            12) +
                    std::string("\4\2\7\10"
                                "\2\1"
                                "xyz") +
                    "t\xC3\xA9xt");
  const auto read = as_bytes(made);
  CHECK(rows::get<"text">(read) == "t\xC3\xA9xt");
  CHECK(rows::get<"id">(read) == 0x0102);
  CHECK(rows::get<"array">(read)[1] == 8);
  CHECK(as_text(rows::get<"more">(read)) == "xyz");
}

TEST_CASE("a value that does not fit is refused by column, before there is memory for the sample",
          "[encode_sample]") {
  using namespace encode_sample_test;
  bool asked = false;
  const auto allocate = [&asked](std::uint64_t) -> std::byte* {
    asked = true;
    return nullptr;
  };
  const std::vector<std::uint8_t> array{1};
  support::expect_error(
      [&] { detail::encode_sample<rows>(allocate, "", 70'000, array, as_bytes("")); },
      errc::invalid_argument, {"column \"id\"", "70000"});
  support::expect_error(
      [&] { detail::encode_sample<rows>(allocate, "\xFF", 7, array, as_bytes("")); },
      errc::invalid_argument, {"column \"text\"", "byte 0"});
  CHECK_FALSE(asked);
}
