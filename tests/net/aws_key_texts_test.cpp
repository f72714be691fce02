#include <mdstream/net/aws_key_texts.hpp>

#include <string>

#include "net/service.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace aws_key_texts_test {

using namespace service;
using mds::errc;

TEST_CASE("keys are read from JSON and from XML", "[net][aws]") {
  const auto json = net::parse_aws_keys_json(
      R"({"Version": 1, "AccessKeyId": "A", "SecretAccessKey": "S", "SessionToken": null})", "it");
  CHECK(json.access_key_id == "A");
  CHECK(json.session_token.empty());
  CHECK_FALSE(json.expires);
  CHECK(json.source == "it");
  const auto all = net::parse_aws_keys_json(keys_json("B", R"(, "Other": [{}])"), "it");
  CHECK(all.session_token == "hush-token");
  CHECK(all.expires == net::parse_iso_time("2040-01-02T03:04:05Z"));
  const auto xml = net::parse_sts_keys(keys_xml("AssumeRole", "C"), "it");
  CHECK(xml.access_key_id == "C");
  CHECK(xml.secret_access_key == "hush");
  CHECK(xml.expires == all.expires);
}

TEST_CASE("what is no keys is refused by the name of the source, and not quoted", "[net][aws]") {
  for (const char* text :
       {"", "{", "[]", "{}", R"({"AccessKeyId": "hush"})", R"({"AccessKeyId": 1})",
        R"({"AccessKeyId": "hush", "SecretAccessKey": "hush", "Expiration": "soon"})",
        R"({"Code": "Failed", "AccessKeyId": "hush", "SecretAccessKey": "hush"})"}) {
    INFO(text);
    const auto e = support::error_of([&] { (void)net::parse_aws_keys_json(text, "the vault"); });
    REQUIRE(e);
    CHECK(e->code() == errc::permission_denied);
    CHECK(std::string(e->what()).find("the vault") != std::string::npos);
    CHECK(std::string(e->what()).find("hush") == std::string::npos);
  }
  for (const std::string& text :
       {std::string(), std::string("<x/>"), keys_xml("A", ""), keys_xml("A", "x").substr(0, 90)}) {
    support::expect_error([&] { (void)net::parse_sts_keys(text, "the vault"); },
                          errc::permission_denied, {"the vault"});
  }
}

TEST_CASE("the service's error has a code", "[net][aws]") {
  CHECK(net::parse_sts_error("<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code>"
                             "</Error></ErrorResponse>") == "AccessDenied");
  CHECK(net::parse_sts_error("<ErrorResponse><Error><Code>hush.token</Code></Error>"
                             "</ErrorResponse>")
            .empty());
  CHECK(net::parse_sts_error("<html/>").empty());
  CHECK(net::parse_sts_error("<ErrorResponse>").empty());
}

}  // namespace aws_key_texts_test
