// OCI: signatures by known answers, URLs and profiles.

#include <mdstream/async/runtime.hpp>
#include <mdstream/core/detail/base64.hpp>
#include <mdstream/net/oci_signature.hpp>
#include <mdstream/net/sha256.hpp>
#include <mdstream/net/web_token.hpp>
#include <mdstream/net/x509.hpp>
#include <mdstream/store/detail/oci/access.hpp>
#include <mdstream/store/detail/oci/instance.hpp>
#include <mdstream/store/detail/oci/keys.hpp>
#include <mdstream/store/oci/options.hpp>

#include <openssl/ui.h>
#include <unistd.h>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "net/keys.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace clouds_oci_keys_test {

namespace mds = mdstream;
namespace net = mds::net;
using mds::errc;
using support::expect_error;

// The key that draft-cavage-http-signatures publishes for tests (appendix C), with which OCI's
// documentation signs its examples.
const std::string pem =
    "-----BEGIN RSA PRIVATE KEY-----\n"
    "MIICXgIBAAKBgQDCFENGw33yGihy92pDjZQhl0C36rPJj+CvfSC8+q28hxA161QF\n"
    "NUd13wuCTUcq0Qd2qsBe/2hFyc2DCJJg0h1L78+6Z4UMR7EOcpfdUE9Hf3m/hs+F\n"
    "UR45uBJeDK1HSFHD8bHKD6kv8FPGfJTotc+2xjJwoYi+1hqp1fIekaxsyQIDAQAB\n"
    "AoGBAJR8ZkCUvx5kzv+utdl7T5MnordT1TvoXXJGXK7ZZ+UuvMNUCdN2QPc4sBiA\n"
    "QWvLw1cSKt5DsKZ8UETpYPy8pPYnnDEz2dDYiaew9+xEpubyeW2oH4Zx71wqBtOK\n"
    "kqwrXa/pzdpiucRRjk6vE6YY7EBBs/g7uanVpGibOVAEsqH1AkEA7DkjVH28WDUg\n"
    "f1nqvfn2Kj6CT7nIcE3jGJsZZ7zlZmBmHFDONMLUrXR/Zm3pR5m0tCmBqa5RK95u\n"
    "412jt1dPIwJBANJT3v8pnkth48bQo/fKel6uEYyboRtA5/uHuHkZ6FQF7OUkGogc\n"
    "mSJluOdc5t6hI1VsLn0QZEjQZMEOWr+wKSMCQQCC4kXJEsHAve77oP6HtG/IiEn7\n"
    "kpyUXRNvFsDE0czpJJBvL/aRFUJxuRK91jhjC68sA7NsKMGg5OXb5I5Jj36xAkEA\n"
    "gIT7aFOYBFwGgQAQkWNKLvySgKbAZRTeLBacpHMuQdl1DfdntvAyqpAZ0lY0RKmW\n"
    "G6aFKaqQfOXKCyWoUiVknQJAXrlgySFci/2ueKlIE1QqIiLSZ8V8OlpFLRnb1pzI\n"
    "7U1yQXnTAEFYM560yJlzUpOb1V4cScGd365tiSMvxLOvTA==\n"
    "-----END RSA PRIVATE KEY-----\n";

const std::string id =
    "ocid1.tenancy.oc1..aaaaaaaaba3pv6wkcr4jqae5f15p2b2m2yt2j6rx32uzr4h25vqstifsfdsq/"
    "ocid1.user.oc1..aaaaaaaat5nvwcna5j6aqzjcaty5eqbb6qt2jvpkanghtgdaqedqw3rynjq/"
    "20:3b:97:13:55:1c:5b:0d:d3:37:d8:50:4e:c5:3a:34";

std::string header(const net::http_request& request, const char* name) {
  return net::detail::header_of(request, name);
}

