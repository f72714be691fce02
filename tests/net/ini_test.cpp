#include <mdstream/net/ini.hpp>

#include <random>
#include <string>

#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/seed.hpp"

namespace ini_test {

using namespace mdstream::net;
using mdstream::errc;

TEST_CASE("settings are read as AWS's tools read them", "[net][ini]") {
  const ini_sections all = parse_ini(
      "\n# a comment\n; another\n[default]\r\naws_access_key_id=AK # not the key\r\n"
      "Aws_Secret_Access_Key = se/cr=et+#x  \nempty =\n[ profile  x ]\n"
      "s3 =\n  endpoint_url = http://h:1\n  addressing_style = path\nregion = r1\nregion = r2\n"
      "[default]\nregion = eu",
      "f");
  REQUIRE(all.size() == 2);
  const ini_section& first = all.at("default");
  CHECK(setting(first, "aws_access_key_id") == "AK");
  CHECK(setting(first, "aws_secret_access_key") == "se/cr=et+#x");
  CHECK(setting(first, "region") == "eu");
  CHECK_FALSE(setting(first, "empty"));
  CHECK_FALSE(setting(first, "absent"));
  const ini_section& second = all.at("profile  x");
  CHECK(setting(second, "s3.endpoint_url") == "http://h:1");
  CHECK(setting(second, "s3.addressing_style") == "path");
  CHECK(setting(second, "region") == "r2");
}

TEST_CASE("a section may be indented as a whole", "[net][ini]") {
  const ini_sections all =
      parse_ini("  [a]\n  id = 1\n  secret = 2\n  s3 =\n    path = 3\n  region = 4\n", "f");
  const ini_section& only = all.at("a");
  CHECK(setting(only, "id") == "1");
  CHECK(setting(only, "secret") == "2");
  CHECK(setting(only, "s3.path") == "3");
  CHECK(setting(only, "region") == "4");
}

TEST_CASE("a line that is no setting is named by file and number, and not quoted", "[net][ini]") {
  const auto refused = [](const std::string& text, std::string_view line) {
    INFO(text);
    const auto e = support::error_of([&] { (void)parse_ini(text, "/home/x/file"); });
    REQUIRE(e);
    CHECK(e->code() == errc::invalid_argument);
    const std::string what = e->what();
    CHECK(what.find(line) != std::string::npos);
    CHECK(what.find("/home/x/file") != std::string::npos);
    CHECK(what.find("hush") == std::string::npos);
  };
  refused("hush = 1\n", "line 1");
  refused("[a]\nhush\n", "line 2");
  refused("[a]\n\n= hush\n", "line 3");
  refused("[hush\n", "line 1");
  refused(std::string("[a]\nhush = \0\n", 13), "line 2");
}

TEST_CASE("any bytes are settings or refused", "[net][ini]") {
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const std::string alphabet("[]=#; \t\r\nab\0", 12);
  for (int i = 0; i < 2000; ++i) {
    std::string text = "[a]\n";
    for (auto n = random() % 30; n > 0; --n) text += alphabet[random() % alphabet.size()];
    try {
      (void)parse_ini(text, "f");
    } catch (const mdstream::error& e) {
      CHECK(e.code() == errc::invalid_argument);
    }
  }
}

}  // namespace ini_test
