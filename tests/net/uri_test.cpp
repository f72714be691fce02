#include <mdstream/net/quote.hpp>
#include <mdstream/net/uri.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace uri_test {

using namespace mdstream::net;
using mdstream::errc;

TEST_CASE("a URL is taken apart", "[net]") {
  const uri all = parse_uri("HTTPS://me:pass%20@Host.Example:8443/a%2Fb/c;d?x=1&y=/?#top");
  CHECK(all.scheme == "https");
  CHECK(all.user_info == "me:pass%20");
  CHECK(all.host == "host.example");
  CHECK(all.port == 8443);
  CHECK(all.path == "/a%2Fb/c;d");
  CHECK(all.query == "x=1&y=/?");
  CHECK(all.fragment == "top");
  CHECK(all.authority() == "host.example:8443");
  CHECK(all.origin() == "https://host.example:8443");
  CHECK(public_form(all) == "https://host.example:8443/a%2Fb/c;d");

  const uri bare = parse_uri("http://localhost");
  CHECK(bare.path.empty());
  CHECK_FALSE(bare.port);
  CHECK(parse_uri("http://h?q").query == "q");
  CHECK(parse_uri("http://[::1]:9000/x").authority() == "[::1]:9000");
  CHECK(parse_uri("http://[fe80::1]").host == "[fe80::1]");
  CHECK(parse_uri("http://a_bucket.s3.localhost:1").host == "a_bucket.s3.localhost");
}

TEST_CASE("what a browser would repair is refused, with the byte", "[net]") {
  for (const char* text : {"",
                           "host/path",
                           "://host",
                           "1http://h",
                           "ht tp://h",
                           "http:/host",
                           "http://",
                           "http:///p",
                           "http://:80",
                           "http://h:0",
                           "http://h:65536",
                           "http://h:",
                           "http://h:8a",
                           "http://h:-1",
                           "http://h:+1",
                           "http://h:80:80",
                           "http://a b/",
                           "http://h/a b",
                           "http://h/%",
                           "http://h/%1",
                           "http://h/%zz",
                           "http://h/\\x",
                           "http://h\\@evil/",
                           "http://h/\"",
                           "http://h/<",
                           "http://h/ü",
                           "http://h/\n",
                           "http://h\r\nHost: x/",
                           "http://h/?a b",
                           "http://h/#a#b",
                           "http://[::1",
                           "http://[]/",
                           "http://[::g]/",
                           "http://[::1]x/",
                           "http://u@v@h/",
                           "http://u ser@h/",
                           "http://h%41/",
                           "http://h,i/",
                           "http://~/"}) {
    INFO(text);
    support::expect_error([&] { (void)parse_uri(text); }, errc::invalid_argument,
                          {"a URL is malformed", "byte"});
  }
  support::expect_error([] { (void)parse_uri("http://h/" + std::string(70'000, 'a')); },
                        errc::invalid_argument, {"64 KiB"});
  support::expect_error([] { (void)parse_uri(std::string("http://h/\0", 10)); },
                        errc::invalid_argument, {"byte 9"});
}

TEST_CASE("no message about a URL repeats what may be secret in it", "[net]") {
  const auto refused =
      support::error_of([] { (void)parse_uri("http://me:hunter2@h:x/?key=hush"); });
  REQUIRE(refused);
  const std::string text = refused->what();
  CHECK(text.find("hunter2") == std::string::npos);
  CHECK(text.find("hush") == std::string::npos);
}

TEST_CASE("a server's words are withheld where they have what lets a URL in", "[net]") {
  std::vector<std::string_view> secrets;
  add_secrets_of_query("https://h/x?partNumber=2&sig=0123456789&flag", secrets);
  CHECK(quotable("no part 2 at h/x", secrets) == "no part 2 at h/x");
  for (const char* const said : {"not ?partNumber=2&sig=0123456789&flag",
                                 "partNumber=2&sig=0123456789&flag is old", "0123456789"}) {
    CHECK(quotable(said, secrets) == "(withheld)");
  }
  secrets.clear();
  add_secrets_of_query("https://h/x", secrets);
  CHECK(secrets.empty());
  CHECK(quotable("a\nb\x80", secrets) == "a?b?");
}

}  // namespace uri_test