TEST_CASE("OCI's documented GET is signed as documented", "[clouds][oci]") {
  net::http_request request{
      .url =
          "https://iaas.us-phoenix-1.oraclecloud.com/20160918/instances"
          "?availabilityDomain=Pjwf%3A%20PHX-AD-1&compartmentId=ocid1.compartment.oc1.."
          "aaaaaaaam3we6vgnherjq5q2idnccdflvjsnog7mlr6rtdb25gilchfeyjxa&displayName="
          "TeamXInstances&volumeId=ocid1.volume.oc1.phx."
          "abyhqljrgvttnlx73nmrwfaux7kcvzfs3s66izvxf2h4lgvyndsdsnoiwr5q"};
  // The examples' date has the wrong day of the week, which `sign_for_oci` would not write.
  request.headers.push_back({"Date", "Thu, 05 Jan 2014 21:31:40 GMT"});
  const net::rsa_key key = net::rsa_key::from_pem(pem, "the draft");
  CHECK(mds::detail::to_base64(key.sign(net::oci_string_to_sign(request))) ==
        "GBas7grhyrhSKHP6AVIj/h5/Vp8bd/peM79H9Wv8kjoaCivujVXlpbKLjMPeDUhxkFIWtTtLBj3sUzaFj34XE6YZA"
        "Hc9r2DmE4pMwOAy/kiITcZxa1oHPOeRheC0jP2dqbTll8fmTZVwKZOKHYPtrLJIJQHJjNvxFWeHQjMaR7M=");
}

TEST_CASE("OCI's documented POST is signed as documented", "[clouds][oci]") {
  const std::string body =
      "{\n    \"compartmentId\": "
      "\"ocid1.compartment.oc1..aaaaaaaam3we6vgnherjq5q2idnccdflvjsnog7mlr6rtdb25gilchfeyjxa\",\n"
      "    \"instanceId\": "
      "\"ocid1.instance.oc1.phx.abuw4ljrlsfiqw6vzzxb43vyypt4pkodawglp3wqxjqofakrwvou52gb6s5a\",\n"
      "    \"volumeId\": "
      "\"ocid1.volume.oc1.phx.abyhqljrgvttnlx73nmrwfaux7kcvzfs3s66izvxf2h4lgvyndsdsnoiwr5q\"\n}";
  net::http_request request{
      .method = "POST",
      .url = "https://iaas.us-phoenix-1.oraclecloud.com/20160918/volumeAttachments",
      .headers = {{"Date", "Thu, 05 Jan 2014 21:31:40 GMT"},
                  {"Content-Type", "application/json"},
                  {"X-Content-SHA256", "V9Z20UJTvkvpJ50flBzKE32+6m2zJjweHpDMX/U4Uy0="}},
      .body = net::http_body::of(mds::as_bytes(body))};
  CHECK(mds::detail::to_base64(net::sha256(mds::as_bytes(body))) ==
        header(request, "x-content-sha256"));
  const net::rsa_key key = net::rsa_key::from_pem(pem, "the draft");
  CHECK(mds::detail::to_base64(key.sign(net::oci_string_to_sign(request))) ==
        "Mje8vIDPlwIHmD/cTDwRxE7HaAvBg16JnVcsuqaNRim23fFPgQfLoOOxae6WqKb1uPjYEl0qIdazWaBy/Ml8DRhql"
        "ocMwoSXv0fbukP8J5N80LCmzT/FFBvIvTB91XuXI3hYfP9Zt1l7S6ieVadHUfqBedWH0itrtPJBgKmrWso=");
}

TEST_CASE("a request to OCI gets date, digest and signature", "[clouds][oci]") {
  const net::oci_signer who{id, net::rsa_key::from_pem(pem, "the draft")};
  const net::wall_clock::time_point at{std::chrono::seconds(1'388'957'500)};
  const std::string body = "{}";
  net::http_request post{.method = "POST",
                         .url = "http://127.0.0.1:8080/n/a/b/c/u",
                         .body = net::http_body::of(mds::as_bytes(body))};
  net::sign_for_oci(post, who, at);
  CHECK(net::oci_string_to_sign(post) ==
        "date: Sun, 05 Jan 2014 21:31:40 GMT\n(request-target): post /n/a/b/c/u\n"
        "host: 127.0.0.1:8080\ncontent-length: 2\ncontent-type: application/json\n"
        "x-content-sha256: RBNvo1WzZ4oRRq0W9+hknpT7T8If536DEMBg9hyq/4o=");
  CHECK(header(post, "Authorization").starts_with("Signature version=\"1\",keyId=\"" + id + '"'));
  net::http_request put{.method = "PUT", .url = "https://h:443/n/a/b/c/o/x?y=1"};
  net::sign_for_oci(put, who, at);
  CHECK(net::oci_string_to_sign(put) ==
        "date: Sun, 05 Jan 2014 21:31:40 GMT\n(request-target): put /n/a/b/c/o/x?y=1\nhost: h");
}

struct scratch {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("oci_keys_" + std::to_string(::getpid()));
  scratch() { std::filesystem::create_directories(path); }
  ~scratch() { std::filesystem::remove_all(path); }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path / name) << text;
    std::filesystem::permissions(path / name, std::filesystem::perms(0600));
    return (path / name).string();
  }
};

