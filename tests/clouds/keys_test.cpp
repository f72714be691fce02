// Signatures and tokens by known answers, and settings.

#include <mdstream/net/azure_signature.hpp>
#include <mdstream/net/oauth.hpp>
#include <mdstream/store/azure/options.hpp>
#include <mdstream/store/detail/azure/keys.hpp>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "net/keys.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace clouds_keys_test {

namespace mds = mdstream;
namespace net = mds::net;
using mds::errc;
using support::expect_error;

mds::store::azure_settings resolved(const std::string& url,
                                    std::map<std::string, std::string> set = {}) {
  mds::store::azure_options options;
  options.variables = keys::variables(std::move(set));
  return mds::store::resolve_azure(url, options);
}

TEST_CASE("what Shared Key signs is what Azure documents", "[clouds]") {
  net::http_request request{
      .method = "PUT",
      .url = "https://myaccount.blob.core.windows.net/mycontainer?restype=container&timeout=30",
      .headers = {{"x-ms-version", "2014-02-14"}, {"x-ms-date", "Fri, 26 Jun 2015 23:39:12 GMT"}}};
  CHECK(net::azure_string_to_sign(request, "myaccount") ==
        "PUT\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:Fri, 26 Jun 2015 23:39:12 GMT\n"
        "x-ms-version:2014-02-14\n/myaccount/mycontainer\nrestype:container\ntimeout:30");
  request.url = "https://a.blob.core.windows.net/c/a%20b?comp=block&blockid=QUJD%3D";
  request.headers = {{"Range", "bytes=0-9"}};
  const std::string body = "12345";
  request.body = net::http_body::of(mds::as_bytes(body));
  CHECK(net::azure_string_to_sign(request, "a") ==
        "PUT\n\n\n5\n\n\n\n\n\n\n\nbytes=0-9\n/a/c/a%20b\nblockid:QUJD=\ncomp:block");
}

TEST_CASE("a host with a dot is Azure's account, any other the container", "[clouds]") {
  const auto hosted = resolved("azure://acct.blob.core.windows.net/box/a/b/");
  CHECK(hosted.account == "acct");
  CHECK(hosted.container == "box");
  CHECK(hosted.root == "a/b");
  CHECK(hosted.endpoint == "https://acct.blob.core.windows.net");
  const auto named = resolved("azure://box/a/b", {{"AZURE_ACCOUNT_NAME", "acct"}});
  CHECK(named.account == "acct");
  CHECK(named.container == "box");
  CHECK(named.root == "a/b");
  CHECK(resolved("azure-dl://files/x", {{"AZURE_ACCOUNT_NAME", "acct"}}).container == "files");
  expect_error([] { (void)resolved("azure://box/a"); }, errc::invalid_argument,
               {"AZURE_ACCOUNT_NAME"});
  expect_error([] { (void)resolved("azure://a.b.c/"); }, errc::invalid_argument, {"container"});
  expect_error([] { (void)resolved("azure://a.b.c/box/../x"); }, errc::invalid_argument, {".."});
  expect_error([] { (void)resolved("azure://me:hush@a.b.c/box"); }, errc::invalid_argument,
               {"azure://a.b.c/box"});
  const auto sas = resolved("azure://a.b.c/box/x?sv=2021&sig=hush");
  CHECK(sas.sas == "sv=2021&sig=hush");
  CHECK(sas.shown == "azure://a.b.c/box");
}

TEST_CASE("a URL that names a blob service is sent there", "[clouds]") {
  for (const char* const host :
       {"acct.blob.core.usgovcloudapi.net", "acct.blob.core.chinacloudapi.cn",
        "acct.privatelink.blob.core.windows.net", "acct.z01.blob.storage.azure.net"}) {
    const auto settings = resolved("azure://" + std::string(host) + "/box/x");
    CHECK(settings.account == "acct");
    CHECK(settings.endpoint == "https://" + std::string(host));
    CHECK(settings.container == "box");
  }
  CHECK(resolved("azure://acct.dfs.core.windows.net/box/x").endpoint ==
        "https://acct.blob.core.windows.net");
  // No service's: the spec's "anything".
  CHECK(resolved("azure://any.thing/box", {{"AZURE_ACCOUNT_NAME", "acct"}}).endpoint ==
        "https://acct.blob.core.windows.net");
  const std::string local = "AccountName=acct;BlobEndpoint=http://127.0.0.1:1/acct";
  CHECK(resolved("azure://acct.blob.core.windows.net/box",
                 {{"AZURE_STORAGE_CONNECTION_STRING", local}})
            .endpoint == "http://127.0.0.1:1/acct");
  CHECK(
      resolved("azure://b.blob.core.windows.net/box", {{"AZURE_STORAGE_CONNECTION_STRING", local}})
          .endpoint == "https://b.blob.core.windows.net");
}

