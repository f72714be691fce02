// Tokens go to their service, or to where the program or the environment says; no URL says so.

#include <mdstream/net/detail/token_bounds.hpp>

#include <mdstream/store/azure.hpp>
#include <mdstream/store/dbfs.hpp>
#include <mdstream/store/gs.hpp>
#include <mdstream/store/hf.hpp>
#include <mdstream/store/operations.hpp>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "net/keys.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/scripted_server.hpp"

namespace clouds_token_bounds_test {

namespace mds = mdstream;
namespace net = mdstream::net;
using mds::errc;
using support::expect_error;
using support::scripted_request;
using variables = std::map<std::string, std::string>;

TEST_CASE("a token goes to its store's server alone", "[clouds]") {
  using net::detail::token_bounds;
  const auto refused = [](const token_bounds& to, const std::string& url, const char* why) {
    expect_error([&] { to.require("the test", url); }, errc::permission_denied,
                 {"the token of the test", why});
  };
  const token_bounds service{.service = "Cloud",
                             .endpoint = "https://box.cloud.test",
                             .of_url = true,
                             .domains = {"cloud.test"},
                             .setting = "CLOUD_HOST"};
  service.require("the test", "https://box.cloud.test/x?y");
  refused(service, "https://other.cloud.test/x", "box.cloud.test");
  refused(service, "https://box.cloud.test:444/x", "box.cloud.test");
  refused(service, "http://box.cloud.test/x", "http");
  for (const char* const host : {"evilcloud.test", "cloud.test.evil", "evil", "127.0.0.1"}) {
    token_bounds to = service;
    to.endpoint = "https://" + std::string(host);
    refused(to, to.endpoint, "CLOUD_HOST");
    to.of_url = false;
    to.require("the test", to.endpoint);
  }
  for (const char* const host : {"127.0.0.1:80", "127.1.2.3", "localhost", "[::1]:9"}) {
    const token_bounds to{.endpoint = "http://" + std::string(host)};
    to.require("the test", to.endpoint + "/x");
  }
  for (const char* const host :
       {"127.evil.test", "10.0.0.1", "localhost.evil", "[::2]", "1270.0.0.1"}) {
    const token_bounds to{.endpoint = "http://" + std::string(host)};
    refused(to, to.endpoint + "/x", "https");
  }
}

template <class Store, class Options>
void size_of_a(const std::string& url, const variables& set, const std::string& endpoint) {
  mds::runtime threads(1);
  Options options;
  options.variables = keys::variables(set);
  options.endpoint = endpoint;
  (void)mds::store_size(Store(threads, url, options), "a");
}

struct cloud {
  std::string url;
  variables token;
  std::function<variables(const std::string&)> named;  // the server, by the environment
  std::function<void(const std::string&, const variables&, const std::string&)> size;
};

const std::vector<cloud> clouds{
    {"hf://datasets/o/n",
     {{"HF_TOKEN", "hush"}},
     [](const std::string& at) { return variables{{"HF_ENDPOINT", at}}; },
     &size_of_a<mds::store::hf, mds::store::hf_options>},
    {"dbfs:/Volumes/a/b/c",
     {{"DATABRICKS_TOKEN", "hush"}},
     [](const std::string& at) { return variables{{"DATABRICKS_HOST", at}}; },
     &size_of_a<mds::store::dbfs, mds::store::dbfs_options>},
    {"dbfs:/Volumes/a/b/c",
     {{"DATABRICKS_CLIENT_ID", "me"}, {"DATABRICKS_CLIENT_SECRET", "hush"}},
     [](const std::string& at) { return variables{{"DATABRICKS_HOST", at}}; },
     &size_of_a<mds::store::dbfs, mds::store::dbfs_options>},
    {"azure://box",
     {{"AZURE_ACCOUNT_NAME", "acct"}, {"AZURE_STORAGE_SAS_TOKEN", "sig=hush"}},
     [](const std::string& at) {
       return variables{{"AZURE_STORAGE_CONNECTION_STRING", "AccountName=acct;BlobEndpoint=" + at}};
     },
     &size_of_a<mds::store::azure, mds::store::azure_options>},
};

// Whether anything secret has come.
bool has_secret(const std::vector<scripted_request>& requests) {
  for (const scripted_request& each : requests) {
    if (!each.header("authorization").empty()) return true;
    if (each.target.find("hush") != std::string::npos) return true;
    if (each.body.find("hush") != std::string::npos) return true;
  }
  return false;
}

TEST_CASE("no URL leads tokens to another server, program and environment do", "[clouds]") {
  for (const cloud& each : clouds) {
    support::scripted_server server([](auto& to, const scripted_request& request) {
      if (request.method == "POST") {
        return void(to.answer("200 OK", R"({"access_token": "hush", "expires_in": 3600})"));
      }
      to.send(
          "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nLast-Modified: Mon, 02 Jan 2006 15:04:05 "
          "GMT\r\n\r\n");
    });
    INFO(each.url);
    expect_error([&] { each.size(each.url + "?endpoint=" + server.url(), each.token, ""); },
                 errc::permission_denied, {"the dataset's URL names", "127.0.0.1"});
    CHECK_FALSE(has_secret(server.requests()));

    each.size(each.url, each.token, server.url());
    CHECK(has_secret(server.requests()));

    const std::size_t before = server.requests().size();
    variables set = each.named(server.url());
    set.insert(each.token.begin(), each.token.end());
    each.size(each.url, set, "");
    CHECK(server.requests().size() > before);

    // Without a token, the URL's server is asked.
    if (each.url.starts_with("hf")) each.size(each.url + "?endpoint=" + server.url(), {}, "");
  }
}

TEST_CASE("Google's tokens keep to Google's hosts", "[clouds]") {
  support::scripted_server server([](auto& to, const scripted_request&) {
    to.answer("200 OK", R"({"size": "1", "generation": "1"})");
  });
  const auto size = [](const std::string& url, const variables& set) {
    mds::runtime threads(1);
    mds::store::gs_options options;
    options.variables = keys::variables(set);
    options.credentials = net::explicit_access(net::bearer_access("hush", "the test"));
    (void)mds::store_size(mds::store::gs(threads, url, options), "a");
  };
  expect_error([&] { size("gs://box?endpoint=" + server.url(), {}); }, errc::permission_denied,
               {"the dataset's URL names"});
  CHECK(server.requests().empty());
  size("gs://box", {{"STORAGE_EMULATOR_HOST", server.url()}});
  size("gs://box", {{"CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE", server.url() + "/storage/v1/"}});
  REQUIRE(server.requests().size() == 2);
  CHECK(server.requests()[0].target == server.requests()[1].target);
  expect_error([&] { size("gs://box", {{"STORAGE_EMULATOR_HOST", "gcs.test"}}); },
               errc::permission_denied, {"over http", "gcs.test"});
}

TEST_CASE("a blob service that the URL's host names gets no token unless it is Azure's",
          "[clouds]") {
  const variables token{{"AZURE_STORAGE_SAS_TOKEN", "sig=hush"}};
  expect_error(
      [&] {
        size_of_a<mds::store::azure, mds::store::azure_options>("azure://acct.blob.evil.test/box",
                                                                token, "");
      },
      errc::permission_denied, {"acct.blob.evil.test", "AZURE_STORAGE_CONNECTION_STRING"});
}

}  // namespace clouds_token_bounds_test
