// What Azure's emulator does not say: another time, too many requests, listings by pages.

#include <mdstream/core/json/value.hpp>
#include <mdstream/store/azure.hpp>

#include <mdstream/store/operations.hpp>
#include <mdstream/store/retrying.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "net/keys.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/scripted_server.hpp"

namespace clouds_azure_test {

namespace mds = mdstream;
namespace net = mds::net;
using namespace std::chrono_literals;
using support::expect_error;
using support::scripted_request;

struct container {
  explicit container(support::scripted_server::script script) : server(std::move(script)) {}

  support::scripted_server server;
  mds::runtime threads{1};
  mds::store::azure store = open({.attempts = 1}), patient = open({.attempts = 8, .pause = 0ms});

 private:
  mds::store::azure open(mds::retry_policy part_retry) {
    return {threads,
            "azure://box/root",
            {{.endpoint = server.url() + "/acct",
              .part_bytes = mds::byte_size(8),
              .part_retry = part_retry,
              .variables = keys::variables(
                  {{"AZURE_ACCOUNT_NAME", "acct"}, {"AZURE_ACCOUNT_ACCESS_KEY", "aHVzaA=="}})}}};
  }
};

net::wall_clock::time_point time_of(const scripted_request& request) {
  return net::parse_http_date(request.header("x-ms-date")).value();
}

TEST_CASE("a clock that is wrong is set by Azure's, once", "[clouds]") {
  const auto ahead = net::wall_clock::now() + 3h;
  container box([&](auto& to, const scripted_request& request) {
    const std::string date = "Date: " + net::http_date(ahead) + "\r\n";
    const bool right = std::chrono::abs(time_of(request) - ahead) < 10min;
    to.answer(right ? "200 OK" : "403 Forbidden", "", date);
  });
  mds::store_write(box.store, "x", mds::as_bytes("1"));
  mds::store_write(box.store, "y", mds::as_bytes("1"));
  CHECK(box.server.requests().size() == 3);
}

TEST_CASE("the pause that Azure asks for is passed on", "[clouds]") {
  container box([](auto& to, const scripted_request&) {
    to.answer("503 Server Busy", "<Error><Code>ServerBusy</Code></Error>", "Retry-After: 7\r\n");
  });
  mds::diagnostics where;
  mds::detail::one_time_event over;
  std::error_code code;
  box.store.async_size("x", {}, where, [&](std::error_code c, std::uint64_t) {
    code = c;
    over.set();
  });
  over.wait();
  CHECK(code == mds::errc::unavailable);
  CHECK(where.retry_after == 7s);
}

TEST_CASE("a listing of Azure goes through all pages", "[clouds]") {
  container box([](auto& to, const scripted_request& request) {
    const bool second = request.target.find("marker=m%2F%2B") != std::string::npos;
    const std::string name = second ? "root/b" : "root/a";
    to.answer(
        "200 OK",
        "<EnumerationResults><Blobs><Blob><Name>" + name +
            "</Name><Properties><Etag>0x8D</Etag><Content-Length>1</Content-Length></Properties>"
            "</Blob></Blobs><NextMarker>" +
            (second ? "" : "m/+") + "</NextMarker></EnumerationResults>");
  });
  const std::vector<mds::object_info> found = mds::store_list(box.store, "");
  REQUIRE(found.size() == 2);
  CHECK(found[0].key == "a");
  CHECK(found[0].tag == "\"0x8D\"");  // as the header of an answer has it
  CHECK(found[1].key == "b");
  CHECK(box.server.requests().size() == 2);
}

TEST_CASE("names that XML cannot hold come percent-encoded from Azure", "[clouds]") {
  std::string name = "<Name Encoded=\"true\">root/a%EF%BF%BE%2Bb</Name>";
  container box([&](auto& to, const scripted_request&) {
    to.answer("200 OK",
              "<EnumerationResults><Blobs><Blob>" + name +
                  "<Properties><Content-Length>1</Content-Length></Properties></Blob>"
                  "<Blob><Name>root/c%2Bd</Name><Properties><Content-Length>1</Content-Length>"
                  "</Properties></Blob></Blobs><NextMarker/></EnumerationResults>");
  });
  const std::vector<mds::object_info> found = mds::store_list(box.store, "");
  REQUIRE(found.size() == 2);
  CHECK(found[0].key == "a\xEF\xBF\xBE+b");
  CHECK(found[1].key == "c%2Bd");  // not marked: as it is
  name = "<Name Encoded=\"true\">root/a%zz</Name>";
  expect_error([&] { (void)mds::store_list(box.store, ""); }, mds::errc::corrupt, {"escape"});
}

TEST_CASE("an upload to Azure whose blocks another writer discarded may be begun anew",
          "[clouds]") {
  bool refused = false;
  container box([&](auto& to, const scripted_request& request) {
    const bool is_end = request.target.ends_with("comp=blocklist");
    if (is_end && !std::exchange(refused, true)) {
      to.answer("400 Bad Request", "<Error><Code>InvalidBlockList</Code></Error>");
    } else {
      to.answer("201 Created", "");
    }
  });
  const auto write = [](const auto& store) {
    mds::store_write(store, "large", mds::as_bytes("0123456789"));
  };
  const auto ends = [&] {
    return std::ranges::count_if(box.server.requests(), [](const scripted_request& each) {
      return each.target.ends_with("comp=blocklist");
    });
  };
  // The same end again would be in vain.
  expect_error([&] { write(box.patient); }, mds::errc::unavailable,
               {"InvalidBlockList", "another writer"});
  CHECK(ends() == 1);
  refused = false;
  write(mds::retrying(box.threads, box.patient, {.attempts = 2, .pause = 0ms}));
  CHECK(ends() == 3);
}

}  // namespace clouds_azure_test
