#include <mdstream/core/detail/base64.hpp>

#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/seed.hpp"

namespace base64_test {

namespace mds = mdstream;

std::string text_of(const std::vector<std::byte>& bytes) {
  std::string out;
  for (const std::byte each : bytes) out += static_cast<char>(each);
  return out;
}

TEST_CASE("base64 of the RFC's examples", "[core]") {
  // RFC 4648, section 10.
  const std::vector<std::pair<std::string_view, std::string_view>> cases = {{"", ""},
                                                                            {"f", "Zg=="},
                                                                            {"fo", "Zm8="},
                                                                            {"foo", "Zm9v"},
                                                                            {"foob", "Zm9vYg=="},
                                                                            {"fooba", "Zm9vYmE="},
                                                                            {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : cases) {
    CHECK(mds::detail::to_base64(mds::as_bytes(bytes)) == text);
    const auto back = mds::detail::from_base64(text);
    REQUIRE(back);
    CHECK(text_of(*back) == bytes);
  }
}

TEST_CASE("the form for URLs has no padding, and characters that need no escapes", "[core]") {
  const std::string_view bytes = "\xFB\xFF\xFE";
  CHECK(mds::detail::to_base64(mds::as_bytes(bytes)) == "+//+");
  CHECK(mds::detail::to_base64_url(mds::as_bytes(bytes)) == "-__-");
  CHECK(mds::detail::to_base64_url(mds::as_bytes(bytes.substr(0, 1))) == "-w");
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const auto back = mds::detail::from_base64_url(
        mds::detail::to_base64_url(mds::as_bytes(bytes.substr(0, size))));
    REQUIRE(back);
    CHECK(text_of(*back) == bytes.substr(0, size));
  }
  for (const std::string_view text : {"-w==", "+w", "/w", "-", "-__-A", "-w "}) {
    CAPTURE(text);
    CHECK_FALSE(mds::detail::from_base64_url(text));
  }
}

TEST_CASE("any bytes come back", "[core]") {
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (std::size_t size = 0; size < 100; ++size) {
    std::string bytes(size, '\0');
    for (char& each : bytes) each = static_cast<char>(random());
    const auto back = mds::detail::from_base64(mds::detail::to_base64(mds::as_bytes(bytes)));
    REQUIRE(back);
    REQUIRE(text_of(*back) == bytes);
  }
}

TEST_CASE("what is not base64 gives nothing", "[core]") {
  const std::vector<std::string_view> texts = {"Z",
                                               "Zg",
                                               "Zg=",
                                               "Zg===",
                                               "====",
                                               "=Zg=",
                                               "Z===",
                                               "Zm9v=",
                                               "Zg==Zg==",
                                               "Zm9 ",
                                               "Zm-v",
                                               "Zm\n9",
                                               std::string_view("Zm\0v", 4)};
  for (const std::string_view text : texts) {
    CAPTURE(text);
    CHECK_FALSE(mds::detail::from_base64(text));
  }
}

}  // namespace base64_test
