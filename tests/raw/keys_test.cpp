#include <mdstream/raw/detail/keys.hpp>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

TEST_CASE("patterns of keys, as shells have them", "[raw]") {
  namespace raw = mdstream::raw;
  CHECK(raw::detail::expand_braces("a-{008..011}.tar") ==
        std::vector<std::string>{"a-008.tar", "a-009.tar", "a-010.tar", "a-011.tar"});
  CHECK(raw::detail::expand_braces("{a,b{1..2}}/x{,.gz}") ==
        std::vector<std::string>{"a/x", "a/x.gz", "b1/x", "b1/x.gz", "b2/x", "b2/x.gz"});
  for (const char* bad : {"{a", "{1..}", "{2..1}", "{a}", "{1..99999999}", "{1..2000}{1..2000}"})
    support::expect_error([&] { (void)raw::detail::expand_braces(bad); },
                          mdstream::errc::invalid_argument, {"pattern"});

  const auto matches = [](const char* key, const char* pattern) {
    return raw::detail::is_data(key, raw::detail::expand_braces(pattern));
  };
  CHECK(matches("en/a.json.gz", "en/*.json.gz"));
  CHECK_FALSE(matches("en/x/a.json.gz", "en/*.json.gz"));
  CHECK(matches("en/x/a.json.gz", "en/**.json.gz"));
  CHECK(matches("en/x/a.json.gz", "**"));
  CHECK(matches("a1.csv", "a?.csv"));
  CHECK_FALSE(matches("a/.csv", "a?.csv"));
  CHECK(matches("a-2.tar", "a-{1..3}.tar"));
  // what begins with a point or an underscore is no data, and directories are none
  for (const char* key : {".mdstream/x", "a/_SUCCESS", "_a/b", "a/", "", "a/.b"})
    CHECK_FALSE(raw::detail::is_data(key, {}));
  CHECK(raw::detail::is_data("a_b/c.d", {}));
}
