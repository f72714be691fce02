#include <mdstream/core/json/value.hpp>
#include <mdstream/net/aws_sso.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <functional>
#include <string>
#include <thread>

#include "net/service.hpp"
#include "support/catch.hpp"

namespace aws_sso_test {

using namespace service;

// SHA-1 of "work", as sha1sum prints it.
const std::string token_file = ".aws/e274eeff768c6396088ec6eb091f4bf4d47ab1e0.json";

net::sso_login login_at(const keys::home& home, const std::string& url) {
  return {.profile = "p",
          .account = "123",
          .role = "my role",
          .region = "r",
          .cached_as = "work",
          .cache = home.path() + "/.aws",
          .endpoint = url,
          .token_endpoint = url};
}

TEST_CASE("a login's token buys keys, and one that is over says how to log in again",
          "[net][aws]") {
  mds::runtime threads(1);
  const keys::home home("");
  std::string date;
  const server portal([&](const scripted_request& asked) {
    const bool right =
        asked.target == "/federation/credentials?role_name=my%20role&account_id=123" &&
        asked.header("x-amz-sso_bearer_token") == "hush";
    return right ? reply{200,
                         R"({"roleCredentials": {"accessKeyId": "SSO", "secretAccessKey": )"
                         R"("hush", "sessionToken": "hush-token", "expiration": 2209086245000}})",
                         date}
                 : reply{401};
  });
  const net::sso_aws_credentials provider(fetcher_for(threads), login_at(home, portal.url()));
  check_refused(ask(provider), {"aws sso login --profile p"});
  home.write(token_file, R"({"accessToken": "hush", "expiresAt": "2001-01-01T00:00:00Z"})");
  check_refused(ask(provider), {"expired", "aws sso login"});
  home.write(token_file, "{\"accessToken\":\n\"hush");
  check_refused(ask(provider), {"JSON", "line 2", token_file.c_str()});
  home.write(token_file, R"({"accessToken": "other", "expiresAt": "2040-01-01T00:00:00Z"})");
  check_refused(ask(provider), {"401"});
  home.write(token_file,
             R"({"region": "r", "accessToken": "hush", "expiresAt": "2040-01-01T00:00:00UTC"})");
  check_keys(ask(provider), "SSO", "\"p\"");
  date = years_ahead;
  const auto dated = ask(provider);
  REQUIRE(dated.keys);
  check_an_hour_left(dated.keys->expires);
}

TEST_CASE("a session's token is refreshed in memory, and the file left as it is", "[net][aws]") {
  mds::runtime threads(1);
  const keys::home home("");
  int refreshed = 0;
  std::string seconds = "3600";
  const server aws([&](const scripted_request& asked) {
    if (asked.target == "/token") {
      const auto has = [&](const std::string& piece) {
        return asked.body.find(piece) != std::string::npos;
      };
      const bool right = asked.method == "POST" && has(R"("grantType": "refresh_token")") &&
                         has(R"("clientId": "id")") && has(R"("clientSecret": "hush")") &&
                         has(R"("refreshToken": "hush-)" + std::to_string(refreshed) + '"');
      if (!right) return reply{400, R"({"error": "invalid_grant"})"};
      ++refreshed;
      return reply{200, R"({"accessToken": "hush", "expiresIn": )" + seconds +
                            R"(, "refreshToken": "hush-)" + std::to_string(refreshed) + "\"}"};
    }
    if (asked.header("x-amz-sso_bearer_token") != "hush") return reply{401};
    return reply{200, R"({"roleCredentials": {"accessKeyId": "SSO", "secretAccessKey": "hush", )"
                      R"("sessionToken": "hush-token", "expiration": 2209086245000}})"};
  });
  const net::sso_login login = login_at(home, aws.url());
  const auto old_login = [&](const std::string& refresh) {
    home.write(token_file,
               R"({"accessToken": "old", "expiresAt": "2001-01-01T00:00:00Z", "clientId": "id", )"
               R"("clientSecret": "hush", "refreshToken": ")" +
                   refresh + "\"}");
  };
  const auto asked = [&] { return ask(net::sso_aws_credentials(fetcher_for(threads), login)); };
  old_login("hush-0");
  check_keys(asked(), "SSO", "\"p\"");
  check_keys(asked(), "SSO", "\"p\"");
  CHECK(refreshed == 1);
  seconds = "0";
  refreshed = 7;  // another login, whose token is good for nothing but one question
  old_login("hush-7");
  check_keys(asked(), "SSO", "\"p\"");
  check_keys(asked(), "SSO", "\"p\"");
  CHECK(refreshed == 9);  // by the token that came with the first
  old_login("hush-of-another");
  check_refused(asked(), {"400", "aws sso login --profile p"});
  home.write(token_file, R"({"accessToken": "hush", "expiresAt": "2040-01-01T00:00:00Z"})");
  check_keys(asked(), "SSO", "\"p\"");
}

std::string iso_time(net::wall_clock::time_point at) {
  const std::time_t seconds = net::wall_clock::to_time_t(at);
  std::tm parts{};
  std::array<char, 32> text{};
  const std::size_t size =
      std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &parts));
  return {text.data(), size};
}

/// A portal and its tokens: `valid` is the only token that it takes, `next` what a refresh gives.
struct portal {
  std::string valid = "hush-old", next = "hush-new";
  bool refreshes = true;
  int refreshed = 0, refused = 0;
  keys::home home{""};
  mds::runtime threads{1};
  server aws{[this](const scripted_request& asked) {
    if (asked.target == "/token") {
      if (!refreshes) return reply{400, R"({"error": "invalid_grant"})"};
      ++refreshed;
      return reply{200, R"({"accessToken": ")" + next + R"(", "expiresIn": 3600})"};
    }
    if (asked.header("x-amz-sso_bearer_token") != valid) {
      ++refused;
      return reply{401};
    }
    return reply{200, R"({"roleCredentials": {"accessKeyId": "SSO", "secretAccessKey": "hush", )"
                      R"("sessionToken": "hush-token", "expiration": 2209086245000}})"};
  }};

