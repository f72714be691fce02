// OCI: signatures by known answers, URLs and profiles.

#include <mdstream/net/oci_signature.hpp>
#include <mdstream/store/oci/keys.hpp>
#include <mdstream/store/oci/options.hpp>

#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

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
  CHECK(mds::to_base64(key.sign(net::oci_string_to_sign(request))) ==
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
  CHECK(mds::to_base64(net::sha256(mds::as_bytes(body))) == header(request, "x-content-sha256"));
  const net::rsa_key key = net::rsa_key::from_pem(pem, "the draft");
  CHECK(mds::to_base64(key.sign(net::oci_string_to_sign(request))) ==
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
  options.variables = [set =
                           std::move(set)](const std::string& name) -> std::optional<std::string> {
    const auto at = set.find(name);
    if (at == set.end()) return std::nullopt;
    return at->second;
  };
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
    return mds::store::oci_detail::profile_access(settings.profile, options.variables, {});
  };
  const std::map<std::string, std::string> here{{"OCI_CLI_CONFIG_FILE", config}};
  CHECK(resolved("oci://box", here).endpoint ==
        "https://objectstorage.eu-frankfurt-1.oraclecloud.com");
  CHECK(resolved("oci://box?profile=lhr", here).endpoint ==
        "https://objectstorage.uk-london-1.oraclecloud.com");
  const auto keys = access("oci://box?profile=lhr", here);
  REQUIRE(keys);
  CHECK(keys->source == "the profile lhr in " + config);
  net::http_request request{.url = "http://h/"};
  keys->authorize(request, net::wall_clock::now());
  CHECK(header(request, "Authorization").find("keyId=\"t/u/f\"") != std::string::npos);

  const auto session = access("oci://box?profile=session", here);
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

  expect_error([&] { (void)access("oci://box?profile=none", here); }, errc::invalid_argument,
               {"no profile none", config.c_str()});
  expect_error([&] { (void)access("oci://box?profile=broken", here); }, errc::invalid_argument,
               {"PEM", token.c_str()});
  expect_error(
      [&] {
        (void)access("oci://box",
                     {{"OCI_CLI_USER", "u"}, {"OCI_CLI_REGION", "iad"}, {"HOME", "/nonexistent"}});
      },
      errc::permission_denied, {"key_file"});
  auto instance = here;
  instance["OCI_CLI_AUTH"] = "instance_principal";
  expect_error([&] { (void)access("oci://box", instance); }, errc::unsupported, {"OCI_CLI_AUTH"});
  const std::string bad = files.file("bad", "[DEFAULT]\nuser=u\nhush of a line\n");
  expect_error([&] { (void)access("oci://box", {{"OCI_CLI_CONFIG_FILE", bad}}); },
               errc::invalid_argument, {"line 3", bad.c_str()});
}

}  // namespace clouds_oci_keys_test