TEST_CASE("a connection string may name Microsoft's emulator", "[clouds]") {
  const auto settings = resolved(
      "azure://box/x", {{"AZURE_STORAGE_CONNECTION_STRING", "UseDevelopmentStorage=true"}});
  CHECK(settings.account == "devstoreaccount1");
  CHECK(settings.endpoint == "http://127.0.0.1:10000/devstoreaccount1");
  CHECK(settings.account_key.starts_with("Eby8vdM02xNO"));
  CHECK(resolved("azure://box/x", {{"AZURE_STORAGE_CONNECTION_STRING",
                                    "UseDevelopmentStorage=true;"
                                    "DevelopmentStorageProxyUri=http://azurite/"}})
            .endpoint == "http://azurite:10000/devstoreaccount1");
  CHECK(
      resolved("azure://box/x", {{"AZURE_STORAGE_CONNECTION_STRING", "UseDevelopmentStorage=True"}})
          .account == "devstoreaccount1");
}

TEST_CASE("a connection string with a signature names its account by its endpoint", "[clouds]") {
  const auto of = [](const std::string& endpoint, const char* url = "azure://box/x") {
    return resolved(url, {{"AZURE_STORAGE_CONNECTION_STRING",
                           "BlobEndpoint=" + endpoint + ";SharedAccessSignature=sv=1&sig=hush"}});
  };
  const auto service = of("https://acct.blob.core.windows.net/");
  CHECK(service.account == "acct");
  CHECK(service.endpoint == "https://acct.blob.core.windows.net");
  CHECK(service.sas == "sv=1&sig=hush");
  CHECK(of("http://azurite:10000/devstoreaccount1").account == "devstoreaccount1");
  CHECK(of("http://devstoreaccount1.blob.localhost:10000").account == "devstoreaccount1");
  // Another account's URL gets neither.
  const auto other =
      of("https://acct.blob.core.windows.net", "azure://b.blob.core.windows.net/box");
  CHECK(other.endpoint == "https://b.blob.core.windows.net");
  CHECK(other.sas.empty());
}

TEST_CASE("the variables' account and keys are not those of another account's URL", "[clouds]") {
  const std::map<std::string, std::string> of_a = {{"AZURE_ACCOUNT_NAME", "a"},
                                                   {"AZURE_ACCOUNT_ACCESS_KEY", "aHVzaA=="},
                                                   {"AZURE_STORAGE_SAS_TOKEN", "sig=hush"}};
  const auto a = resolved("azure://a.blob.core.windows.net/box", of_a);
  CHECK(a.account == "a");
  CHECK(a.account_key == "aHVzaA==");
  CHECK(a.sas == "sig=hush");
  const auto b = resolved("azure://b.blob.core.windows.net/box", of_a);
  CHECK(b.account == "b");
  CHECK(b.endpoint == "https://b.blob.core.windows.net");
  CHECK(b.account_key.empty());
  CHECK(b.sas.empty());
  CHECK(resolved("azure://b.blob.core.windows.net/box", {{"AZURE_ACCOUNT_ACCESS_KEY", "aHVzaA=="}})
            .account_key == "aHVzaA==");
}

TEST_CASE("token answers, and what is none", "[clouds]") {
  const net::wall_clock::time_point now{std::chrono::seconds(1000)};
  const auto token = net::parse_token_answer(R"({"access_token":"t","expires_in":60})", "it", now);
  CHECK(token.expires == now + std::chrono::seconds(60));
  CHECK(token.secrets == std::vector<std::string>{"t"});
  const auto dated =
      net::parse_token_answer(R"({"access_token":"t","expires_on":"5000"})", "it", now);
  CHECK(dated.expires == net::wall_clock::time_point(std::chrono::seconds(5000)));
  // One that says nothing of its end is not used for ever.
  const auto unsaid = net::parse_token_answer(R"({"access_token":"t"})", "it", now);
  CHECK(unsaid.expires == now + net::unsaid_lifetime);
  for (const char* const bad : {"", "{", "[]", R"({"access_token":7})", R"({"access_token":""})"}) {
    INFO(bad);
    expect_error([&] { (void)net::parse_token_answer(bad, "the vault", now); },
                 errc::permission_denied, {"the vault"});
  }
  CHECK(net::detail::oauth_error_word(R"({"error":"invalid_grant"})") == "invalid_grant");
  CHECK(net::detail::oauth_error_word(R"({"error":"secret42"})").empty());
}

}  // namespace clouds_keys_test