mds::store::oci_options with(std::map<std::string, std::string> set) {
  mds::store::oci_options options;
  options.variables = keys::variables(std::move(set));
  return options;
}

mds::store::oci_settings resolved(const std::string& url, std::map<std::string, std::string> set) {
  return mds::store::resolve_oci(url, with(std::move(set)));
}

TEST_CASE("URLs of OCI", "[clouds][oci]") {
  const std::map<std::string, std::string> phoenix{{"OCI_CLI_REGION", "phx"}};
  const auto plain = resolved("oci://box/a/b/", phoenix);
  CHECK(plain.bucket == "box");
  CHECK(plain.namespace_name.empty());
  CHECK(plain.root == "a/b");
  CHECK(plain.endpoint == "https://objectstorage.us-phoenix-1.oraclecloud.com");
  CHECK(plain.shown == "oci://box");
  const auto named = resolved("oci://box@space/a?region=uk-gov-london-1", phoenix);
  CHECK(named.bucket == "box");
  CHECK(named.namespace_name == "space");
  CHECK(named.root == "a");
  CHECK(named.endpoint == "https://objectstorage.uk-gov-london-1.oraclegovcloud.uk");
  CHECK(named.shown == "oci://box@space");
  CHECK(resolved("oci://box", {{"OCI_REGION", "xx-new-1"}, {"OCI_DEFAULT_REALM", "cloud.example"}})
            .endpoint == "https://objectstorage.xx-new-1.cloud.example");
  CHECK(resolved("oci://box/a?endpoint=http%3A%2F%2F127.0.0.1%3A80%2F", {}).endpoint ==
        "http://127.0.0.1:80");
  const auto refused = [&](const std::string& url, const char* why) {
    INFO(url);
    expect_error([&] { (void)resolved(url, phoenix); }, errc::invalid_argument, {why});
  };
  refused("oci:///a", "bucket");
  refused("oci://box@/a", "namespace");
  refused("oci://box@a@b/a", "namespace");
  refused("oci://me:hush@space/a", "oci://space/a");
  refused("oci://box/a/../b", "..");
  refused("oci://box/a?key=1", "\"key\"");
  refused("oci://box/a?region=a.b", "region");
  refused("oci://box/a?endpoint=ftp%3A%2F%2Fh", "http");
  expect_error([] { (void)resolved("oci://box/a", {}); }, errc::invalid_argument,
               {"OCI_CLI_REGION"});
}

