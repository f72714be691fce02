// Where the Hub leads whoever asks for a file, and a Hub that is out of order.

#include <mdstream/store/hf.hpp>

#include <mdstream/store/operations.hpp>
#include <mdstream/store/retrying.hpp>

#include <chrono>
#include <optional>
#include <string>

#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/scripted_server.hpp"

namespace clouds_hub_answers_test {

namespace mds = mdstream;
using mds::errc;
using support::expect_error;
using support::scripted_request;

struct hub {
  explicit hub(support::scripted_server::script script) : server(std::move(script)) {}

  support::scripted_server server;
  mds::runtime threads{1};
  mds::store::hf store{threads,
                       "hf://datasets/o/n",
                       {{.endpoint = server.url(),
                         .part_retry = {.attempts = 2, .pause = std::chrono::milliseconds(0)},
                         .variables = [](const std::string& name) -> std::optional<std::string> {
                           if (name == "HF_TOKEN") return "hush";
                           return std::nullopt;
                         }}}};
};

std::string to(const std::string& place) { return "Location: " + place + "\r\n"; }

TEST_CASE("a redirect within the Hub is followed with the token", "[clouds]") {
  std::string origin;
  hub one([&](auto& out, const scripted_request& request) {
    const bool cached = request.target == "/api/resolve-cache/x?a=b";
    const bool moved = request.target == "/moved";
    if (cached) return out.send("HTTP/1.1 200 OK\r\nContent-Length: 7\r\nX-Repo-Commit: c\r\n\r\n");
    return out.answer("307 Temporary Redirect", "",
                      to(moved ? origin + "/api/resolve-cache/x?a=b" : "/moved"));
  });
  origin = one.server.url();
  CHECK(mds::store_size(one.store, "index.json") == 7);
  REQUIRE(one.server.requests().size() == 3);
  for (const scripted_request& each : one.server.requests()) {
    CHECK(each.method == "HEAD");
    CHECK(each.header("authorization") == "Bearer hush");
  }
}

TEST_CASE("a redirect to another server is the Hub's answer", "[clouds]") {
  support::scripted_server other([](auto& out, const scripted_request&) {
    out.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n");
  });
  for (const char* const status : {"302 Found", "307 Temporary Redirect"}) {
    hub one([&](auto& out, const scripted_request&) {
      out.answer(status, "", to(other.url() + "/x") + "X-Linked-Size: 5\r\nX-Repo-Commit: c\r\n");
    });
    CHECK(mds::store_size(one.store, "a") == 5);
    CHECK(one.server.requests().size() == 1);
  }
  hub sizeless([&](auto& out, const scripted_request&) {
    out.answer("307 Temporary Redirect", "", to(other.url() + "/x"));
  });
  expect_error([&] { (void)mds::store_size(sizeless.store, "a"); }, errc::corrupt, {"size"});
  CHECK(other.requests().empty());
}

TEST_CASE("redirects in a circle end", "[clouds]") {
  hub one([](auto& out, const scripted_request&) { out.answer("302 Found", "", to("/again")); });
  expect_error([&] { (void)mds::store_size(one.store, "a"); }, errc::unsupported, {"302"});
  CHECK(one.server.requests().size() == 9);
}

TEST_CASE("a write that repeated its steps in vain is not begun anew", "[clouds]") {
  hub one([](auto& out, const scripted_request&) { out.answer("503 Service Unavailable", ""); });
  const mds::retrying again(one.threads, one.store,
                            {.attempts = 3, .pause = std::chrono::milliseconds(0)});
  expect_error([&] { mds::store_write(again, "a", mds::as_bytes("1")); }, errc::unavailable,
               {"503"});
  CHECK(one.server.requests().size() == 2);
}

}  // namespace clouds_hub_answers_test
