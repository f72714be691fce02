// Service principals by their certificates, and the login of Azure's command line: what is sent for
// a token, and what is none.

#include <mdstream/core/detail/base64.hpp>
#include <mdstream/core/json/value.hpp>
#include <mdstream/net/percent.hpp>
#include <mdstream/net/rsa.hpp>
#include <mdstream/net/sha256.hpp>
#include <mdstream/net/x509.hpp>
#include <mdstream/store/detail/azure/cli.hpp>
#include <mdstream/store/detail/azure/keys.hpp>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "net/service.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace clouds_azure_logins_test {

using namespace service;
using mds::errc;
using support::expect_error;
namespace azure = mds::detail::azure;
namespace fs = std::filesystem;
using pkey = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

/// A key and a certificate of it, signed by itself.
struct identity {
  identity() : key(EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", std::size_t{2048}), &EVP_PKEY_free) {
    const std::unique_ptr<X509, decltype(&X509_free)> made(X509_new(), &X509_free);
    X509_gmtime_adj(X509_getm_notBefore(made.get()), 0);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), 3600);
    X509_set_pubkey(made.get(), key.get());
    REQUIRE(X509_sign(made.get(), key.get(), EVP_sha256()) > 0);
    certificate = text([&](BIO* out) { return PEM_write_bio_X509(out, made.get()); });
  }

  /// The key in PEM, encrypted unless the pass phrase is empty.
  [[nodiscard]] std::string private_pem(std::string phrase = {}) const {
    return text([&](BIO* out) {
      return PEM_write_bio_PrivateKey(out, key.get(), phrase.empty() ? nullptr : EVP_aes_256_cbc(),
                                      reinterpret_cast<unsigned char*>(phrase.data()),
                                      static_cast<int>(phrase.size()), nullptr, nullptr);
    });
  }

  /// Whether it signed a web token, as PS256 has it.
  [[nodiscard]] bool signed_this(const std::string& token) const {
    const std::size_t dot = token.rfind('.');
    const auto signature = mds::detail::from_base64_url(token.substr(dot + 1)).value();
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                          &EVP_MD_CTX_free);
    EVP_PKEY_CTX* how = nullptr;
    return EVP_DigestVerifyInit(context.get(), &how, EVP_sha256(), nullptr, key.get()) == 1 &&
           EVP_PKEY_CTX_set_rsa_padding(how, RSA_PKCS1_PSS_PADDING) == 1 &&
           EVP_PKEY_CTX_set_rsa_pss_saltlen(how, RSA_PSS_SALTLEN_DIGEST) == 1 &&
           EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(signature.data()),
                            signature.size(), reinterpret_cast<const unsigned char*>(token.data()),
                            dot) == 1;
  }

  pkey key;
  std::string certificate{};

 private:
  template <class Write>
  static std::string text(const Write& write) {
    const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), &BIO_free);
    REQUIRE(write(out.get()) == 1);
    char* begin = nullptr;
    const long size = BIO_get_mem_data(out.get(), &begin);
    return {begin, static_cast<std::size_t>(size)};
  }
};

struct principal {
  principal() : home("") { write(who.private_pem() + who.certificate + other.certificate); }

  void write(const std::string& text) const {
    home.write("client.pem", text);
    fs::permissions(file(), fs::perms(0600));
  }
  [[nodiscard]] std::string file() const { return home.path() + "/client.pem"; }

  [[nodiscard]] net::environment variables(std::map<std::string, std::string> more = {}) const {
    more.insert({{"AZURE_TENANT_ID", "t"},
                 {"AZURE_CLIENT_ID", "c"},
                 {"AZURE_CLIENT_CERTIFICATE_PATH", file()},
                 {"AZURE_AUTHORITY_HOST", "login.microsoftonline.us"}});
    return home.with(std::move(more));
  }
  [[nodiscard]] std::map<std::string, std::string> form(
      std::map<std::string, std::string> more = {}) const {
    const auto asked = azure::certificate_question(variables(std::move(more)), {}, now);
    REQUIRE((asked && asked->form));
    CHECK(asked->url == "https://login.microsoftonline.us/t/oauth2/v2.0/token");
    std::map<std::string, std::string> out;
    const std::string& body = *asked->form;
    for (std::size_t at = 0; at < body.size();) {
      const std::size_t end = std::min(body.find('&', at), body.size());
      const std::size_t equals = body.find('=', at);
      out[body.substr(at, equals - at)] =
          net::percent_decode(body.substr(equals + 1, end - equals - 1)).value();
      at = end + 1;
    }
    return out;
  }