TEST_CASE("profiles of OCI and the variables in their place", "[clouds][oci]") {
  const scratch files;
  const std::string key = files.file("key.pem", pem), token = files.file("token", "hush\n");
  const std::string config = files.file(
      "config", "[DEFAULT]\ntenancy=t\nuser=u\nfingerprint=f\nkey_file=" + key +
                    "\nregion=fra\n[lhr]\nregion=uk-london-1\n[session]\nkey_file=" + key +
                    "\nsecurity_token_file=" + token + "\n[broken]\nkey_file=" + token + "\n");
  const auto access = [](const std::string& url, std::map<std::string, std::string> set) {
    const auto options = with(std::move(set));
    const auto settings = mds::store::resolve_oci(url, options);
    return mds::detail::oci::profile_access(settings.profile, options.variables, {});
  };
  const std::map<std::string, std::string> environment{{"OCI_CLI_CONFIG_FILE", config}};
  CHECK(resolved("oci://box", environment).endpoint ==
        "https://objectstorage.eu-frankfurt-1.oraclecloud.com");
  CHECK(resolved("oci://box?profile=lhr", environment).endpoint ==
        "https://objectstorage.uk-london-1.oraclecloud.com");
  const auto keys = access("oci://box?profile=lhr", environment);
  REQUIRE(keys);
  CHECK(keys->source == "the profile lhr in " + config);
  net::http_request request{.url = "http://h/"};
  keys->authorize(request, net::wall_clock::now());
  CHECK(header(request, "Authorization").find("keyId=\"t/u/f\"") != std::string::npos);

  const auto session = access("oci://box?profile=session", environment);
  REQUIRE(session);
  net::http_request other{.url = "http://h/"};
  session->authorize(other, net::wall_clock::now());
  CHECK(header(other, "Authorization").find("keyId=\"ST$hush\"") != std::string::npos);

  const auto variables = access("oci://box", {{"HOME", "/nonexistent"},
                                              {"OCI_CLI_USER", "u"},
                                              {"OCI_CLI_TENANCY", "t"},
                                              {"OCI_CLI_FINGERPRINT", "f"},
                                              {"OCI_CLI_KEY_CONTENT", pem},
                                              {"OCI_CLI_REGION", "iad"}});
  REQUIRE(variables);
  CHECK(variables->source.find("OCI_CLI_KEY_CONTENT") != std::string::npos);
  CHECK_FALSE(access("oci://box", {{"HOME", "/nonexistent"}, {"OCI_CLI_REGION", "iad"}}));

  expect_error([&] { (void)access("oci://box?profile=none", environment); }, errc::invalid_argument,
               {"no profile none", config.c_str()});
  expect_error([&] { (void)access("oci://box?profile=broken", environment); },
               errc::invalid_argument, {"PEM", token.c_str()});
  expect_error(
      [&] {
        (void)access("oci://box",
                     {{"OCI_CLI_USER", "u"}, {"OCI_CLI_REGION", "iad"}, {"HOME", "/nonexistent"}});
      },
      errc::permission_denied, {"key_file"});
  auto other_way = environment;
  other_way["OCI_CLI_AUTH"] = "instance_obo_user";
  expect_error([&] { (void)access("oci://box", other_way); }, errc::unsupported, {"OCI_CLI_AUTH"});
  const std::string bad = files.file("bad", "[DEFAULT]\nuser=u\nhush of a line\n");
  expect_error([&] { (void)access("oci://box", {{"OCI_CLI_CONFIG_FILE", bad}}); },
               errc::invalid_argument, {"line 3", bad.c_str()});
}

// Of the subject /OU=opc-tenant:ocid1.tenancy.oc1..test/CN=machine.
const std::string certificate =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIDYTCCAkmgAwIBAgIUQCiitpB5ceUESLUKea2H4Mt1o2wwDQYJKoZIhvcNAQEL\n"
    "BQAwPzErMCkGA1UECwwib3BjLXRlbmFudDpvY2lkMS50ZW5hbmN5Lm9jMS4udGVz\n"
    "dDEQMA4GA1UEAwwHbWFjaGluZTAgFw0yNjExMjIxMDU4NDVaGA8zMDI2MDMyNTEw\n"
    "NTg0NVowPzErMCkGA1UECwwib3BjLXRlbmFudDpvY2lkMS50ZW5hbmN5Lm9jMS4u\n"
    "dGVzdDEQMA4GA1UEAwwHbWFjaGluZTCCASIwDQYJKoZIhvcNAQEBBQADggEPADCC\n"
    "AQoCggEBALgATeGiTszE1lHn+IfPo8NkzTyABOJNN4zTrFFcB++aUnn6XeUEQXx+\n"
    "7Kb6idvvNRBNlzO87fIiMCqRVpjPhk7XEjR4ztf5rMwSimyjjaqMmsSkQRr/bV+f\n"
    "Ft1dPMCcGp4/8uupO70rbAAB5XoUyndI9qa25o3GdYGRn6EcioqQmcsqDb05R90K\n"
    "IyA2UKkWBh4shORwoYDZE90nCikKACnE62qkphjz66e0aqzScLRabCUPiMDEUyiL\n"
    "eiBR+Kmr6cH3VXr39nN0U/ce/Zqyj0miuz9CUkyMwR2tNf1ghvsKR4ootk9khDEt\n"
    "CaqTJOkFoMxAwHVBW8Ssa3awd9Y8wJECAwEAAaNTMFEwHQYDVR0OBBYEFDffZ2tL\n"
    "ojkEmM2zAalaOdk6O0rBMB8GA1UdIwQYMBaAFDffZ2tLojkEmM2zAalaOdk6O0rB\n"
    "MA8GA1UdEwEB/wQFMAMBAf8wDQYJKoZIhvcNAQELBQADggEBAIK4Is6fIuE5+JCK\n"
    "r3ROIA8g+MJw4tFOuwKtQ03IOsO1pRI3yNisB/tB5x9TgPk6baH2s2du1kswG2J9\n"
    "sJB6vX3/aWjGOFf7ikk1tr7p7vQmkuRfNq+2iFLMFuJG/ZOoA2AnI3SncUknxRDo\n"
    "0jyB2tVesdadwGy3gxA6SHr0HbwwCm9n4vsJbhZEtJp6OCJgXYKmEx9rxV0mzT+b\n"
    "fIGGhgxaQhZ+kVSz1IRoT2k0tn1D62AxOIWcmHrKkmzPmn+gmmaPWQ2Y4n8W0TQb\n"
    "GH9mqSrDjenZuKwWfqGvIqlBHVKHs5SGbwVPxdYv8jXhmOKELKjZnNPO3VVq25Ka\n"
    "sR1Q3Tk=\n"
    "-----END CERTIFICATE-----\n";

