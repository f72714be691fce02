#include <mdstream/store/s3/options.hpp>

#include <sys/stat.h>
#include <map>
#include <string>

#include "net/keys.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace s3_options_test {

using namespace mdstream::store;
using mdstream::errc;
using support::expect_error;
using variables = std::map<std::string, std::string>;

s3_settings resolve(const std::string& url, variables values = {}, s3_options options = {}) {
  values.emplace("HOME", "/nonexistent");
  options.variables = keys::variables(std::move(values));
  return resolve_s3(url, options);
}

std::string request_url(const s3_settings& settings, const std::string& key) {
  return place_of(settings, settings.region, key).url(settings);
}

TEST_CASE("an s3:// URL is bucket and prefix, literal", "[s3]") {
  const s3_settings all = resolve("S3://my.bucket_1/a//b%2F c#d/?region=eu-1");
  CHECK(all.bucket == "my.bucket_1");
  CHECK(all.root == "a//b%2F c#d");
  CHECK(all.region == "eu-1");
  CHECK(resolve("s3://b").root.empty());
  CHECK(resolve("s3://b///").root.empty());
  for (const char* url : {"s3://", "s3:///x", "s3:b", "s3://b c", "s3://b:80/x", "s3://u@b/x",
                          "s3://a..b", "s3://.b", "s3://b?x=1", "s3://b?region", "s3://b?region=%",
                          "s3://b?anonymous=maybe", "s3://b?addressing=x", "s3://b?region=a/b",
                          "s3://b?endpoint=ftp://h", "s3://b?endpoint=http://u:p@h"}) {
    INFO(url);
    expect_error([&] { (void)resolve(url); }, errc::invalid_argument);
  }
  expect_error([] { (void)resolve(std::string("s3://b/a\0b", 10)); }, errc::invalid_argument);
  const auto with_keys = support::error_of([] { (void)resolve("s3://AKID:hu/sh@b/x"); });
  REQUIRE(with_keys);
  CHECK(std::string(with_keys->what()).find("hu") == std::string::npos);
}

TEST_CASE("a store tells of a file of keys that everybody may read", "[s3]") {
  const keys::home home("[default]\naws_access_key_id = AK\naws_secret_access_key = hush\n");
  REQUIRE(::chmod((home.path() + "/.aws/credentials").c_str(), 0644) == 0);
  std::string told;
  (void)resolve("s3://b", {{"HOME", home.path()}},
                {.warn = [&](const std::string& text) { told += text; }});
  CHECK(told.find("/.aws/credentials holds keys") != std::string::npos);
  CHECK(told.find("hush") == std::string::npos);
}

TEST_CASE("AWS is asked in the bucket's host, in the path where its certificate ends", "[s3]") {
  CHECK(request_url(resolve("s3://bucket/x", {{"AWS_REGION", "eu-west-1"}}), "x/k=1+2") ==
        "https://bucket.s3.eu-west-1.amazonaws.com/x/k%3D1%2B2");
  CHECK(request_url(resolve("s3://bucket"), "") == "https://bucket.s3.us-east-1.amazonaws.com/");
  CHECK(request_url(resolve("s3://dotted.bucket"), "k") ==
        "https://s3.us-east-1.amazonaws.com/dotted.bucket/k");
  CHECK(request_url(resolve("s3://Upper"), "") == "https://s3.us-east-1.amazonaws.com/Upper");
  CHECK(request_url(resolve("s3://b", {{"AWS_DEFAULT_REGION", "cn-north-1"}}), "k") ==
        "https://b.s3.cn-north-1.amazonaws.com.cn/k");
  CHECK(request_url(resolve("s3://b?addressing=path"), "k") ==
        "https://s3.us-east-1.amazonaws.com/b/k");
  CHECK(request_url(resolve("s3://b", {{"AWS_ENDPOINT_URL", "https://s3.eu-west-1.amazonaws.com"}}),
                    "k") == "https://b.s3.eu-west-1.amazonaws.com/k");
}

TEST_CASE("other endpoints are asked in the path, unless they are told", "[s3]") {
  const std::string mine = "http://127.0.0.1:9000";
  CHECK(request_url(resolve("s3://b/p", {{"S3_ENDPOINT_URL", mine}}), "p/k") == mine + "/b/p/k");
  CHECK(request_url(resolve("s3://b", {{"S3_ENDPOINT_URL", "https://h:443/base/"}}), "k") ==
        "https://h/base/b/k");
  CHECK(request_url(resolve("s3://b?addressing=virtual&endpoint=http%3A%2F%2Fs3.localhost:81"),
                    "k") == "http://b.s3.localhost:81/k");
  CHECK(
      request_url(resolve("s3://b", {{"S3_ENDPOINT_URL", mine}, {"AWS_ENDPOINT_URL", "http://x"}}),
                  "k") == mine + "/b/k");
  CHECK(request_url(
            resolve("s3://b", {{"AWS_ENDPOINT_URL_S3", mine}, {"AWS_ENDPOINT_URL", "http://x"}}),
            "k") == mine + "/b/k");
  CHECK(request_url(resolve("s3://b", {{"S3_ENDPOINT_URL", "http://x"}}, {.endpoint = mine}),
                    "k") == mine + "/b/k");
}

TEST_CASE("region and endpoint may stand in the profile", "[s3]") {
  const keys::home home("", "[profile x]\nregion = from-x\nendpoint_url = http://127.0.0.1:1\n");
  const s3_settings by_name = resolve("s3://b?profile=x", {{"HOME", home.path()}});
  CHECK(by_name.region == "from-x");
  CHECK(by_name.endpoint.port == 1);
  CHECK(resolve("s3://b", {{"HOME", home.path()}, {"AWS_PROFILE", "x"}}).region == "from-x");
  CHECK(resolve("s3://b", {{"HOME", home.path()}, {"AWS_PROFILE", "x"}, {"AWS_REGION", "r"}})
            .region == "r");
  expect_error([&] { (void)resolve("s3://b?profile=y", {{"HOME", home.path()}}); },
               errc::invalid_argument, {"\"y\""});
}

TEST_CASE("who pays and who may read are said by the environment", "[s3]") {
  const variables payers{{"MOSAICML_STREAMING_AWS_REQUESTER_PAYS", "a, bucket ,c"}};
  CHECK(resolve("s3://bucket", payers).requester_pays);
  CHECK(resolve("s3://c", payers).requester_pays);
  CHECK_FALSE(resolve("s3://buck", payers).requester_pays);
  CHECK_FALSE(resolve("s3://bucket", payers, {.requester_pays = false}).requester_pays);
  CHECK(resolve("s3://b", {}, {.requester_pays = true}).requester_pays);
  CHECK(resolve("s3://b", {{"S3_CANNED_ACL", "public-read"}}).canned_acl == "public-read");
}

}  // namespace s3_options_test
