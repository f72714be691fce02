#include <mdstream/net/http_headers.hpp>
#include <mdstream/net/http_url.hpp>

#include <chrono>
#include <initializer_list>
#include <optional>
#include <string>

#include "support/catch.hpp"

namespace http_headers_test {

namespace net = mdstream::net;
using namespace std::chrono_literals;

TEST_CASE("header lines are taken apart, and names have no case", "[net]") {
  net::http_headers headers;
  CHECK(headers.add_line("Content-Length: 17"));
  CHECK(headers.add_line("ETag:\t\"a b\" \t"));
  CHECK(headers.add_line("Empty:"));
  CHECK(headers.add_line("etag: second"));
  CHECK(headers.find("content-LENGTH") == "17");
  CHECK(headers.find("etag") == "\"a b\"");
  CHECK(headers.find("empty") == "");
  CHECK_FALSE(headers.find("Content").has_value());
  CHECK(headers.size() == 4);
}

TEST_CASE("lines that are no headers are refused", "[net]") {
  net::http_headers headers;
  for (const std::string& line :
       {std::string(""), std::string("no colon"), std::string(": no name"), std::string("a b: c"),
        std::string("a: b\rc"), std::string("a: b\nc"), std::string("a: b\0c", 6),
        std::string("n\xc3\xa4me: x")}) {
    INFO(line);
    CHECK_FALSE(headers.add_line(line));
  }
  CHECK(headers.size() == 0);
}

TEST_CASE("one length is stated, or none, and it is a number", "[net]") {
  const auto wrong = [](std::initializer_list<std::string> lengths) {
    net::http_headers of;
    for (const std::string& each : lengths) REQUIRE(of.add_line("content-Length: " + each));
    return net::wrong_length(of);
  };
  CHECK(wrong({}).empty());
  CHECK(wrong({"0"}).empty());
  CHECK(wrong({"9223372036854775807"}).empty());
  CHECK(wrong({"17", "17"}).empty());
  CHECK(wrong({"17", "18"}).find("17 and 18") != std::string::npos);
  for (const char* const none : {"", "-0", "-1", "+1", "0x1", "1.0", "1,1", "9223372036854775808",
                                 "18446744073709551616", "nine"}) {
    INFO(none);
    CHECK(wrong({none}).find(none) != std::string::npos);
    CHECK_FALSE(wrong({"1", none}).empty());
  }
}

TEST_CASE("Content-Range is believed only where it agrees with itself", "[net]") {
  const auto full = net::content_range::parse("bytes 10-19/100");
  REQUIRE(full.has_value());
  CHECK(full->satisfied);
  CHECK(full->first == 10);
  CHECK(full->last == 19);
  CHECK(full->total == 100u);
  CHECK_FALSE(net::content_range::parse("bytes 0-0/*")->total.has_value());
  const auto none = net::content_range::parse("BYTES */7");
  REQUIRE(none.has_value());
  CHECK_FALSE(none->satisfied);
  CHECK(none->total == 7u);
  for (const char* wrong :
       {"", "bytes", "bytes ", "bytes 1-2", "bytes 2-1/10", "bytes 5-10/10", "bytes -1/10",
        "bytes 1-/10", "bytes */*", "bytes 0-1/-5", "bytes 0-1/18446744073709551616", "items 0-1/2",
        "bytes 0-1/2,", "bytes  0-1/2", "bytes +0-1/2", "bytes 0x0-1/2"}) {
    INFO(wrong);
    CHECK_FALSE(net::content_range::parse(wrong).has_value());
  }
}

TEST_CASE("Retry-After is seconds or a date, and bounded", "[net]") {
  const auto now = *net::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT");
  CHECK(net::parse_retry_after("120", now) == 120s);
  CHECK(net::parse_retry_after("0", now) == 0s);
  CHECK(net::parse_retry_after("4000000000", now) == 24h);
  CHECK(net::parse_retry_after("Sun, 06 Nov 1994 08:50:37 GMT", now) == 60s);
  CHECK(net::parse_rate_limit("\"api\";r=0;t=243") == 243s);
  CHECK(net::parse_rate_limit("\"resolvers\"; r=0; t=4000000000, \"api\";r=5;t=1") == 24h);
  CHECK_FALSE(net::parse_rate_limit("\"api\";r=12;t=243"));
  CHECK_FALSE(net::parse_rate_limit("\"api\";r=0"));
  CHECK_FALSE(net::parse_rate_limit(""));
  CHECK_FALSE(net::parse_rate_limit(";;t=;r=x"));
  CHECK(net::parse_retry_after("Sun, 06 Nov 1994 08:00:00 GMT", now) == 0s);
  CHECK(net::parse_retry_after("Fri, 31 Dec 2999 13:59:59 GMT", now) == 24h);
  for (const char* wrong :
       {"", "-1", "soon", "1.5", "4294967296", "Sun, 99 Nov 1994 08:49:37 GMT"}) {
    INFO(wrong);
    CHECK_FALSE(net::parse_retry_after(wrong, now).has_value());
  }
}

TEST_CASE("URLs are shown without what may be secret", "[net]") {
  CHECK(net::redacted_url("https://user:pass@host:1/a/b?sig=x#y") == "https://host:1/a/b");
  CHECK(net::redacted_url("https://a@host/x@y") == "https://host/x@y");
  for (const char* password :
       {"pa/ss", "pa?ss", "pa#ss", "pa@ss", "pa ss", "p%ss", "/", "?", "#"}) {
    INFO(password);
    CHECK(net::redacted_url("http://user:" + std::string(password) + "@host/x") == "http://");
    CHECK(net::redacted_url("user:" + std::string(password) + "@host/x") == "");
    CHECK(net::redacted_url("user:" + std::string(password) + "@host/http://x") == "");
  }
  CHECK(net::redacted_url("not a url?secret") == "not a url");
  CHECK(net::redacted_url("http://h/a\r\nb") == "http://h/a??b");
  CHECK(net::redacted_url("") == "");
}

TEST_CASE("an origin is scheme, host and port", "[net]") {
  const auto same = [](const char* a, const char* b) {
    return net::same_origin(*net::parse_http_url(a), *net::parse_http_url(b));
  };
  CHECK(same("http://h/a", "http://H:80/b"));
  CHECK(same("https://h:443", "https://h/?q"));
  CHECK_FALSE(same("http://h:443/", "https://h:443/"));
  CHECK_FALSE(same("http://h/", "http://h:8080/"));
  CHECK_FALSE(same("http://h/", "http://h.example/"));
  CHECK_FALSE(net::parse_http_url("file:///etc/passwd").has_value());
  CHECK_FALSE(net::parse_http_url("http://h/#part").has_value());
  CHECK_FALSE(net::parse_http_url("http://h/a b").has_value());
}

}  // namespace http_headers_test