  /// The login of a file whose token is good for so long.
  [[nodiscard]] net::sso_aws_credentials login(std::chrono::seconds left) {
    return login(left, aws.url());
  }
  /// The same, where another service answers.
  [[nodiscard]] net::sso_aws_credentials login(std::chrono::seconds left, const std::string& url) {
    home.write(token_file, R"({"accessToken": "hush-old", "expiresAt": ")" +
                               iso_time(net::wall_clock::now() + left) +
                               R"(", "clientId": "id", "clientSecret": "hush", )"
                               R"("refreshToken": "hush-refresh"})");
    return {fetcher_for(threads), login_at(home, url)};
  }
};

TEST_CASE("a token that expires within minutes is refreshed before it does", "[net][aws]") {
  portal one;
  one.valid = "hush-new";
  check_keys(ask(one.login(std::chrono::minutes(4))), "SSO", "\"p\"");
  CHECK(one.refreshed == 1);
  CHECK(one.refused == 0);
  portal other;  // that refreshes nothing: the token is good for these minutes
  other.refreshes = false;
  check_keys(ask(other.login(std::chrono::minutes(4))), "SSO", "\"p\"");
  check_refused(ask(other.login(std::chrono::seconds(-1))), {"400", "aws sso login --profile p"});
}

TEST_CASE("a token that the portal refuses is refreshed once", "[net][aws]") {
  portal one;
  one.valid = "hush-new";
  check_keys(ask(one.login(std::chrono::hours(1))), "SSO", "\"p\"");
  CHECK(one.refused == 1);
  CHECK(one.refreshed == 1);
  check_keys(ask(one.login(std::chrono::hours(1))), "SSO", "\"p\"");
  CHECK(one.refreshed == 1);  // what one store refreshed, the others of the runtime have
  one.valid = "hush-newer";
  check_refused(ask(one.login(std::chrono::hours(1))), {"401", "aws sso login --profile p"});
  CHECK(one.refreshed == 2);
  CHECK(one.refused == 3);
}

// Two questions at a time, as stores of one login ask them.
struct two_questions {
  std::atomic<int> tokens{0}, keys_given{0}, refused{0};
  std::atomic<int> in_vain{0};  ///< waits that nothing ended

  void wait_until(const std::function<bool()>& happened) {
    for (int i = 0; i < 6000 && !happened(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (!happened()) ++in_vain;
  }
  [[nodiscard]] static std::string keys() {
    return R"({"roleCredentials": {"accessKeyId": "SSO", "secretAccessKey": "hush", )"
           R"("sessionToken": "hush-token", "expiration": 2209086245000}})";
  }
  static void ask_both(const net::sso_aws_credentials& provider) {
    keys::answer other;
    std::thread beside([&] { other = ask(provider); });
    const keys::answer one = ask(provider);
    beside.join();
    check_keys(one, "SSO", "\"p\"");
    check_keys(other, "SSO", "\"p\"");
  }
};

TEST_CASE("a refresh token of one use serves two questions at a time", "[net][aws]") {
  portal one;
  two_questions both;
  const server aws([&](const scripted_request& asked) {
    if (asked.target == "/token") {
      const bool first = both.tokens++ == 0;
      both.wait_until([&] { return first ? both.tokens == 2 : both.keys_given > 0; });
      if (!first) return reply{400, R"({"error": "invalid_grant"})"};
      return reply{200, R"({"accessToken": "hush-new", "expiresIn": 3600})"};
    }
    if (asked.header("x-amz-sso_bearer_token") != "hush-new") return reply{401};
    ++both.keys_given;
    return reply{200, two_questions::keys()};
  });
  two_questions::ask_both(one.login(std::chrono::seconds(-1), aws.url()));
  CHECK(both.tokens == 2);
  CHECK(both.in_vain == 0);
}

TEST_CASE("a token that was refreshed while the portal refused the old one is not again",
          "[net][aws]") {
  portal one;
  two_questions both;
  const server aws([&](const scripted_request& asked) {
    if (asked.target == "/token") {
      ++both.tokens;
      return reply{200, R"({"accessToken": "hush-new", "expiresIn": 3600})"};
    }
    if (asked.header("x-amz-sso_bearer_token") == "hush-new") {
      ++both.keys_given;
      return reply{200, two_questions::keys()};
    }
    const bool first = both.refused++ == 0;
    both.wait_until([&] { return first ? both.refused == 2 : both.keys_given > 0; });
    return reply{401};
  });
  two_questions::ask_both(one.login(std::chrono::hours(1), aws.url()));
  CHECK(both.refused == 2);
  CHECK(both.tokens == 1);
  CHECK(both.in_vain == 0);
}

TEST_CASE("keys of a login that expire beyond what a clock counts never do", "[net][aws]") {
  const auto expires = [](const std::string& milliseconds) {
    return net::detail::parse_sso_keys(R"({"roleCredentials": {"accessKeyId": "SSO", )"
                                       R"("secretAccessKey": "hush", "expiration": )" +
                                           milliseconds + "}}",
                                       "the test")
        .expires;
  };
  CHECK(expires("2209086245999") == net::parse_iso_time("2040-01-02T03:04:05Z"));
  const auto never = net::parse_iso_time("2250-01-01T00:00:00Z");
  for (const char* const far : {"9223372036855", "32503680000000", "18446744073709551615"}) {
    INFO(far);
    CHECK(expires(far) == never);
  }
}

}  // namespace aws_sso_test
