#include <mdstream/core/json/value.hpp>
#include <mdstream/net/signature_v4.hpp>

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "support/catch.hpp"
#include "support/golden_file.hpp"

namespace signature_v4_test {

using namespace mdstream::net;
using mdstream::as_bytes;
using nlohmann::json;

// The examples of the Amazon S3 API Reference, "Signature Calculations for the Authorization
// Header" and "Authenticating Requests: Using Query Parameters".
const aws_credentials example{.access_key_id = "AKIAIOSFODNN7EXAMPLE",
                              .secret_access_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
const wall_clock::time_point example_time{std::chrono::seconds(1369353600)};
const v4_signing_key example_key(example, example_time, "us-east-1");

v4_request example_request(std::string path = "/") {
  return {.host = "examplebucket.s3.amazonaws.com",
          .path = std::move(path),
          .payload_hash = std::string(empty_payload)};
}

std::string signature_of(v4_request request) {
  return v4_sign(request, example, example_key, example_time);
}

std::string field(const v4_request& request, std::string_view name) {
  for (const auto& [key, value] : request.headers) {
    if (key == name) return value;
  }
  return {};
}

TEST_CASE("AWS's documented requests have their documented signatures", "[net][v4]") {
  v4_request get = example_request("/test.txt");
  get.headers = {{"Range", "bytes=0-9"}};
  CHECK(v4_sign(get, example, example_key, example_time) ==
        "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  CHECK(field(get, "Authorization") ==
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
        "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
        "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  CHECK(field(get, "x-amz-date") == "20130524T000000Z");

  v4_request put = example_request(v4_path("/test$file.text"));
  put.method = "PUT";
  put.headers = {{"Date", "Fri, 24 May 2013 00:00:00 GMT"},
                 {"x-amz-storage-class", "REDUCED_REDUNDANCY"}};
  put.payload_hash = sha256_hex(as_bytes("Welcome to Amazon S3."));
  CHECK(signature_of(put) == "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");

  v4_request lifecycle = example_request();
  lifecycle.query = {{"lifecycle", ""}};
  CHECK(signature_of(lifecycle) ==
        "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");

  v4_request list = example_request();
  list.query = {{"prefix", "J"}, {"max-keys", "2"}};
  CHECK(signature_of(list) == "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST_CASE("AWS's documented URL is presigned as documented", "[net][v4]") {
  CHECK(v4_presign(example_request("/test.txt"), example, example_key, example_time,
                   std::chrono::hours(24)) ==
        "/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F"
        "20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&"
        "X-Amz-SignedHeaders=host&X-Amz-Signature="
        "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404");
}

TEST_CASE("AWS's documented upload in chunks has the documented signatures", "[net][v4]") {
  constexpr std::size_t chunk = 65536, framed_bytes = 66824;
  const std::string body(66560, 'a');
  v4_request put{.method = "PUT",
                 .host = "s3.amazonaws.com",
                 .path = "/examplebucket/chunkObject.txt",
                 .headers = {{"x-amz-storage-class", "REDUCED_REDUNDANCY"},
                             {"Content-Encoding", "aws-chunked"},
                             {"x-amz-decoded-content-length", "66560"},
                             {"Content-Length", std::to_string(framed_bytes)}},
                 .payload_hash = std::string(streaming_payload)};
  CHECK(v4_chunk_signer::framed_size(body.size(), chunk) == framed_bytes);
  const std::string seed = v4_sign(put, example, example_key, example_time);
  CHECK(seed == "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9");

  v4_chunk_signer chunks(example_key, example_time, seed);
  std::string framed;
  for (std::size_t at = 0; at <= body.size(); at += chunk) {
    const std::string part = body.substr(at, chunk);
    framed += chunks.next(as_bytes(part)) + part + "\r\n";
  }
  framed += chunks.next({}) + "\r\n";
  CHECK(framed.size() == framed_bytes);
  CHECK(
      framed.starts_with("10000;chunk-signature="
                         "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648\r\n"));
  CHECK(framed.find("400;chunk-signature="
                    "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497\r\n") !=
        std::string::npos);
  CHECK(
      framed.ends_with("0;chunk-signature="
                       "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9"
                       "\r\n\r\n"));
}

TEST_CASE("framed bodies have the size that is announced", "[net][v4]") {
  for (const std::size_t size : {0U, 1U, 15U, 16U, 17U, 63U, 64U, 65U, 128U, 1000U}) {
    v4_chunk_signer chunks(example_key, example_time, "seed");
    std::uint64_t framed = 0;
    for (std::size_t at = 0; at < size; at += 64) {
      const std::string part(std::min<std::size_t>(64, size - at), 'x');
      framed += chunks.next(as_bytes(part)).size() + part.size() + 2;
    }
    framed += chunks.next({}).size() + 2;
    CHECK(v4_chunk_signer::framed_size(size, 64) == framed);
  }
}

json golden() {
  std::ifstream in(support::golden_file("signature_v4.json"));
  return json::parse(in);
}

std::vector<name_value> pairs(const json& object) {
  std::vector<name_value> out;
  for (const auto& [name, value] : object.items()) out.emplace_back(name, value);
  return out;
}

/// The parameters of a query as they are written, sorted.
std::vector<std::string> parameters(const std::string& url) {
  std::vector<std::string> out;
  std::size_t at = url.find('?');
  while (at != std::string::npos) {
    const std::size_t end = url.find('&', at + 1);
    out.push_back(url.substr(at + 1, end == std::string::npos ? end : end - at - 1));
    at = end;
  }
  std::sort(out.begin(), out.end());
  return out;
}

// tests/golden/signature_v4.py: random keys, queries and headers, signed by botocore.
TEST_CASE("random requests are signed as botocore signs them", "[net][v4]") {
  const json cases = golden();
  REQUIRE(cases.size() == 200);
  for (const json& each : cases) {
    INFO(each.dump());
    const aws_credentials keys{.access_key_id = each["access_key_id"],
                               .secret_access_key = each["secret_access_key"],
                               .session_token = each["session_token"]};
    const wall_clock::time_point now{std::chrono::seconds(each["time"].get<long>())};
    const v4_signing_key key(keys, now, each["region"]);
    const v4_request request{.method = each["method"],
                             .host = each["host"],
                             .path = v4_path(each["key"].get<std::string>()),
                             .query = pairs(each["query"]),
                             .headers = pairs(each["headers"]),
                             .payload_hash = each["payload_hash"]};
    v4_request in_headers = request;
    v4_sign(in_headers, keys, key, now);
    CHECK(field(in_headers, "Authorization") == each["authorization"].get<std::string>());
    in_headers.headers.pop_back();  // the canonical request has all but the signature itself
    CHECK(v4_canonical_request(in_headers) == each["canonical_request"].get<std::string>());

    const std::string presigned =
        v4_presign(request, keys, key, now, std::chrono::seconds(each["lifetime"].get<long>()));
    const std::string expected = each["presigned"];
    CHECK(("https://" + request.host + presigned.substr(0, presigned.find('?'))) ==
          expected.substr(0, expected.find('?')));
    CHECK(parameters(presigned) == parameters(expected));
  }
}

TEST_CASE("the URL that is sent is the one that is signed", "[net][v4]") {
  v4_request request = example_request(v4_path("/year=2024/a+b (1)!*'@:,é"));
  CHECK(request.path == "/year%3D2024/a%2Bb%20%281%29%21%2A%27%40%3A%2C%C3%A9");
  request.query = {{"prefix", "x/é +"}, {"b", ""}, {"a", "2"}, {"a", "10"}};
  CHECK(v4_query(request.query) == "a=10&a=2&b=&prefix=x%2F%C3%A9%20%2B");
  CHECK(v4_canonical_request(request).starts_with("GET\n" + request.path + '\n' +
                                                  v4_query(request.query) + '\n'));
}

}  // namespace signature_v4_test
