#include <mdstream/store/s3/options.hpp>

#include <sys/stat.h>
#include <map>
#include <string>
#include <utility>
#include <vector>

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

std::string value_of(const std::vector<mdstream::net::http_header>& headers,
                     const std::string& name) {
  for (const auto& each : headers) {
    if (each.name == name) return each.value;
  }
  return "";
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

TEST_CASE("a store tells of a file of credentials that everybody may read", "[s3]") {
  const keys::home home("[default]\naws_access_key_id = AK\naws_secret_access_key = hush\n");
  REQUIRE(::chmod((home.path() + "/.aws/credentials").c_str(), 0644) == 0);
  std::string warnings;
  (void)resolve("s3://b", {{"HOME", home.path()}},
                {.warn = [&](const std::string& text) { warnings += text; }});
  CHECK(warnings.find("/.aws/credentials holds credentials") != std::string::npos);
  CHECK(warnings.find("hush") == std::string::npos);
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

TEST_CASE("other endpoints are asked in the path, unless the URL says otherwise", "[s3]") {
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
  CHECK(value_of(resolve("s3://b", {{"S3_CANNED_ACL", "public-read"}}).upload_headers,
                 "x-amz-acl") == "public-read");
}

TEST_CASE("AWS's hosts are those of access points, of both kinds of address, of FIPS", "[s3]") {
  const std::string point = "s3://arn:aws:s3:eu-west-1:123456789012:accesspoint/my-point";
  const s3_settings at_point = resolve(point + "/a/b", {{"AWS_REGION", "us-east-1"}});
  CHECK(at_point.root == "a/b");
  CHECK(request_url(at_point, "a/b/k") ==
        "https://my-point-123456789012.s3-accesspoint.eu-west-1.amazonaws.com/a/b/k");
  const std::string by_colon = "s3://arn:aws:s3:eu-west-1:123456789012:accesspoint:my-point";
  CHECK(request_url(resolve(by_colon), "k") == request_url(resolve(point), "k"));
  CHECK(request_url(resolve(point, {}, {.dual_stack = true, .fips = true}), "k") ==
        "https://my-point-123456789012.s3-accesspoint-fips.dualstack.eu-west-1.amazonaws.com/k");
  const variables both{{"AWS_USE_DUALSTACK_ENDPOINT", "true"}, {"AWS_USE_FIPS_ENDPOINT", "True"}};
  CHECK(request_url(resolve("s3://b", both), "k") ==
        "https://b.s3-fips.dualstack.us-east-1.amazonaws.com/k");
  CHECK(request_url(resolve("s3://b", both, {.dual_stack = false, .fips = false}), "k") ==
        "https://b.s3.us-east-1.amazonaws.com/k");
  for (const char* arn :
       {"arn:aws:s3:::bucket", "arn:aws:s3:eu-west-1:123456789012:accesspoint/",
        "arn:aws:s3:eu-west-1:x:accesspoint/a",
        "arn:aws:s3-outposts:eu-west-1:1:outpost/o/accesspoint/a", "arn:", "arn:aws:s3"}) {
    INFO(arn);
    expect_error([&] { (void)resolve(std::string("s3://") + arn + "/x"); }, errc::invalid_argument,
                 {"access point"});
  }
  for (const char* multi :
       {"s3://arn:aws:s3::123456789012:accesspoint/multi.mrap/x", "s3://mfzwi23gnjvgw.mrap/x"}) {
    expect_error([&] { (void)resolve(multi); }, errc::invalid_argument,
                 {"multi-region access points are not supported"});
  }
  CHECK(resolve("s3://b.mrap", {{"S3_ENDPOINT_URL", "http://h"}}).bucket == "b.mrap");
}

TEST_CASE("directory buckets are asked in the hosts of their zones", "[s3]") {
  const variables west{{"AWS_REGION", "us-west-2"}};
  const std::string bucket = "s3://data--usw2-az1--x-s3";
  CHECK(request_url(resolve(bucket + "/x", west), "x/k") ==
        "https://data--usw2-az1--x-s3.s3express-usw2-az1.us-west-2.amazonaws.com/x/k");
  CHECK(request_url(resolve(bucket, west, {.dual_stack = true, .fips = true}), "k") ==
        "https://data--usw2-az1--x-s3.s3express-fips-usw2-az1.dualstack.us-west-2.amazonaws.com/k");
  CHECK(request_url(resolve("s3://point--usw2-az1--xa-s3", west), "k") ==
        "https://point--usw2-az1--xa-s3.s3express-usw2-az1.us-west-2.amazonaws.com/k");
  CHECK(resolve(bucket + "?addressing=path", west).bucket_in_host);
  CHECK(resolve(bucket, west).sessions);
  CHECK_FALSE(resolve("s3://data--x-s3", west).is_directory_bucket());
  CHECK_FALSE(resolve("s3://usw2-az1--x-s3", west).is_directory_bucket());
  // What other buckets have by default is not sent.
  const variables of_others{{"S3_CANNED_ACL", "public-read"}, {"AWS_REGION", "us-west-2"}};
  CHECK(resolve(bucket, of_others).upload_headers.empty());
  const auto refused = [&](s3_options options, const char* why) {
    expect_error([&] { (void)resolve(bucket, west, options); }, errc::invalid_argument,
                 {"directory bucket", why});
  };
  refused({.requester_pays = true}, "requester_pays");
  refused({.canned_acl = "private"}, "canned_acl");
  refused({.server_side_encryption = "AES256"}, "server_side_encryption");
  refused({.customer_key = std::string(32, 'k')}, "customer_key");
  refused({.tags = {{"a", "b"}}}, "tags");
}

TEST_CASE(
    "a profile says how buckets are addressed, which authorities are trusted, what S3's "
    "endpoint is",
    "[s3]") {
  const keys::home home("",
                        "[default]\nca_bundle = /etc/ca.pem\nservices = mine\nendpoint_url = "
                        "http://127.0.0.1:2\ns3 =\n  addressing_style = virtual\n"
                        "[services mine]\ns3 =\n  endpoint_url = http://h:3\n");
  s3_options options;
  options.variables = keys::variables({{"HOME", home.path()}});
  CHECK(place_of(resolve_s3("s3://b", options), "r", "k").host == "b.h:3");
  CHECK(options.http.ca_file == "/etc/ca.pem");
  const variables ignored{{"HOME", home.path()}, {"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true"}};
  CHECK(request_url(resolve("s3://b", ignored), "k") == "https://b.s3.us-east-1.amazonaws.com/k");
  CHECK(request_url(resolve("s3://b?addressing=path", {{"HOME", home.path()}}), "k") ==
        "http://h:3/b/k");
}

TEST_CASE("what cannot go along with requests is refused", "[s3]") {
  const std::string key(32, 'k');
  const auto refused = [](s3_options options, const std::string& why,
                          const std::string& url = "s3://b") {
    INFO(why);
    expect_error([&] { (void)resolve(url, {}, options); }, errc::invalid_argument, {why});
  };
  refused({.server_side_encryption = "kms"}, "aws:kms");
  refused({.kms_key_id = "k"}, "kms_key_id");
  refused({.customer_key = "short"}, "32 bytes");
  refused({.server_side_encryption = "AES256", .customer_key = key}, "customer_key or");
  refused({.endpoint = "http://store.example", .customer_key = key}, "over http");
  refused({.customer_key = key}, "URL names", "s3://b?endpoint=https%3A%2F%2Fstore.example");
  refused({.tags = std::vector<std::pair<std::string, std::string>>(11)}, "ten tags");
  refused({.storage_class = "A\r\nB"}, "x-amz-storage-class");
  for (const char* name : {"Host", "authorization", "content-length", "", "a b", "a:b"}) {
    refused({.headers = {{name, "v"}}}, "no header");
  }
  refused({.headers = {{"x-a", "1\r\nx-b: 2"}}}, "no header");
  // On the way within this machine nobody listens.
  CHECK(resolve("s3://b", {}, {.endpoint = "http://127.0.0.1:1", .customer_key = key})
            .object_headers.size() == 3);
}

}  // namespace s3_options_test
