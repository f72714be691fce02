#include <mdstream/net/time_text.hpp>

#include <random>

#include "support/catch.hpp"
#include "support/seed.hpp"

namespace time_text_test {

using namespace mdstream::net;
using std::chrono::seconds;

constexpr wall_clock::time_point at(long value) { return wall_clock::time_point(seconds(value)); }

TEST_CASE("points in time are written as each format has them", "[net]") {
  CHECK(basic_timestamp(at(1369353600)) == "20130524T000000Z");
  CHECK(http_date(at(1369353600)) == "Fri, 24 May 2013 00:00:00 GMT");
  CHECK(http_date(at(784111777)) == "Sun, 06 Nov 1994 08:49:37 GMT");
  CHECK(basic_timestamp(at(1709251199)) == "20240229T235959Z");
  CHECK(basic_timestamp(at(1) + std::chrono::milliseconds(999)) == "19700101T000001Z");
}

TEST_CASE("and read back", "[net]") {
  CHECK(parse_iso_time("2013-05-24T00:00:00Z") == at(1369353600));
  CHECK(parse_iso_time("2013-05-24T00:00:00.123456+00:00") == at(1369353600));
  CHECK(parse_iso_time("2013-05-24T00:00:00UTC") == at(1369353600));
  CHECK(parse_iso_time("2013-05-24T02:00:00+02:00") == at(1369353600));
  CHECK(parse_iso_time("2013-05-23T16:30:00.5-0730") == at(1369353600));
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 500; ++i) {
    const auto when = at(static_cast<long>(random() % 8'000'000'000));
    CHECK(parse_http_date(http_date(when)) == when);
  }
}

TEST_CASE("dates that the clock cannot hold are its last and its first", "[net]") {
  const auto last = parse_iso_time("9999-12-31T23:59:59Z"),
             first = parse_iso_time("0000-01-01T00:00:00Z");
  REQUIRE((last && first));
  CHECK(*last == parse_http_date("Fri, 31 Dec 2999 13:59:59 GMT"));
  CHECK(*last - at(1'800'000'000) > std::chrono::years(200));
  CHECK(*first == at(0));
  CHECK(*last - *first > std::chrono::years(200));
  CHECK(*first - *last < -std::chrono::years(200));
  CHECK_FALSE(parse_iso_time("9999-02-30T00:00:00Z"));
}

TEST_CASE("other texts are no dates", "[net]") {
  for (const char* text : {"", "Fri, 24 May 2013 00:00:00", "Fri, 24 Mai 2013 00:00:00 GMT",
                           "Fri, 32 May 2013 00:00:00 GMT", "Fri, 24 May 2013 24:00:00 GMT",
                           "Fri, 24 May 2013 00:60:00 GMT", "Fri, -4 May 2013 00:00:00 GMT",
                           "Friday, 24-May-13 00:00:00 GMT", "Fri, 24 May 2013 00:00:00 PST"}) {
    INFO(text);
    CHECK_FALSE(parse_http_date(text));
  }
  for (const char* text :
       {"", "2013-05-24", "2013-05-24T00:00:00", "2013-13-24T00:00:00Z", "2013-02-30T00:00:00Z",
        "2013-05-24T00:00:00+02:60", "2013-05-24T00:00:00+2:00", "2013-05-24T00:00:00+24:00",
        "2013-05-24 00:00:00Z", "2013-05-24T00:00:00.Zx"}) {
    INFO(text);
    CHECK_FALSE(parse_iso_time(text));
  }
}

}  // namespace time_text_test