TEST_CASE("a machine of OCI asks for a token by its certificate", "[clouds][oci]") {
  const net::certificate leaf = net::certificate::from_pem(certificate, "the machine");
  const net::rsa_key session = net::rsa_key::generate();
  const auto asked =
      mds::detail::oci::ask_federation(leaf, net::rsa_key::from_pem(pem, "x"), leaf, session);
  CHECK(asked.signer.id ==
        "ocid1.tenancy.oc1..test/fed-x509/"
        "29:40:31:35:BF:A8:FA:13:A3:3E:95:E7:9F:22:5D:B0:A5:3C:08:F6");
  const mds::json::value body = mds::json::parse(asked.body);
  const std::string begin = "-----BEGIN CERTIFICATE-----";
  std::string expected =
      certificate.substr(begin.size(), certificate.find("-----END") - begin.size());
  std::erase(expected, '\n');
  CHECK(body.get<std::string>("certificate") == expected);
  CHECK(body.get<mds::json::array>("intermediateCertificates").at(0).as<std::string>() == expected);
  CHECK(mds::detail::from_base64(body.get<std::string>("publicKey")) == session.public_der());
  net::http_request request{.method = "POST",
                            .url = "https://auth.us-phoenix-1.oraclecloud.com/v1/x509",
                            .body = net::http_body::of(mds::as_bytes(asked.body))};
  net::sign_for_oci(request, asked.signer, net::wall_clock::now());
  CHECK(
      header(request, "Authorization")
          .find("headers=\"date (request-target) content-length content-type x-content-sha256\"") !=
      std::string::npos);
  expect_error([] { (void)net::certificate::from_pem(pem, "the machine"); }, errc::invalid_argument,
               {"the machine"});

  // Subjects hold any bytes, a header does not.
  const auto named = [&](const std::string& tenancy) {
    const std::string known = "ocid1.tenancy.oc1..test";
    std::string der(mds::as_text(leaf.der()));
    for (std::size_t at = 0; (at = der.find(known, at)) != std::string::npos; ++at) {
      der.replace(at, known.size(), tenancy);
    }
    std::string text = mds::detail::to_base64(mds::as_bytes(der));
    for (std::size_t at = 64; at < text.size(); at += 65) text.insert(at, 1, '\n');
    return net::certificate::from_pem(begin + '\n' + text + "\n-----END CERTIFICATE-----\n", "x");
  };
  const auto ask = [&](const net::certificate& who) {
    return mds::detail::oci::ask_federation(who, net::rsa_key::from_pem(pem, "x"), leaf, session);
  };
  CHECK(ask(named("ocid1.tenancy.oc1..tset")).signer.id.starts_with("ocid1.tenancy.oc1..tset/"));
  for (const char wrong : {'\0', '\n', '"', ' ', '\x7f'}) {
    INFO(static_cast<int>(wrong));
    std::string tenancy = "ocid1.tenancy.oc1..test";
    tenancy[8] = wrong;
    expect_error([&] { (void)ask(named(tenancy)); }, errc::permission_denied, {"no tenancy"});
  }
}

int questions = 0;  // of OpenSSL to the terminal

