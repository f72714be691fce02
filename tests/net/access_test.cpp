#include <mdstream/core/json/value.hpp>
#include <mdstream/net/access.hpp>

#include <string>

#include "net/service.hpp"
#include "support/catch.hpp"

namespace access_test {

using namespace service;

TEST_CASE("a bearer's token goes into a header, and into no message", "[net]") {
  const net::access keys = net::bearer_access("hush", "the test");
  net::http_request request{.url = "http://h/"};
  keys.authorize(request, {});
  REQUIRE(request.headers.size() == 1);
  CHECK(request.headers[0].name == "Authorization");
  CHECK(request.headers[0].value == "Bearer hush");
  CHECK(keys.secrets == std::vector<std::string>{"hush"});
  CHECK_FALSE(keys.anonymous());
  CHECK_FALSE(keys.expires);
}

TEST_CASE("keys are the same where a server could not tell them apart", "[net]") {
  const net::access one = net::bearer_access("a", "the environment");
  CHECK(net::same_keys(one, net::bearer_access("a", "a file")));
  CHECK_FALSE(net::same_keys(one, net::bearer_access("b", "the environment")));
  const auto nobody = ask_access(net::anonymous_access());
  REQUIRE(nobody.keys);
  CHECK(nobody.keys->anonymous());
  CHECK_FALSE(net::same_keys(one, *nobody.keys));
  CHECK(net::same_keys(net::access{}, *nobody.keys));
}

TEST_CASE("a provider that is a function gives keys, none, or why not", "[net]") {
  CHECK(ask_access(net::computed_access([] { return net::bearer_access("a", "it"); })).keys);
  CHECK(ask_access(net::computed_access([] { return std::nullopt; })).nobody());
  const auto failed = ask_access(net::computed_access([]() -> std::optional<net::access> {
    throw mds::error(mds::errc::invalid_argument,
                     mds::diagnostics{.what = "line 3", .url = "/file"});
  }));
  CHECK(failed.code == mds::errc::invalid_argument);
  CHECK(failed.where.url == "/file");
}

}  // namespace access_test
