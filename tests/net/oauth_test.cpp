#include <mdstream/net/oauth.hpp>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "net/service.hpp"
#include "support/catch.hpp"

namespace oauth_test {

using namespace service;
using mds::errc;

/// What a machine's service at this address ends with.
access_answer of_machine(const std::string& url, bool required = false) {
  mds::runtime threads(1);
  const net::machine_access provider(fetcher_for(threads), "the machine", [&] {
    return std::optional(net::token_request{.url = url + "/token", .required = required});
  });
  return ask_access(provider);
}

const char* const token_text = R"({"access_token": "hush", "expires_in": 3600})";

TEST_CASE("a machine's service is asked again while it is busy, and its failure returned",
          "[net]") {
  for (const int status : {429, 500, 503}) {
    INFO(status);
    std::atomic<int> left{1};
    const server hiccup([&](const scripted_request&) {
      return left-- > 0 ? reply{status} : reply{200, token_text};
    });
    const auto late = of_machine(hiccup.url());
    REQUIRE(late.keys);
    CHECK(late.keys->source == "the machine");
    const server down([&](const scripted_request&) { return reply{status}; });
    const auto said = of_machine(down.url());
    CHECK(said.code == errc::unavailable);
    CHECK(said.text().find(std::to_string(status)) != std::string::npos);
  }
}

TEST_CASE("nobody, or another service, at a machine's address is no keys, unless it is required",
          "[net]") {
  const std::string nowhere = "http://127.0.0.1:1";
  CHECK(of_machine(nowhere).nobody());
  CHECK(of_machine(nowhere, true).code == errc::unavailable);
  for (const int status : {400, 401, 403, 404, 405, 501}) {
    INFO(status);
    const server other([&](const scripted_request&) { return reply{status, "hush"}; });
    CHECK(of_machine(other.url()).nobody());
    CHECK(other.requests().size() == 1);
    const auto said = of_machine(other.url(), true);
    CHECK(said.code);
    CHECK(said.text().find(std::to_string(status)) != std::string::npos);
    CHECK(said.text().find("hush") == std::string::npos);
  }
  const server strange([](const scripted_request&) { return reply{200, "<html>"}; });
  CHECK(of_machine(strange.url()).code == errc::permission_denied);
}

TEST_CASE("a token expires by the clock of who gave it", "[net]") {
  const server vault([](const scripted_request&) {
    return reply{200, R"({"access_token": "hush", "expires_on": "2209086245"})", years_ahead};
  });
  const auto said = of_machine(vault.url());
  REQUIRE(said.keys);
  check_an_hour_left(said.keys->expires);
}

TEST_CASE("times of expiry that no clock counts are its last", "[net]") {
  const auto expires = [](const std::string& on, std::chrono::seconds ahead = {}) {
    return net::parse_token_answer(R"({"access_token": "t", "expires_on": )" + on + "}", "it", {},
                                   ahead)
        .expires;
  };
  const auto never = net::parse_iso_time("2250-01-01T00:00:00Z");
  CHECK(expires("9223372036854775807") == never);
  CHECK(expires("9223372036854775807", -std::chrono::years(100)) == never);
  CHECK(expires("0", std::chrono::years(100)) == net::wall_clock::time_point());
}

/// What a question with a secret ends with.
access_answer asked_at(const std::string& url) {
  mds::runtime threads(1);
  return ask_access(net::token_access(fetcher_for(threads), "the tenant", [&] {
    return std::optional(net::token_request{.url = url + "/token", .form = "secret=hush"});
  }));
}

TEST_CASE("a question for a token follows no redirect to another host", "[net]") {
  const int status = GENERATE(301, 302, 303, 307, 308);
  const server elsewhere([](const scripted_request&) { return reply{200, token_text}; });
  const server tenant([&](const scripted_request&) {
    return reply{status, token_text, "Location: " + elsewhere.url() + "/token\r\n"};
  });
  const auto said = asked_at(tenant.url());
  INFO(said.text());
  CHECK(said.code == errc::permission_denied);
  CHECK(said.text().find(std::to_string(status)) != std::string::npos);
  CHECK(said.text().find("hush") == std::string::npos);
  CHECK(tenant.requests().size() == 1);
  CHECK(elsewhere.requests().empty());
}

TEST_CASE("an answer that is cut is no token, and is asked for again", "[net]") {
  std::atomic<int> cuts{1};
  support::scripted_server tenant([&](auto& to, const scripted_request&) {
    if (cuts-- <= 0) return (void)to.answer("200 OK", token_text);
    to.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + std::string(token_text));
    to.close();
  });
  const auto late = asked_at(tenant.url());
  INFO(late.text());
  CHECK(late.keys);
  CHECK(tenant.requests().size() == 2);
  cuts = 1000;
  const auto said = asked_at(tenant.url());
  CHECK(said.code == errc::unavailable);
  CHECK(said.text().find("hush") == std::string::npos);
}

}  // namespace oauth_test
