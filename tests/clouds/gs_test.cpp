// What Google's testbench does not say: sessions of other servers.

#include <mdstream/store/gs.hpp>

#include <mdstream/store/operations.hpp>

#include <string>

#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/scripted_server.hpp"

namespace clouds_gs_test {

namespace mds = mdstream;
using mds::errc;
using support::expect_error;
using support::scripted_request;

/// Takes the parts of an upload.
void take_part(support::scripted_server::connection& to, const scripted_request& request) {
  if (request.header("content-range") == "bytes 0-262143/262145") {
    to.answer("308 Resume Incomplete", "", "Range: bytes=0-262143\r\n");
  } else {
    to.answer("200 OK", "{}");
  }
}

const std::string large(262'145, 'x');

/// Has the sessions of uploads at `place`.
void write(support::scripted_server& bucket) {
  mds::runtime threads(1);
  mds::store::gs_options options;
  options.endpoint = bucket.url();
  options.part_bytes = mds::byte_size(1);  // the service's least, 256 KiB
  options.part_retry.attempts = 1;
  options.keys = mds::net::explicit_access(mds::net::bearer_access("hush", "the test"));
  mds::store_write(mds::store::gs(threads, "gs://box", options), "large", mds::as_bytes(large));
}

TEST_CASE("an upload to Google goes on with the keys where its session is the service's",
          "[clouds]") {
  std::string here;
  support::scripted_server bucket([&](auto& to, const scripted_request& request) {
    if (request.method == "PUT") return take_part(to, request);
    to.answer("200 OK", "", "Location: " + here + "/session\r\n");
  });
  here = bucket.url();
  write(bucket);
  REQUIRE(bucket.requests().size() == 3);
  for (const scripted_request& each : bucket.requests()) {
    CHECK(each.header("authorization") == "Bearer hush");
  }
}

TEST_CASE("a session of another server gets no keys of Google's", "[clouds]") {
  for (const bool fails : {false, true}) {
    support::scripted_server other([fails](auto& to, const scripted_request& request) {
      if (fails) return (void)to.answer("403 Forbidden", "");
      take_part(to, request);
    });
    support::scripted_server bucket([&](auto& to, const scripted_request&) {
      to.answer("200 OK", "", "Location: " + other.url() + "/session?upload_id=hush\r\n");
    });
    if (fails) {
      expect_error([&] { write(bucket); }, errc::permission_denied, {"403"});
      CHECK(other.requests().back().method == "DELETE");
    } else {
      write(bucket);
    }
    CHECK(bucket.requests().size() == 1);
    CHECK(other.requests().size() == 2);
    for (const scripted_request& each : other.requests())
      CHECK(each.header("authorization").empty());
  }
}

TEST_CASE("a session without encryption is refused where the service has it", "[clouds]") {
  const auto session = [](const char* location) {
    mds::net::http_response answer;
    REQUIRE(answer.headers.add_line(std::string("Location: ") + location));
    return mds::store::gs_detail::session_of(answer, "https://storage.googleapis.com");
  };
  CHECK_FALSE(session("https://storage.googleapis.com/upload?id=1").keyless);
  CHECK(session("https://other.googleapis.com/upload?id=1").keyless);
  CHECK(session("https://storage.googleapis.com:444/upload?id=1").keyless);
  expect_error([&] { (void)session("http://storage.googleapis.com/upload?id=hush"); },
               errc::permission_denied, {"encryption", "storage.googleapis.com"});
  expect_error([&] { (void)session("/upload"); }, errc::corrupt, {"session"});
}

}  // namespace clouds_gs_test
