// Servers that lie, break off, never end or lead elsewhere.

#include <mdstream/net/http_client.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "net/http_calls.hpp"
#include "support/catch.hpp"
#include "support/scripted_server.hpp"
#include "support/seed.hpp"
#include "support/wrong_lengths.hpp"

namespace http_hostile_test {

namespace mds = mdstream;
namespace net = mdstream::net;
using http_calls::get;
using http_calls::outcome;
using http_calls::send;
using mds::errc;
using support::scripted_request;
using support::scripted_server;
using connection = scripted_server::connection;
using namespace std::chrono_literals;

// Sends `part` again and again until the client has enough.
void without_end(connection& to, const std::string& part) {
  while (to.send(part)) {
  }
  to.close();
}

TEST_CASE("headers without end are not read to the end", "[net]") {
  scripted_server server([](connection& to, const scripted_request& request) {
    to.send("HTTP/1.1 200 OK\r\n");
    if (request.target == "/many") return without_end(to, "A: b\r\n");
    if (request.target == "/long") return without_end(to, "A: " + std::string(5000, 'b') + "\r\n");
    to.send("A: ");
    without_end(to, std::string(5000, 'b'));
  });
  mds::runtime threads(1);
  const net::http_client client(threads);
  for (const char* kind : {"/many", "/long", "/one"}) {
    INFO(kind);
    const outcome result = send(client, {.url = server.url() + kind});
    INFO(result.text());
    CHECK(result.code);
    CHECK((result.code == errc::corrupt || result.code == errc::io_error));
  }
}

TEST_CASE("no answer writes beyond what was asked for", "[net]") {
  scripted_server server([](connection& to, const scripted_request& request) {
    if (request.target == "/length") return void(to.answer("200 OK", std::string(100'000, 'x')));
    if (request.target == "/error") {
      to.send("HTTP/1.1 500 No\r\n\r\n");
      return without_end(to, std::string(10'000, 'e'));
    }
    to.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    without_end(to, "2710\r\n" + std::string(10'000, 'y') + "\r\n");
  });
  mds::runtime threads(1);
  const net::http_client client(threads);
  for (const char* kind : {"/length", "/chunks"}) {
    INFO(kind);
    std::vector<std::byte> memory(2000, std::byte{7});
    const auto into = mds::mutable_bytes(memory).first(1000);
    const outcome result =
        send(client, {.url = server.url() + kind, .sink = net::http_sink{.into = into}});
    CHECK(result.code == errc::corrupt);
    CHECK(std::all_of(memory.begin() + 1000, memory.end(),
                      [](std::byte b) { return b == std::byte{7}; }));
    const outcome text = send(client, {.url = server.url() + kind, .most_text = 50'000});
    CHECK(text.code == errc::corrupt);
    CHECK(text.answer.text.size() <= 50'000);
  }
  const outcome failed = send(client, {.url = server.url() + "/error", .most_text = 5000});
  CHECK_FALSE(failed.code);
  CHECK(failed.answer.status == 500);
  CHECK(failed.answer.text == std::string(5000, 'e'));
}

TEST_CASE("nothing is decompressed: no answer grows", "[net]") {
  // A thousand times the letter a, as gzip writes it.
  const std::string bomb(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x4b\x4c\x1c\x05\xa3\x60\x14\x0c\x77\x00"
      "\x00\x03\xda\x38\x9a\xe8\x03\x00\x00",
      29);
  scripted_server server([&](connection& to, const scripted_request& request) {
    if (request.target == "/content") {
      return void(to.answer("200 OK", bomb, "Content-Encoding: gzip\r\n"));
    }
    char length[8];
    std::snprintf(length, sizeof length, "%zx\r\n", bomb.size());
    to.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n" + (length + bomb) +
            "\r\n0\r\n\r\n");
  });
  mds::runtime threads(1);
  const net::http_client client(threads);
  const auto whole = get(client, server.url() + "/content", 2000);
  CHECK_FALSE(whole.code);
  CHECK(mds::as_text(whole.bytes) == bomb);
  CHECK(server.requests().at(0).headers.count("accept-encoding") == 0);
  CHECK(server.requests().at(0).headers.count("te") == 0);
  // A coding of the connection libcurl may undo unasked; what comes of it is bounded as all is.
  std::vector<std::byte> memory(2000, std::byte{7});
  (void)send(client, {.url = server.url() + "/transfer",
                      .sink = net::http_sink{.into = mds::mutable_bytes(memory).first(500)}});
  CHECK(std::all_of(memory.begin() + 500, memory.end(),
                    [](std::byte b) { return b == std::byte{7}; }));
  const outcome text = send(client, {.url = server.url() + "/transfer", .most_text = 500});
  CHECK(text.answer.text.size() <= 500);
}

TEST_CASE("what breaks off is unavailable, not short", "[net]") {
  scripted_server server([](connection& to, const scripted_request& request) {
    const std::string& kind = request.target;
    if (kind == "/silent") return to.close();
    if (kind == "/reset") return to.reset();
    if (kind == "/head") {
      to.send("HTTP/1.1 200 OK\r\nContent-Le");
      return to.close();
    }
    to.send(kind == "/chunks" ? "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n123"
                              : "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345");
    kind == "/body-reset" ? to.reset() : to.close();
  });
  mds::runtime threads(1);
  const net::http_client client(threads);
  for (const char* kind : {"/silent", "/reset", "/body", "/body-reset", "/chunks", "/head"}) {
    const auto result = get(client, server.url() + kind, 10);
    INFO(kind << ": " << result.text());
    CHECK(result.code == errc::unavailable);
    CHECK(result.where.url == server.url() + kind);
  }
}

TEST_CASE("what is no HTTP is refused", "[net]") {
  scripted_server server([](connection& to, const scripted_request& request) {
    const std::string& kind = request.target;
    if (kind == "/noise") to.send("\x01\x02 garbage\r\n\r\n");
    if (kind == "/lengths") to.send("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n12345");
    if (kind == "/name") to.send("HTTP/1.1 200 OK\r\nbad name: 1\r\nContent-Length: 0\r\n\r\n");
    if (kind == "/chunk") {
      to.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n12345\r\n");
    }
    to.close();
  });
  mds::runtime threads(1);
  const net::http_client client(threads);
  for (const char* kind : {"/noise", "/lengths", "/name", "/chunk"}) {
    const auto result = get(client, server.url() + kind, 10);
    INFO(kind << ": " << result.text());
    CHECK(result.code);
    CHECK(result.code != errc::canceled);
  }
}

TEST_CASE("a length that no body has is an error, whatever the status, and takes no memory",
          "[net]") {
  const std::string status =
      GENERATE(as<std::string>{}, "200 OK", "206 Partial Content", "403 Forbidden", "503 No");
  scripted_server server([&](connection& to, const scripted_request& request) {
    support::state_length(to, request,
                          support::wrong_lengths.at(std::stoul(request.target.substr(1))), status);
  });
  mds::runtime threads(1);
  const net::http_client client(threads);
  const std::uint64_t before = support::most_memory();
  for (std::size_t i = 0; i < support::wrong_lengths.size(); ++i) {
    INFO(status << ' ' << support::wrong_lengths[i]);
    const std::string url = server.url() + '/' + std::to_string(i);
    // Into memory of the caller, and as text.
    for (const outcome& result : {outcome(get(client, url, 64)), send(client, {.url = url})}) {
      INFO(result.text());
      CHECK((result.code == errc::corrupt || result.code == errc::unavailable));
      CHECK(result.where.url == url);
      CHECK_FALSE(result.where.what.empty());
    }
  }
  CHECK(support::most_memory() - before < support::much_memory);
}

TEST_CASE("a server that sends a byte now and then, or none, runs into the limits", "[net]") {
  scripted_server server([](connection& to, const scripted_request& request) {
    if (request.target == "/never") return void(to.wait(60s));
    to.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n");
    to.send(request.target == "/head" ? "A: " : "\r\n");
    while (to.send("x") && to.wait(100ms)) {
    }
    to.close();
  });
  mds::runtime threads(1);
  const net::http_client patient(threads, {.time = {.bytes_per_second = 1000, .window = 1s}});
  const net::http_client hurried(threads, {.time = {.total = 200ms}});
  for (const char* slow : {"/head", "/body"}) {
    CHECK(get(patient, server.url() + slow, 100'000).code == errc::unavailable);
  }
  CHECK(get(hurried, server.url() + "/slow", 100'000).code == errc::unavailable);
  CHECK(get(hurried, server.url() + "/never", 100'000).code == errc::unavailable);
}

/// Takes what comes by a small window, so many bytes now and then, and answers when it has a body
/// of so many. It reads nothing where `at_once` is 0.
class slow_reader {
 public:
  slow_reader(std::size_t body, std::size_t at_once) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int window = 4096;
    ::setsockopt(listener_, SOL_SOCKET, SO_RCVBUF, &window, sizeof window);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(listener_, 8) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
      throw std::runtime_error("no port to listen on");
    port_ = ntohs(address.sin_port);
    serves_ = std::thread([this, body, at_once] { serve(body, at_once); });
  }
  slow_reader(const slow_reader&) = delete;
  slow_reader& operator=(const slow_reader&) = delete;
  ~slow_reader() {
    ended_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    serves_.join();
    ::close(listener_);
  }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  void serve(std::size_t body, std::size_t at_once) {
    const int to = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (to < 0) return;
    std::string got;
    std::size_t end = std::string::npos;
    while (!ended_ && (end == std::string::npos || got.size() < end + 4 + body)) {
      std::this_thread::sleep_for(100ms);
      std::string some(at_once, '\0');
      const ssize_t came = at_once == 0 ? 0 : ::recv(to, some.data(), some.size(), MSG_DONTWAIT);
      if (came > 0) got.append(some, 0, static_cast<std::size_t>(came));
      if (end == std::string::npos) end = got.find("\r\n\r\n");
    }
    constexpr std::string_view answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK";
    (void)!::send(to, answer.data(), answer.size(), MSG_NOSIGNAL);
    ::close(to);
  }

  int listener_ = -1;
  unsigned port_ = 0;
  std::atomic<bool> ended_{false};
  std::thread serves_{};
};

TEST_CASE("an upload that moves is waited for, though the system took all of it at once", "[net]") {
  const std::string body(500'000, 'x');
  const slow_reader server(body.size(), 4096);  // 12 s in all
  mds::runtime threads(1);
  const net::http_client client(threads, {.time = {.bytes_per_second = 1000, .window = 6s}});
  const outcome result = send(client, {.method = "PUT",
                                       .url = server.url() + "/x",
                                       .body = net::http_body::of(mds::as_bytes(body))});
  INFO(result.text());
  CHECK_FALSE(result.code);
}

TEST_CASE("an upload that stands still ends, to be repeated", "[net]") {
  const std::string body(500'000, 'x');
  const slow_reader server(body.size(), 0);
  mds::runtime threads(1);
  const net::http_client client(threads, {.time = {.bytes_per_second = 1000, .window = 2s}});
  const outcome result = send(client, {.method = "PUT",
                                       .url = server.url() + "/x",
                                       .body = net::http_body::of(mds::as_bytes(body))});
  CHECK(result.code == errc::unavailable);
  CHECK(result.text().find("the upload stood still for 2 s") != std::string::npos);
}

TEST_CASE("nobody listens", "[net]") {
  // Taken, so that nobody else listens there meanwhile.
  const int taken = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(::bind(taken, reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(::getsockname(taken, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  const std::string url = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  mds::runtime threads(1);
  const outcome result = send(net::http_client(threads), {.url = url + "/x?secret=1"});
  CHECK(result.code == errc::unavailable);
  CHECK(result.where.url == url + "/x");
  CHECK_FALSE(result.where.cause.empty());
  CHECK(result.text().find("secret") == std::string::npos);
  ::close(taken);
}

TEST_CASE("redirects are followed where asked, without credentials to others", "[net]") {
  scripted_server other(
      [](connection& to, const scripted_request&) { to.answer("200 OK", "other"); });
  scripted_server server([&](connection& to, const scripted_request& request) {
    if (request.target == "/end") return void(to.answer("200 OK", "end"));
    const std::string target = request.target == "/away" ? other.url() + "/there?q" : "/end";
    to.answer("302 Found", std::string(3000, 'r'), "Location: " + target + "\r\n");
  });
  mds::runtime threads(1);
  const net::http_client client(threads);
  const auto request = [&](const std::string& target, unsigned redirects) {
    return net::http_request{.url = server.url() + target,
                             .headers = {{"Authorization", "secret"},
                                         {"X-Amz-Security-Token", "secret"},
                                         {"Range", "bytes=0-9"}},
                             .redirects = redirects};
  };
  const outcome kept = send(client, request("/start?sig", 0));
  REQUIRE_FALSE(kept.code);
  CHECK(kept.answer.status == 302);
  const outcome near = send(client, request("/start", 1));
  REQUIRE_FALSE(near.code);
  CHECK(near.answer.text == "end");
  CHECK(server.requests().back().header("authorization") == "secret");
  net::http_request within = request("/start", 1);
  within.redirects_within = true;
  CHECK(send(client, std::move(within)).answer.text == "end");
  within = request("/away", 1);
  within.redirects_within = true;
  const outcome left = send(client, std::move(within));
  REQUIRE_FALSE(left.code);
  CHECK(left.answer.status == 302);
  CHECK(left.answer.leads_away);
  CHECK(other.requests().empty());
  const outcome away = send(client, request("/away", 1));
  REQUIRE_FALSE(away.code);
  CHECK(away.answer.text == "other");
  const scripted_request seen = other.requests().at(0);
  CHECK(seen.target == "/there?q");
  CHECK(seen.header("range") == "bytes=0-9");
  CHECK(seen.headers.count("authorization") == 0);
  CHECK(seen.headers.count("x-amz-security-token") == 0);
}

TEST_CASE("redirects lead to no other scheme, and end", "[net]") {
  std::atomic<int> seen{0};
  scripted_server server([&](connection& to, const scripted_request& request) {
    ++seen;
    const std::string target = request.target == "/loop"   ? "/loop"
                               : request.target == "/file" ? "file:///etc/passwd"
                                                           : "ftp://127.0.0.1/x";
    to.answer("301 Moved", "", "Location: " + target + "\r\n");
  });
  mds::runtime threads(1);
  const net::http_client client(threads);
  for (const char* target : {"/file", "/ftp"}) {
    const outcome result = send(client, {.url = server.url() + target, .redirects = 5});
    INFO(result.text());
    CHECK(result.code == errc::permission_denied);
    CHECK(result.answer.text.empty());
    const outcome left =
        send(client, {.url = server.url() + target, .redirects = 5, .redirects_within = true});
    CHECK(!left.code);
    CHECK(left.answer.leads_away);
  }
  seen = 0;
  const outcome loop = send(client, {.url = server.url() + "/loop", .redirects = 5});
  REQUIRE_FALSE(loop.code);
  CHECK(loop.answer.status == 301);
  CHECK(seen == 6);
  const outcome put = send(client, {.method = "PUT",
                                    .url = server.url() + "/loop",
                                    .body = net::http_body::of({}),
                                    .redirects = 5});
  CHECK(put.answer.status == 301);
}

// Whatever a server sends, a success has the right bytes.
TEST_CASE("answers of any bytes end, and none is taken for what it is not", "[net]") {
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const std::vector<std::string> pieces = {"HTTP/1.1 200 OK\r\n",
                                           "HTTP/1.1 206 Partial Content\r\n",
                                           "HTTP/1.0 200\r\n",
                                           "HTTP/1.1 100 Continue\r\n\r\n",
                                           "Content-Length: 10\r\n",
                                           "Content-Length: 99999999999999\r\n",
                                           "Content-Length: -1\r\n",
                                           "Transfer-Encoding: chunked\r\n",
                                           "Connection: close\r\n",
                                           "\r\n",
                                           "0123456789",
                                           "a\r\n0123456789\r\n0\r\n\r\n",
                                           "0\r\n\r\n",
                                           std::string("\0\xff", 2),
                                           " folded\r\n",
                                           "Location: /\r\n",
                                           "HTTP/1.1 301 Moved\r\n"};
  std::vector<std::string> answers;
  for (int i = 0; i < 400; ++i) {
    std::string answer = random() % 4 != 0 ? "HTTP/1.1 200 OK\r\n" : "";
    for (unsigned n = random() % 8; n > 0; --n) answer += pieces[random() % pieces.size()];
    answers.push_back(
        answer.substr(0, random() % 10 == 0 ? random() % (answer.size() + 1) : answer.size()));
  }
  // A redirect leads to "/", which has no number: the first answer.
  scripted_server server([&](connection& to, const scripted_request& request) {
    to.send(answers.at(std::strtoul(request.target.c_str() + 1, nullptr, 10) % answers.size()));
    to.close();
  });
  mds::runtime threads(1);
  const net::http_client client(threads, {.time = {.total = 5s}});
  for (std::size_t i = 0; i < answers.size(); ++i) {
    std::vector<std::byte> memory(64, std::byte{7});
    const outcome result =
        send(client, {.url = server.url() + "/" + std::to_string(i),
                      .sink = net::http_sink{.into = mds::mutable_bytes(memory).first(32)},
                      .redirects = 2});
    INFO(answers[i]);
    CHECK(std::all_of(memory.begin() + 32, memory.end(),
                      [](std::byte b) { return b == std::byte{7}; }));
    if (!result.code) CHECK(result.answer.received <= 32);
  }
}

}  // namespace http_hostile_test
