// What is uploaded carries a checksum, so that a service refuses other bytes.

#include <mdstream/store/detail/cloud/checksums.hpp>

#include <mdstream/core/json/value.hpp>
#include <mdstream/store/azure.hpp>
#include <mdstream/store/gs.hpp>
#include <mdstream/store/operations.hpp>

#include <chrono>
#include <string>

#include "net/keys.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/scripted_server.hpp"

namespace clouds_checksums_test {

namespace mds = mdstream;
using mds::errc;
using support::expect_error;
using support::scripted_request;

const std::string small = "The quick brown fox jumps over the lazy dog";
const std::string large(200'000, 'x');

TEST_CASE("checksums are those of the standards", "[clouds]") {
  std::size_t hashed_bytes = 0;
  const auto count = [&](mds::bytes_view block) { hashed_bytes += block.size(); };
  const auto md5 = mds::detail::cloud::content_md5(mds::as_bytes(small), count);
  CHECK(md5.name == "Content-MD5");
  CHECK(md5.value == "nhB9nTcrtoJr2B01QqQZ1g==");
  CHECK(mds::detail::cloud::crc32c_text(mds::as_bytes(small), count) == "ImIEBA==");
  CHECK(hashed_bytes == 2 * small.size());
}

TEST_CASE("blobs and blocks of Azure are uploaded with their MD5", "[clouds]") {
  support::scripted_server service(
      [](auto& to, const scripted_request&) { to.answer("201 Created", ""); });
  mds::runtime threads(1);
  mds::store::azure_options options;
  options.endpoint = service.url();
  options.account = "acct";
  options.account_key = "aHVzaA==";
  options.part_bytes = mds::byte_size(150'000);
  options.variables = keys::variables({});
  const mds::store::azure store(threads, "azure://box", options);
  mds::store_write(store, "small", mds::as_bytes(small));
  mds::store_write(store, "large", mds::as_bytes(large));
  REQUIRE(service.requests().size() == 4);
  for (const scripted_request& each : service.requests()) {
    if (each.target.find("comp=blocklist") != std::string::npos) continue;
    CHECK(each.header("content-md5") ==
          mds::detail::cloud::content_md5(mds::as_bytes(each.body), {}).value);
  }
}

TEST_CASE("the service may take its time to put an upload together", "[clouds]") {
  support::scripted_server service([](auto& to, const scripted_request& request) {
    const bool ends = request.target.find("comp=blocklist") != std::string::npos;
    if (!ends || to.wait(std::chrono::seconds(8))) to.answer("201 Created", "");
  });
  mds::runtime threads(1);
  mds::store::azure_options options;
  options.endpoint = service.url();
  options.account = "acct";
  options.account_key = "aHVzaA==";
  options.part_bytes = mds::byte_size(150'000);
  options.part_retry.attempts = 1;
  options.http.time.window = std::chrono::seconds(5);
  options.variables = keys::variables({});
  mds::store_write(mds::store::azure(threads, "azure://box", options), "large",
                   mds::as_bytes(large));
  CHECK(service.requests().size() == 3);
}

TEST_CASE("Google hears an object's CRC32C before its bytes", "[clouds]") {
  std::string says = "200 OK", answer = "{}";
  support::scripted_server service(
      [&](auto& to, const scripted_request&) { to.answer(says, answer); });
  mds::runtime threads(1);
  mds::store::gs_options options;
  options.endpoint = service.url();
  options.credentials = mds::net::anonymous_access();
  const mds::store::gs store(threads, "gs://box", options);
  mds::store_write(store, "a/b \"c\"", mds::as_bytes(small));
  const scripted_request sent = service.requests().at(0);
  const std::string type = sent.header("content-type");
  const std::string line = "--" + type.substr(type.find("boundary=") + 9);
  const std::string& body = sent.body;
  REQUIRE(body.starts_with(line + "\r\n"));
  CHECK(body.ends_with("\r\n\r\n" + small + "\r\n" + line + "--\r\n"));
  const std::size_t begin = body.find("\r\n\r\n") + 4;
  const auto about = mds::json::parse(body.substr(begin, body.find("\r\n", begin) - begin));
  CHECK(about.get<std::string>("name") == "a/b \"c\"");
  CHECK(about.get<std::string>("crc32c") == "ImIEBA==");

  // What was lost on the way may be sent again.
  says = "400 Bad Request";
  answer = R"({"error": {"message": "Provided CRC32C \"x\" doesn't match calculated CRC32C"}})";
  expect_error([&] { mds::store_write(store, "a", mds::as_bytes(small)); }, errc::unavailable,
               {"CRC32C"});
}

}  // namespace clouds_checksums_test