  const net::wall_clock::time_point now{std::chrono::seconds(1'700'000'000)};
  identity who{}, other{};
  keys::home home;
};

mds::json::value part_of(const std::string& token, int which) {
  std::size_t begin = 0;
  for (int i = 0; i < which; ++i) begin = token.find('.', begin) + 1;
  const auto bytes =
      mds::detail::from_base64_url(token.substr(begin, token.find('.', begin) - begin)).value();
  return mds::json::parse(mds::as_text(bytes));
}

TEST_CASE("a service principal's certificate signs an assertion for its tenant", "[clouds]") {
  const principal fixture;
  auto form = fixture.form();
  const std::string token = form["client_assertion"];
  CHECK(form ==
        std::map<std::string, std::string>{
            {"grant_type", "client_credentials"},
            {"client_id", "c"},
            {"client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
            {"client_assertion", token},
            {"scope", "https://storage.azure.com/.default"}});
  CHECK(fixture.who.signed_this(token));
  CHECK_FALSE(fixture.other.signed_this(token));
  const mds::json::value head = part_of(token, 0), claims = part_of(token, 1);
  const auto leaf = net::certificate::from_pem(fixture.who.certificate, "x").der();
  CHECK(head == mds::json::value(mds::json::object{
                    {"alg", "PS256"},
                    {"typ", "JWT"},
                    {"x5t#S256", mds::detail::to_base64_url(net::sha256(leaf))}}));
  CHECK(claims.get<std::string>("aud") == "https://login.microsoftonline.us/t/oauth2/v2.0/token");
  CHECK(claims.get<std::string>("iss") == "c");
  CHECK(claims.get<std::string>("sub") == "c");
  CHECK(claims.get<int>("nbf") == 1'700'000'000);
  CHECK(claims.get<int>("exp") == 1'700'000'600);
  CHECK(claims.get<std::string>("jti").size() == 36);
  CHECK(claims.get<std::string>("jti") !=
        part_of(fixture.form()["client_assertion"], 1).get<std::string>("jti"));
  CHECK_FALSE(
      azure::certificate_question(fixture.variables({{"AZURE_CLIENT_ID", ""}}), {}, fixture.now));
}

TEST_CASE("a service principal's chain of certificates is sent where that is asked for",
          "[clouds]") {
  const principal fixture;
  const auto head = part_of(
      fixture.form({{"AZURE_CLIENT_SEND_CERTIFICATE_CHAIN", "True"}})["client_assertion"], 0);
  const auto base64 = [](const std::string& pem) {
    return mds::detail::to_base64(net::certificate::from_pem(pem, "x").der());
  };
  CHECK(head.at("x5c") == mds::json::value(mds::json::array{base64(fixture.who.certificate),
                                                            base64(fixture.other.certificate)}));
}

TEST_CASE("an error about a certificate that cannot be used names its file", "[clouds]") {
  const principal fixture;
  const auto refused = [&](const std::string& text, const char* why,
                           std::map<std::string, std::string> more = {}) {
    fixture.write(text);
    expect_error(
        [&] {
          (void)azure::certificate_question(fixture.variables(std::move(more)), {}, fixture.now);
        },
        errc::invalid_argument, {why, "client.pem"});
  };
  refused(std::string("\x30\x82\x01\x02", 4), "PKCS#12");
  refused(fixture.who.private_pem(), "certificate");
  refused(fixture.who.certificate, "key");
  refused(fixture.who.private_pem() + fixture.other.certificate, "not that of its key");
  const std::string encrypted = fixture.who.private_pem("hush") + fixture.who.certificate;
  refused(encrypted, "pass phrase");
  refused(encrypted, "pass phrase", {{"AZURE_CLIENT_CERTIFICATE_PASSWORD", "other"}});
  fixture.write(encrypted);
  CHECK(fixture.who.signed_this(
      fixture.form({{"AZURE_CLIENT_CERTIFICATE_PASSWORD", "hush"}})["client_assertion"]));
  expect_error(
      [&] {
        (void)azure::certificate_question(
            fixture.variables({{"AZURE_CLIENT_CERTIFICATE_PATH", "/nonexistent/client.pem"}}), {},
            fixture.now);
      },
      errc::invalid_argument, {"AZURE_CLIENT_CERTIFICATE_PATH", "/nonexistent/client.pem"});
}

/// A home with an `az` of a test's own, and somebody logged in.
struct command_line {
  explicit command_line(const std::string& script) : home("") {
    fs::create_directory(fs::path(home.path()) / ".azure");
    home.write("az", "#!/bin/sh\n" + script + "\n");
    fs::permissions(fs::path(home.path()) / "az", fs::perms(0700));
  }
  access_answer ask(std::map<std::string, std::string> more = {}) {
    more.emplace("PATH", home.path() + ":/usr/bin:/bin");
    return ask_access(azure::cli_access(threads, home.with(std::move(more))));
  }
  void check_refused(std::initializer_list<const char*> pieces) {
    const auto said = ask();
    INFO(said.text());
    CHECK(said.code == errc::permission_denied);
    CHECK(said.text().find("az") != std::string::npos);
    for (const char* each : pieces) CHECK(said.text().find(each) != std::string::npos);
    CHECK(said.text().find("hush") == std::string::npos);
  }

  mds::runtime threads{1};
  keys::home home;
};

std::string printing(const std::string& json) { return "printf '%s' '" + json + "'"; }

TEST_CASE("Azure's command line is asked for a token of storage", "[clouds]") {
  // Its words and variables are the token, which has no spaces.
  command_line fixture(
      R"(printf '{"accessToken": "%s", "expires_on": 4000000000, "expiresOn": "hush"}' )"
      R"("$(echo "$*" | tr ' ' +),$AZURE_CORE_NO_COLOR,$AZURE_CONFIG_DIR")");
  const auto token = [&](std::map<std::string, std::string> more = {}) {
    const auto said = fixture.ask(std::move(more));
    INFO(said.text());
    REQUIRE(said.keys);
    CHECK(said.keys->is_token);
    CHECK(said.keys->expires == net::wall_clock::time_point(std::chrono::seconds(4'000'000'000)));
    return said.keys->secrets.front();
  };
  const std::string words =
      "account+get-access-token+--resource+https://storage.azure.com+--output+json";
  const std::string folder = fixture.home.path() + "/.azure";
  CHECK(token() == words + ",true," + folder);
  CHECK(token({{"AZURE_SUBSCRIPTION_ID", "s 1"}}) == words + "+--subscription+s+1,true," + folder);
  CHECK(token({{"AZURE_SUBSCRIPTION_ID", "s"}, {"AZURE_TENANT_ID", "t.example"}}) ==
        words + "+--tenant+t.example,true," + folder);
  CHECK(token({{"AZURE_CONFIG_DIR", fixture.home.path()}}) ==
        words + ",true," + fixture.home.path());
  for (const char* const bad : {"--debug", "a;b", "a\nb"}) {
    INFO(bad);
    const auto said = fixture.ask({{"AZURE_TENANT_ID", bad}});
    CHECK(said.code == errc::invalid_argument);
    CHECK(said.text().find("AZURE_TENANT_ID") != std::string::npos);
  }
}

TEST_CASE("nobody has logged in where Azure's command line says so, or is not there", "[clouds]") {
  command_line fixture("echo \"Please run 'az login' to setup account.\" >&2; exit 1");
  CHECK(fixture.ask().nobody());
  CHECK(fixture.ask({{"PATH", "/nonexistent"}}).nobody());
  CHECK(fixture.ask({{"AZURE_CONFIG_DIR", "/nonexistent"}}).nobody());
}

TEST_CASE("errors about Azure's command line do not repeat its words", "[clouds]") {
  command_line("echo \"AADSTS700082: hush. Please run az login\" >&2; exit 1")
      .check_refused({"status 1", "az account get-access-token"});
  command_line("echo hush; exit 3").check_refused({"status 3"});
  command_line("echo hush").check_refused({"JSON"});
  command_line(printing(R"({"accessToken": "hush)")).check_refused({"JSON"});
  command_line(printing(R"({"expires_on": 4000000000})")).check_refused({"accessToken"});
}

TEST_CASE("a token of Azure's command line that tells no end ends all the same", "[clouds]") {
  const net::wall_clock::time_point now{std::chrono::seconds(1000)};
  const auto end = [&](const std::string& printed) {
    return net::detail::parse_printed_token(printed, "az", now).expires;
  };
  CHECK(end(R"({"accessToken": "t", "expiresOn": "2040-01-02 03:04:05.0"})") ==
        now + net::unsaid_lifetime);
  const std::string claims = mds::detail::to_base64_url(mds::as_bytes(R"({"exp": 5000})"));
  CHECK(end(R"({"accessToken": "e30.)" + claims + R"(.x"})") ==
        net::wall_clock::time_point(std::chrono::seconds(5000)));
}

}  // namespace clouds_azure_logins_test
