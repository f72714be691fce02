#include <mdstream/net/percent.hpp>

#include <cstring>
#include <random>
#include <string>

#include "support/catch.hpp"
#include "support/seed.hpp"

namespace percent_test {

using namespace mdstream::net;

TEST_CASE("all but the unreserved characters are escaped, with upper-case digits", "[net]") {
  CHECK(percent_encode("azAZ09-._~") == "azAZ09-._~");
  CHECK(percent_encode("a b+c/d=ü*") == "a%20b%2Bc%2Fd%3D%C3%BC%2A");
  CHECK(percent_encode("a/b c", "/") == "a/b%20c");
  CHECK(percent_encode(std::string("\0\xFF", 2)) == "%00%FF");
}

TEST_CASE("escapes are decoded once, and broken ones refused", "[net]") {
  CHECK(percent_decode("a%20b%2fc+d") == "a b/c+d");
  CHECK(percent_decode("%2541") == "%41");
  for (const char* broken : {"%", "a%2", "%zz", "%2 ", "100%"}) CHECK_FALSE(percent_decode(broken));
}

TEST_CASE("whatever is encoded is decoded to itself", "[net]") {
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 200; ++i) {
    std::string text(random() % 40, '\0');
    for (char& c : text) c = static_cast<char>(random());
    CHECK(percent_decode(percent_encode(text)) == text);
    CHECK(percent_decode(percent_encode(text, "/+&")) == text);
  }
}

}  // namespace percent_test
