// The workload identity of a pod on OKE, against a scripted cluster.

#include <mdstream/core/detail/base64.hpp>
#include <mdstream/core/json/value.hpp>
#include <mdstream/core/json/writer.hpp>
#include <mdstream/net/oci_signature.hpp>
#include <mdstream/store/detail/oci/keys.hpp>
#include <mdstream/store/detail/oci/workload.hpp>
#include <mdstream/store/oci/options.hpp>

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <chrono>
#include <memory>
#include <string>

#include "net/service.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace clouds_oci_workload_test {

using namespace service;
using mds::errc;
using mds::detail::oci::workload_place;
using support::expect_error;

std::string base64(const std::string& text) { return mds::detail::to_base64(mds::as_bytes(text)); }

/// As the cluster answers it: JSON in base64, as a JSON text.
std::string answer(const std::string& token) {
  return '"' + base64(mds::json::dump(mds::json::object{{"token", token}})) + '"';
}

/// A token that ends at 2040-01-02T03:04:05Z.
const std::string token =
    "e30." + mds::detail::to_base64_url(mds::as_bytes("{\"exp\": 2209086245}")) + ".x";

struct pod {
  explicit pod(std::function<reply(const scripted_request&)> script)
      : home(""), cluster(std::move(script)) {
    home.write("token", "hush-of-the-pod\n");
  }
  access_answer ask() {
    return ask_access(
        mds::detail::oci_workload_access(threads, {},
                                         {.url = cluster.url() + "/resourcePrincipalSessionTokens",
                                          .token_file = home.path() + "/token"}));
  }
  void check_refused(std::initializer_list<const char*> pieces) {
    const auto said = ask();
    INFO(said.text());
    CHECK(said.code == errc::permission_denied);
    CHECK(said.text().find("the workload identity of this pod") != std::string::npos);
    for (const char* each : pieces) CHECK(said.text().find(each) != std::string::npos);
    CHECK(said.text().find("hush") == std::string::npos);
  }

  mds::runtime threads{1};
  keys::home home;
  server cluster;
};

TEST_CASE("a pod's token is exchanged for one that goes with a key of its own", "[clouds][oci]") {
  pod fixture([](const scripted_request&) { return reply{200, answer("ST$" + token)}; });
  const auto said = fixture.ask();
  INFO(said.text());
  REQUIRE(said.keys);
  const auto asked = fixture.cluster.requests();
  REQUIRE(asked.size() == 1);
  CHECK(asked[0].method == "POST");
  CHECK(asked[0].target == "/resourcePrincipalSessionTokens");
  CHECK(asked[0].header("authorization") == "Bearer hush-of-the-pod");
  CHECK(asked[0].header("content-type") == "application/json");
  const mds::json::value body = mds::json::parse(asked[0].body);
  CHECK(body.as<mds::json::object>().size() == 1);
  const auto der = mds::detail::from_base64(body.get<std::string>("podKey")).value();
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      d2i_PUBKEY(nullptr, &at, static_cast<long>(der.size())), &EVP_PKEY_free);
  REQUIRE(key);

  // Requests are signed by the other half of that key, for the token.
  net::http_request request{.url = "https://objectstorage.example/n/"};
  said.keys->authorize(request, net::wall_clock::now());
  const std::string header = net::detail::header_of(request, "Authorization");
  CHECK(header.find("keyId=\"ST$" + token + '"') != std::string::npos);
  const std::string mark = "signature=\"";
  const std::size_t begin = header.find(mark) + mark.size();
  const auto signature =
      mds::detail::from_base64(header.substr(begin, header.find('"', begin) - begin)).value();
  const std::string text = net::oci_string_to_sign(request);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  REQUIRE(EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) == 1);
  CHECK(EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(signature.data()),
                         signature.size(), reinterpret_cast<const unsigned char*>(text.data()),
                         text.size()) == 1);
}