TEST_CASE("a certificate that is encrypted asks nobody for a pass phrase", "[clouds][oci]") {
  const std::unique_ptr<UI_METHOD, decltype(&UI_destroy_method)> terminal(UI_create_method("test"),
                                                                          &UI_destroy_method);
  REQUIRE(terminal);
  UI_method_set_opener(terminal.get(), [](UI*) {
    ++questions;
    return 0;
  });
  UI_set_default_method(terminal.get());
  const std::string head = "-----BEGIN CERTIFICATE-----\n";
  std::string encrypted = certificate;
  encrypted.insert(head.size(),
                   "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,"
                   "00112233445566778899AABBCCDDEEFF\n\n");
  expect_error([&] { (void)net::certificate::from_pem(encrypted, "the machine"); },
               errc::invalid_argument, {"the machine"});
  UI_set_default_method(nullptr);
  CHECK(questions == 0);
}

TEST_CASE("a resource principal's files are read anew", "[clouds][oci]") {
  const scratch files;
  // {"exp":4102444800}
  const std::string token = files.file("rpst", "e30.eyJleHAiOjQxMDI0NDQ4MDB9.c2ln\n");
  const std::string key = files.file("key.pem", pem);
  const auto options = with({{"OCI_RESOURCE_PRINCIPAL_VERSION", "2.2"},
                             {"OCI_RESOURCE_PRINCIPAL_RPST", token},
                             {"OCI_RESOURCE_PRINCIPAL_PRIVATE_PEM", key}});
  const auto signs = [&] {
    const auto keys = mds::detail::oci::resource_access(options.variables, {});
    REQUIRE(keys);
    net::http_request request{.url = "http://h/"};
    keys->authorize(request, net::wall_clock::now());
    const std::string said = header(request, "Authorization");
    return std::pair(said.substr(0, said.find(",algorithm")), keys->expires);
  };
  const net::wall_clock::time_point century{std::chrono::seconds(4'102'444'800)};
  CHECK(signs() ==
        std::pair(
            std::string("Signature version=\"1\",keyId=\"ST$e30.eyJleHAiOjQxMDI0NDQ4MDB9.c2ln\""),
            std::optional(century)));
  (void)files.file("rpst", "another");
  const auto [opaque, until] = signs();  // it tells no end, and is not used for ever
  CHECK(opaque == "Signature version=\"1\",keyId=\"ST$another\"");
  REQUIRE(until);
  CHECK(*until <= net::wall_clock::now() + net::unsaid_lifetime);
  (void)files.file("rpst", "hush\nhush");
  expect_error([&] { (void)mds::detail::oci::resource_access(options.variables, {}); },
               errc::invalid_argument, {"line 2", token.c_str()});
  (void)files.file("rpst", "another");
  (void)files.file("key.pem", "-----BEGIN PRIVATE KEY-----\nhu sh\n-----END PRIVATE KEY-----\n");
  expect_error([&] { (void)mds::detail::oci::resource_access(options.variables, {}); },
               errc::invalid_argument, {"line 2 is no base64", key.c_str()});
  CHECK_FALSE(mds::detail::oci::resource_access(with({}).variables, {}));
  CHECK(resolved("oci://box", {{"OCI_RESOURCE_PRINCIPAL_REGION", "iad"}, {"HOME", "/nonexistent"}})
            .endpoint == "https://objectstorage.us-ashburn-1.oraclecloud.com");
}

TEST_CASE("a resource principal's token is read again before it ends", "[clouds][oci]") {
  const scratch files;
  const auto write = [&](int number) {
    const std::string claims = "{\"exp\": 10000, \"number\": " + std::to_string(number) + '}';
    return files.file("rpst", "e30." + mds::detail::to_base64_url(mds::as_bytes(claims)) + ".sig");
  };
  const auto options = with({{"OCI_RESOURCE_PRINCIPAL_VERSION", "2.2"},
                             {"OCI_RESOURCE_PRINCIPAL_RPST", write(1)},
                             {"OCI_RESOURCE_PRINCIPAL_PRIVATE_PEM", files.file("key.pem", pem)},
                             {"OCI_CLI_REGION", "iad"},
                             {"HOME", "/nonexistent"}});
  const auto settings = mds::store::resolve_oci("oci://box", options);
  mds::runtime threads(1);
  std::chrono::seconds now{1000};
  const net::cached_access kept(mds::detail::default_oci_access(threads, settings, options),
                                std::chrono::minutes(5),
                                [&] { return net::wall_clock::time_point(now); });
  const auto token = [&] {
    mds::diagnostics where;
    std::string found;
    kept.async_find({}, where, [&](std::error_code, std::optional<net::access> keys) {
      if (keys) found = keys->secrets.back();
    });
    return found;
  };
  const std::string first = token();
  CHECK(first.starts_with("e30."));
  (void)write(2);
  CHECK(token() == first);  // still good
  now = std::chrono::seconds(10'000);
  const std::string second = token();
  CHECK(second.starts_with("e30."));
  CHECK(second != first);
}

TEST_CASE("when a web token expires", "[clouds]") {
  const auto expiry = [](const std::string& claims) {
    return net::web_token_expiry("e30." + mds::detail::to_base64_url(mds::as_bytes(claims)) +
                                 ".sig");
  };
  CHECK(expiry(R"({"exp":1000,"iat":1})") ==
        net::wall_clock::time_point(std::chrono::seconds(1000)));
  for (const char* const none : {"", "{}", "[]", "7", R"({"exp":"1000"})", R"({"exp":1.5})"}) {
    INFO(none);
    CHECK_FALSE(expiry(none));
  }
  for (const char* const none : {"", "opaque", "a.b", "a.!.c", "a..c"}) {
    INFO(none);
    CHECK_FALSE(net::web_token_expiry(none));
  }
  CHECK(expiry(R"({"exp":9223372036854775807})"));
}

TEST_CASE("a token of OCI expires by the service's clock", "[clouds]") {
  const std::string token =
      "e30." + mds::detail::to_base64_url(mds::as_bytes(std::string_view(R"({"exp":10000})"))) +
      ".sig";
  const auto expiry = [&token](std::chrono::seconds ahead) {
    return mds::detail::oci_token_access(token, {}, "a test", {}, ahead).expires;
  };
  const auto at = [](int second) {
    return net::wall_clock::time_point(std::chrono::seconds(second));
  };
  CHECK(expiry(std::chrono::seconds(0)) == at(10000));
  CHECK(expiry(std::chrono::seconds(600)) == at(9400));
  CHECK(expiry(std::chrono::seconds(-7200)) == at(17200));  // a machine two hours fast
}

TEST_CASE("files of keys and tokens of OCI may be named by variables", "[clouds][oci]") {
  const scratch files;
  const std::string key = files.file("key.pem", pem), token = files.file("token", "hush\n");
  const std::map<std::string, std::string> user{
      {"HOME", "/nonexistent"},    {"OCI_CLI_USER", "u"},
      {"OCI_CLI_TENANCY", "t"},    {"OCI_CLI_FINGERPRINT", "f"},
      {"OCI_CLI_KEY_FILE", key},   {"OCI_CLI_REGION", "iad"},
      {"OCI_CLI_PASSPHRASE", "p"}, {"OCI_CLI_SECURITY_TOKEN_FILE", token}};
  const auto signer = [](const std::map<std::string, std::string>& set) {
    const auto options = with(set);
    const auto settings = mds::store::resolve_oci("oci://box", options);
    const auto access = mds::detail::oci::profile_access(settings.profile, options.variables, {});
    REQUIRE(access);
    net::http_request request{.url = "http://h/"};
    access->authorize(request, net::wall_clock::now());
    const std::string said = header(request, "Authorization");
    return std::pair(said.substr(0, said.find(",algorithm")), access->source);
  };
  auto by_key = user;
  by_key["OCI_CLI_AUTH"] = "api_key";
  CHECK(signer(by_key) ==
        std::pair(std::string("Signature version=\"1\",keyId=\"t/u/f\""),
                  std::string("the environment (OCI_CLI_USER, OCI_CLI_KEY_FILE)")));
  auto by_token = user;
  by_token["OCI_CLI_AUTH"] = "security_token";
  CHECK(signer(by_token).first == "Signature version=\"1\",keyId=\"ST$hush\"");
  CHECK(resolved("oci://box", user).profile.pass_phrase == "p");
  const std::string config = files.file("config", "[DEFAULT]\nregion=fra\n");
  CHECK(resolved("oci://box", {{"OCI_CONFIG_FILE", config}}).endpoint ==
        "https://objectstorage.eu-frankfurt-1.oraclecloud.com");
}

}  // namespace clouds_oci_keys_test
