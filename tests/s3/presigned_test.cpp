// URLs that let whoever has them in.

#include <mdstream/net/http_client.hpp>
#include <mdstream/store/http.hpp>
#include <mdstream/store/s3.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "s3/with_fake.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace s3_presigned_test {

using namespace with_fake;
using namespace std::chrono_literals;

int status_of(mds::runtime& threads, const std::string& method, const std::string& url,
              std::optional<std::string> body = {}) {
  mds::net::http_request request{.method = method, .url = url};
  if (body) request.body = mds::net::http_body::of(mds::as_bytes(*body));
  return mds::detail::wait_for<mds::net::http_response>([&](auto& where, auto done) {
           mds::net::http_client(threads, {})
               .async_send(std::move(request), {}, where, std::move(done));
         })
      .status;
}

TEST_CASE("an object is read by a URL without keys, as long as that serves", "[s3]") {
  mds::runtime threads(1);
  fake_s3::server fake;
  fake.put("pre fix/a+b", "content");
  const std::string url =
      s3(threads, fake.s3_url("pre fix"), options_for(fake)).presigned_url("a+b", 1h);
  const std::size_t query = url.find('?'), name = url.rfind('/', query);
  CHECK(url.substr(name, query - name) == "/a%2Bb");
  const mds::store::http web(threads, url.substr(0, name) + url.substr(query));
  CHECK(mds::store_size(web, "a+b") == 7);  // refused as HEAD, and asked for by a byte
  CHECK(mds::as_text(mds::read_all(web, "a+b")) == "content");
  CHECK(status_of(threads, "DELETE", url) == 403);
  CHECK(status_of(threads, "GET", url.substr(0, query)) == 403);
  fake.ahead = 61min;
  CHECK(status_of(threads, "GET", url) == 403);
}

TEST_CASE("a URL is signed for one kind of request", "[s3]") {
  mds::runtime threads(1);
  fake_s3::server fake;
  fake.put("x", "content");
  const s3 store(threads, fake.s3_url(), options_for(fake));
  CHECK(status_of(threads, "HEAD", store.presigned_url("x", 1h, "HEAD")) == 200);
  CHECK(status_of(threads, "PUT", store.presigned_url("y", 168h, "PUT"), "sent") == 200);
  CHECK(fake.objects().at("y") == "sent");
  CHECK(status_of(threads, "DELETE", store.presigned_url("x", 1h, "DELETE")) == 204);
  CHECK(fake.objects().count("x") == 0);
  const std::pair<std::chrono::seconds, const char*> wrong[] = {
      {0s, "GET"}, {8 * 24h, "GET"}, {60s, "POST"}};
  for (const auto& [lifetime, method] : wrong) {
    expect_error([&] { (void)store.presigned_url("x", lifetime, method); }, errc::invalid_argument,
                 {"s3://bucket/x"});
  }
  expect_error([&] { (void)store.presigned_url("../x", 1h); }, errc::invalid_argument);
}

TEST_CASE("temporary keys and a requester who pays are in a signed URL", "[s3]") {
  mds::runtime threads(1);
  fake_s3::server fake;
  fake.requester_pays = true;
  fake.put("x", "content");
  auto options = options_for(fake);
  options.requester_pays = true;
  auto keys = right_keys();
  keys.session_token = "a/token+=";
  options.credentials = mds::net::explicit_aws_credentials(keys);
  const std::string url = s3(threads, fake.s3_url(), options).presigned_url("x", 1h);
  CHECK(url.find("X-Amz-Security-Token=a%2Ftoken%2B%3D&") != std::string::npos);
  CHECK(status_of(threads, "GET", url) == 200);
}

TEST_CASE("a signed URL is for the region and the clock that a call was given", "[s3]") {
  mds::runtime threads(1);
  fake_s3::server fake;
  fake.ahead = 2h;
  fake.put("x", "content");
  auto options = options_for(fake);
  options.region = "us-east-1";
  const s3 store(threads, fake.s3_url(), options);
  CHECK(status_of(threads, "GET", store.presigned_url("x", 1h)) == 400);
  CHECK(mds::store_size(store, "x") == 7);
  CHECK(status_of(threads, "GET", store.presigned_url("x", 1h)) == 200);
}

TEST_CASE("a URL that cannot be signed is an error without secrets", "[s3]") {
  mds::runtime threads(1);
  fake_s3::server fake;
  auto options = options_for(fake);
  options.credentials = mds::net::anonymous_aws_credentials();
  const s3 nobody(threads, fake.s3_url(), options);
  expect_error([&] { (void)nobody.presigned_url("x", 1h); }, errc::permission_denied,
               {"no credentials", "s3://bucket/x"});

  const s3 store(threads, fake.s3_url(), options_for(fake));
  std::string url = store.presigned_url("x", 1h);
  const std::string signature = url.substr(url.rfind('=') + 1);
  const mds::store::http web(
      threads, url.substr(0, url.rfind('/', url.find('?'))) + url.substr(url.find('?')));
  const auto failure = support::error_of([&] { (void)mds::read_all(web, "absent"); });
  REQUIRE(failure);
  CHECK(std::string(failure->what()).find(signature) == std::string::npos);
  CHECK(std::string(failure->what()).find("X-Amz") == std::string::npos);
}

}  // namespace s3_presigned_test