TEST_CASE("a pod's token ends by the clock of its cluster, and each has another key",
          "[clouds][oci]") {
  pod fixture(
      [](const scripted_request&) { return reply{200, answer("ST$" + token), years_ahead}; });
  const auto said = fixture.ask();
  REQUIRE(said.keys);
  check_an_hour_left(said.keys->expires);
  REQUIRE(fixture.ask().keys);
  const auto asked = fixture.cluster.requests();
  REQUIRE(asked.size() == 2);
  CHECK(asked[0].body != asked[1].body);
}

TEST_CASE("a session's token that tells no end is not used for ever", "[clouds][oci]") {
  pod fixture([](const scripted_request&) { return reply{200, answer("ST$opaque")}; });
  const auto said = fixture.ask();
  REQUIRE(said.keys);
  REQUIRE(said.keys->expires);
  CHECK(*said.keys->expires <= net::wall_clock::now() + net::unsaid_lifetime);
}

TEST_CASE("a cluster gives a pod no token: the error says so in words", "[clouds][oci]") {
  const auto refused = [](const reply& said, const char* why) {
    pod fixture([&](const scripted_request&) { return said; });
    fixture.check_refused({why});
  };
  refused({403, "hush"}, "enhanced");
  refused({401, "hush"}, "answers 401");
  refused({200, ""}, "no token");
  refused({200, "\"hush"}, "no token");
  refused({200, "\"hush\""}, "no token");
  refused({200, '"' + base64("{\"token\": ") + '"'}, "no token");
  refused({200, answer("hush")}, "no token");  // without ST$
  refused({200, answer("ST$hush\r\nhush")}, "no header");
  pod none([](const scripted_request&) { return reply{}; });
  none.home.write("token", "\n");
  const auto said = none.ask();
  CHECK(said.code == errc::invalid_argument);
  CHECK(said.text().find("/token") != std::string::npos);
  CHECK(none.cluster.requests().empty());
}

TEST_CASE("a pod's token follows no redirect, and goes over no open line", "[clouds][oci]") {
  const server elsewhere([](const scripted_request&) { return reply{200, answer("ST$x")}; });
  pod fixture([&](const scripted_request&) {
    return reply{307, "", "Location: " + elsewhere.url() + "/x\r\n"};
  });
  fixture.check_refused({"answers 307"});
  CHECK(elsewhere.requests().empty());
  const auto said = ask_access(mds::detail::oci_workload_access(
      fixture.threads, {},
      {.url = "http://192.0.2.1/x", .token_file = fixture.home.path() + "/token"}));
  CHECK(said.code == errc::permission_denied);
  CHECK(said.text().find("192.0.2.1") != std::string::npos);
}

TEST_CASE("a pod finds its cluster by Kubernetes' variables", "[clouds][oci]") {
  const auto found = workload_place::of(keys::variables({{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}}));
  CHECK(found.url == "https://10.0.0.1:12250/resourcePrincipalSessionTokens");
  CHECK(found.token_file == "/var/run/secrets/kubernetes.io/serviceaccount/token");
  CHECK(found.ca_file == "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt");
  const auto other =
      workload_place::of(keys::variables({{"KUBERNETES_SERVICE_HOST", "fd00::1"},
                                          {"OCI_KUBERNETES_SERVICE_ACCOUNT_TOKEN_PATH", "/t"},
                                          {"OCI_KUBERNETES_SERVICE_ACCOUNT_CERT_PATH", "/c"}}));
  CHECK(other.url == "https://[fd00::1]:12250/resourcePrincipalSessionTokens");
  CHECK(other.token_file == "/t");
  CHECK(other.ca_file == "/c");
  mds::runtime threads(1);
  mds::store::oci_options options;
  options.variables = keys::variables({{"OCI_CLI_AUTH", "oke_workload_identity"},
                                       {"OCI_RESOURCE_PRINCIPAL_REGION", "phx"},
                                       {"HOME", "/nonexistent"}});
  const auto settings = mds::store::resolve_oci("oci://box@n", options);
  expect_error([&] { (void)mds::detail::default_oci_access(threads, settings, options); },
               errc::permission_denied, {"KUBERNETES_SERVICE_HOST"});
}

}  // namespace clouds_oci_workload_test
