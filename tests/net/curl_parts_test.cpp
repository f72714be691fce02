// The parts beneath the client: handles, one transfer, the loop and its queue.
#include <mdstream/net/curl/handles.hpp>
#include <mdstream/net/curl/loop.hpp>
#include <mdstream/net/curl/request_queue.hpp>
#include <mdstream/net/curl/transfer.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/scripted_server.hpp"

namespace curl_parts_test {

namespace mds = mdstream;
namespace net = mdstream::net;
using namespace mdstream::net::detail;
using mds::errc;
using support::scripted_request;
using support::scripted_server;
using namespace std::chrono_literals;

mds::diagnostics ignored;

std::shared_ptr<http_transfer> transfer_to(
    const std::string& url, http_transfer::handler done = [](auto, const auto&) {},
    std::stop_token stop = {}) {
  return std::make_shared<http_transfer>(net::http_request{.url = url},
                                         std::make_shared<net::http_client_options>(),
                                         std::move(stop), ignored, std::move(done));
}

}  // namespace curl_parts_test

TEST_CASE("lists of libcurl's keep their order, and refused options are named", "[net]") {
  using namespace curl_parts_test;
  curl_list lines;
  CHECK(lines.get() == nullptr);
  lines.add("a");
  lines.add("b");
  CHECK(std::string(lines.get()->data) == "a");
  CHECK(std::string(lines.get()->next->data) == "b");
  CHECK(lines.get()->next->next == nullptr);
  lines.clear();
  CHECK(lines.get() == nullptr);

  const curl_easy_handle easy = make_curl_easy();
  CHECK_NOTHROW(set_option(easy.get(), CURLOPT_PROTOCOLS_STR, "http,https"));
  support::expect_error([&] { set_option(easy.get(), CURLOPT_PROTOCOLS_STR, "nonsense"); },
                        errc::io_error, {"libcurl", "CURLOPT_PROTOCOLS_STR"});
}

TEST_CASE("a transfer knows its server, and refuses what can not be sent", "[net]") {
  using namespace curl_parts_test;
  CHECK(transfer_to("http://host/x")->server() == "host:80");
  CHECK(transfer_to("https://host/x?y=1")->server() == "host:443");
  CHECK(transfer_to("http://host:8080")->server() == "host:8080");
  CHECK(transfer_to("ftp://host/x")->server().empty());
  support::expect_error([] { transfer_to("ftp://host/x")->prepare(make_curl_easy()); },
                        errc::invalid_argument, {"URL"});
  const auto good = transfer_to("http://host/x");
  CHECK(good->easy() == nullptr);
  good->prepare(make_curl_easy());
  CHECK(good->easy() != nullptr);
  CHECK_NOTHROW(good->resolve_anew());
  CHECK(good->take_handle());
  CHECK(good->easy() == nullptr);

  CHECK(http_transfer::connection_failed(CURLE_COULDNT_CONNECT));
  CHECK(http_transfer::connection_failed(CURLE_PEER_FAILED_VERIFICATION));
  CHECK_FALSE(http_transfer::connection_failed(CURLE_OK));
  CHECK_FALSE(http_transfer::connection_failed(CURLE_WRITE_ERROR));
  CHECK_FALSE(http_transfer::connection_failed(CURLE_ABORTED_BY_CALLBACK));
}

TEST_CASE("a queue sends so many at once, first come, first sent; a stop takes one out", "[net]") {
  using namespace curl_parts_test;
  scripted_server server([](scripted_server::connection& to, const scripted_request& request) {
    to.answer("200 OK", request.target);
  });
  asio::io_context io;
  curl_loop loop(io);
  const auto queue = request_queue::make(io, loop, 1);
  std::stop_source stop;
  std::vector<std::string> ended;
  const auto add = [&](const std::string& target, const std::stop_token& token) {
    queue->add(transfer_to(
        server.url() + target,
        [&](std::error_code code, const net::http_response& answer) {
          ended.push_back(code ? code.message() : answer.text);
          if (ended.size() == 4) io.stop();
        },
        token));
  };
  for (const char* target : {"/a", "/b"}) add(target, {});
  add("/stopped", stop.get_token());
  add("/c", {});
  CHECK(queue->size() == 4);
  stop.request_stop();
  io.run_for(60s);
  const std::string canceled = mds::make_error_code(errc::canceled).message();
  REQUIRE(ended.size() == 4);
  CHECK(std::erase(ended, canceled) == 1);
  CHECK(ended == std::vector<std::string>{"/a", "/b", "/c"});
  CHECK(queue->size() == 0);
  CHECK(server.requests().size() == 3);
  CHECK(server.connections() == 1);  // one at a time, so one connection was enough
}

TEST_CASE("a loop that ends tells its dependants, and drops what waits", "[net]") {
  using namespace curl_parts_test;
  struct counting_dependant : curl_loop::dependant {
    int* count;
    explicit counting_dependant(int* to) : count(to) {}
    void loop_ends() noexcept override { ++*count; }
  };
  scripted_server server(
      [](scripted_server::connection& to, const scripted_request&) { (void)to.wait(10s); });
  int count = 0, ended = 0;
  const auto alive = std::make_shared<counting_dependant>(&count);
  std::shared_ptr<request_queue> queue;
  std::weak_ptr<http_transfer> waits;
  asio::io_context io;
  {
    curl_loop loop(io);
    loop.tell_of_end(std::make_shared<counting_dependant>(&count));  // gone by then
    loop.tell_of_end(alive);
    queue = request_queue::make(io, loop, 1);
    const auto note = [&](std::error_code, const net::http_response&) { ++ended; };
    queue->add(transfer_to(server.url(), note));
    auto second = transfer_to(server.url(), note);
    waits = second;
    queue->add(std::move(second));
    io.poll();
    CHECK_FALSE(waits.expired());
  }
  CHECK(count == 1);
  CHECK(waits.expired());
  CHECK(ended == 0);
}
