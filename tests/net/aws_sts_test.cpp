#include <mdstream/net/aws_sts.hpp>
#include <mdstream/net/sha256.hpp>
#include <mdstream/net/signature_v4.hpp>

#include <chrono>
#include <string>

#include "net/service.hpp"
#include "support/catch.hpp"

namespace aws_sts_test {

using namespace service;

const net::aws_role role{
    .arn = "arn:aws:iam::1:role/r+x", .session_name = "s", .external_id = "e/1"};

net::sts_place place_of(const server& sts) { return {sts.url(), "eu-1"}; }

TEST_CASE("the service is AWS's of the region, or where it is said", "[net][aws]") {
  CHECK(net::sts_place::from(keys::variables({}), "eu-1").endpoint ==
        "https://sts.eu-1.amazonaws.com");
  CHECK(net::sts_place::from(keys::variables({}), "cn-north-1").endpoint ==
        "https://sts.cn-north-1.amazonaws.com.cn");
  CHECK(net::sts_place::from(keys::variables({{"AWS_ENDPOINT_URL_STS", "http://h/"}}), "x")
            .endpoint == "http://h");
}

TEST_CASE("a web identity's token buys keys, unsigned, read anew each time", "[net][aws]") {
  mds::runtime threads(1);
  const keys::home home("");
  home.write("token", "hush.one\n");
  const server sts([](const scripted_request& asked) {
    if (asked.body.find("hush.two") == std::string::npos) {
      return reply{400,
                   "<ErrorResponse><Error><Code>ExpiredTokenException</Code></Error>"
                   "</ErrorResponse>"};
    }
    return reply{200, keys_xml("AssumeRoleWithWebIdentity", "WEB")};
  });
  const net::web_identity_aws_credentials provider(fetcher_for(threads), place_of(sts), role,
                                                   home.path() + "/token");
  check_refused(ask(provider), {"role/r+x", "ExpiredTokenException"});
  home.write("token", "hush.two");
  check_keys(ask(provider), "WEB", "web identity");
  const auto last = sts.requests().back();
  CHECK(last.method == "POST");
  CHECK(last.target == "/");
  CHECK(last.header("authorization").empty());
  CHECK(
      last.body ==
      "Action=AssumeRoleWithWebIdentity&ExternalId=e%2F1&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr"
      "%2Bx&RoleSessionName=s&Version=2011-06-15&WebIdentityToken=hush.two");
  check_refused(ask(net::web_identity_aws_credentials(fetcher_for(threads), place_of(sts), role,
                                                      home.path() + "/none")),
                {"/none"});
}

TEST_CASE("keys of a role expire by the service's clock", "[net][aws]") {
  mds::runtime threads(1);
  const keys::home home("");
  home.write("token", "hush");
  const server sts([](const scripted_request&) {
    return reply{200, keys_xml("AssumeRoleWithWebIdentity", "WEB"), years_ahead};
  });
  const auto said = ask(net::web_identity_aws_credentials(fetcher_for(threads), place_of(sts), role,
                                                          home.path() + "/token"));
  REQUIRE(said.keys);
  check_an_hour_left(said.keys->expires);
}

TEST_CASE("a role is assumed with the keys of another, signed for the service", "[net][aws]") {
  mds::runtime threads(1);
  const net::aws_credentials other{.access_key_id = "OTHER", .secret_access_key = "hush"};
  const auto service_time = net::wall_clock::now() + std::chrono::hours(1);
  const server sts([&](const scripted_request& asked) {
    net::v4_request again{.method = "POST",
                          .host = asked.header("host"),
                          .path = "/",
                          .headers = {{"Content-Type", asked.header("content-type")}},
                          .payload_hash = net::sha256_hex(mds::as_bytes(asked.body))};
    const std::string date = asked.header("x-amz-date");
    const auto when =
        net::parse_iso_time(date.substr(0, 4) + '-' + date.substr(4, 2) + '-' + date.substr(6, 5) +
                            ':' + date.substr(11, 2) + ':' + date.substr(13));
    if (!when) return reply{400};
    net::v4_sign(again, other, net::v4_signing_key(other, *when, "eu-1", "sts"), *when);
    if (std::chrono::abs(*when - service_time) > std::chrono::minutes(5)) {
      return reply{403, "", "Date: " + net::http_date(service_time) + "\r\n"};
    }
    const bool right = again.headers.back().second == asked.header("authorization");
    return right ? reply{200, keys_xml("AssumeRole", "ROLE")} : reply{403};
  });
  check_keys(ask(net::assumed_role_aws_credentials(fetcher_for(threads), place_of(sts), role,
                                                   net::explicit_aws_credentials(other))),
             "ROLE", "assumed role");
  net::aws_credentials wrong = other;
  wrong.secret_access_key = "hush-hush";
  check_refused(ask(net::assumed_role_aws_credentials(fetcher_for(threads), place_of(sts), role,
                                                      net::explicit_aws_credentials(wrong))),
                {"assumed role", "403"});
  check_refused(
      ask(net::assumed_role_aws_credentials(fetcher_for(threads), place_of(sts), role,
                                            net::environment_aws_credentials(keys::variables({})))),
      {"there are no credentials to assume it with"});
}

}  // namespace aws_sts_test
