#include <mdstream/async/detail/socket_watch.hpp>
#include <mdstream/net/curl/loop.hpp>
#include <mdstream/net/http_client.hpp>

#include <curl/curl.h>
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "net/http_calls.hpp"
#include "support/catch.hpp"
#include "support/scripted_server.hpp"

// What a request says and what its answer becomes, where the server plays by the rules.
namespace http_client_test {

namespace mds = mdstream;
namespace net = mdstream::net;
using http_calls::call;
using http_calls::get;
using http_calls::outcome;
using http_calls::send;
using mds::errc;
using support::scripted_request;
using support::scripted_server;
using connection = scripted_server::connection;
using namespace std::chrono_literals;

// How many requests libcurl takes on this thread before it runs out of memory.
constexpr int any_number = -1;
thread_local int taken_requests = any_number;

TEST_CASE("what is sent is what the request says, byte for byte", "[net]") {
  scripted_server server([](connection& to, const scripted_request& request) {
    to.answer("200 OK", "answer to " + request.body, "X-One: 1\r\n");
  });
  mds::runtime threads(1);
  const net::http_client client(threads);
  const std::string sent = "the body";
  const outcome result = send(client, {.method = "PUT",
                                       .url = server.url() + "/a/../b/./%2F+c?y=%7e&x&x=",
                                       .headers = {{"X-Empty", ""}, {"Authorization", "token"}},
                                       .body = net::http_body::of(mds::as_bytes(sent))});
  REQUIRE_FALSE(result.code);
  CHECK(result.answer.status == 200);
  CHECK(result.answer.text == "answer to the body");
  CHECK(result.answer.headers.find("x-one") == "1");
  const scripted_request seen = server.requests().at(0);
  CHECK(seen.method == "PUT");
  CHECK(seen.target == "/a/../b/./%2F+c?y=%7e&x&x=");
  CHECK(seen.headers.count("x-empty") == 1);
  CHECK(seen.header("authorization") == "token");
  CHECK(seen.header("content-length") == "8");
  CHECK(seen.headers.count("expect") == 0);
  CHECK(seen.headers.count("content-type") == 0);
  CHECK(seen.headers.count("transfer-encoding") == 0);
}

TEST_CASE("bodies are pulled, or are nothing at all", "[net]") {
  scripted_server server([](connection& to, const scripted_request& request) {
    to.answer("200 OK", request.method + " " + std::to_string(request.body.size()) + " " +
                            request.header("content-length"));
  });
  mds::runtime threads(1);
  const net::http_client client(threads);
  std::size_t given = 0;
  const auto pull = [&given](mds::mutable_bytes into) {
    const std::size_t part = std::min<std::size_t>(into.size(), 1000);
    std::fill_n(into.begin(), part, std::byte{'x'});
    given += part;
    return part;
  };
  CHECK(send(client,
             {.method = "POST", .url = server.url(), .body = net::http_body::from(pull, 1'500'500)})
            .answer.text == "POST 1500500 1500500");
  CHECK(given >= 1'500'500);
  CHECK(send(client, {.method = "PUT", .url = server.url(), .body = net::http_body::of({})})
            .answer.text == "PUT 0 0");
  CHECK(send(client, {.method = "DELETE", .url = server.url()}).answer.text == "DELETE 0 ");
  const outcome ended = send(
      client, {.method = "PUT",
               .url = server.url(),
               .body = net::http_body::from([](mds::mutable_bytes) { return std::size_t{0}; }, 5)});
  CHECK(ended.code == errc::invalid_argument);
}

TEST_CASE("HEAD has headers and no body", "[net]") {
  scripted_server server([](connection& to, const scripted_request&) {
    to.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
  });
  mds::runtime threads(1);
  const net::http_client client(threads);
  for (int i = 0; i < 2; ++i) {
    const outcome result = send(client, {.method = "HEAD", .url = server.url()});
    REQUIRE_FALSE(result.code);
    CHECK(result.answer.headers.find("content-length") == "1000000");
  }
  CHECK(server.connections() == 1);
}

TEST_CASE("bodies of 2xx go into the sink, others are text", "[net]") {
  scripted_server server([](connection& to, const scripted_request& request) {
    if (request.target == "/no") return void(to.answer("404 Not Found", "no such thing"));
    to.send("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n");
    to.answer("200 OK", "0123456789");
  });
  mds::runtime threads(1);
  const net::http_client client(threads);
  const auto whole = get(client, server.url(), 16);
  REQUIRE_FALSE(whole.code);
  CHECK(mds::as_text(whole.bytes) == "0123456789");
  CHECK(whole.answer.text.empty());
  CHECK_FALSE(whole.answer.headers.find("Link").has_value());
  const auto missing = get(client, server.url() + "/no", 16);
  REQUIRE_FALSE(missing.code);
  CHECK(missing.answer.status == 404);
  CHECK(missing.answer.text == "no such thing");
  CHECK(missing.bytes.empty());
  std::vector<std::byte> part(4);
  const outcome middle = send(
      client,
      {.url = server.url(), .sink = net::http_sink{.into = part, .skip = 3, .until_full = true}});
  REQUIRE_FALSE(middle.code);
  CHECK(mds::as_text(part) == "3456");
  CHECK(middle.answer.received == 4);
}

// The server sends the rest only when the first bytes, less than a block, were handed out.
TEST_CASE("the bytes of a slow answer are handed out while it is under way", "[net]") {
  std::atomic<std::uint64_t> taken{0};
  const std::string body(60'000, 'x');
  scripted_server server([&](connection& to, const scripted_request&) {
    to.send("HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n" + body.substr(0, 50'000));
    while (taken < 50'000 && to.wait(5ms)) {
    }
    to.send(body.substr(50'000));
  });
  mds::runtime threads(1);
  const net::http_client client(threads);
  const auto get_into = [&](std::function<void(mds::bytes_view)> take) {
    taken = 0;
    return send(client, {.url = server.url() + "/x",
                         .sink = net::http_sink{.take = std::move(take), .most = body.size()}});
  };
  std::string got;
  const outcome slow = get_into([&](mds::bytes_view bytes) {
    got.append(mds::as_text(bytes));
    taken += bytes.size();
  });
  INFO(slow.text());
  CHECK_FALSE(slow.code);
  CHECK(slow.answer.received == body.size());
  CHECK(got == body);

  const outcome refused = get_into([](mds::bytes_view) {
    throw mds::error(errc::no_space, mds::diagnostics{.what = "the disk is full", .url = "a file"});
  });
  CHECK(refused.code == errc::no_space);
  CHECK(refused.where.url == "a file");
}

TEST_CASE("the head is shown before the body and may refuse it", "[net]") {
  scripted_server server([](connection& to, const scripted_request&) {
    to.answer("200 OK", "0123456789", "X-Kind: wrong\r\n");
  });
  mds::runtime threads(1);
  const net::http_client client(threads);
  std::vector<std::byte> into(10);
  net::http_request request{.url = server.url() + "/x?secret",
                            .sink = net::http_sink{.into = into}};
  request.on_head = [](const net::http_response& head, net::http_sink&, mds::diagnostics& where) {
    where.what = "the kind is " + std::string(*head.headers.find("X-Kind"));
    return make_error_code(errc::schema_mismatch);
  };
  const outcome result = send(client, std::move(request));
  CHECK(result.code == errc::schema_mismatch);
  CHECK(result.where.what == "the kind is wrong");
  CHECK(result.where.url == server.url() + "/x");
  CHECK(into.front() == std::byte{0});
}

TEST_CASE("a status becomes a failure that says what the server wants", "[net]") {
  net::http_response answer{.status = 503};
  REQUIRE(answer.headers.add_line("Retry-After: 7"));
  mds::diagnostics where;
  CHECK(net::failure_of(answer, "https://u:p@h/x?sig=1", where) == errc::unavailable);
  CHECK(where.retry_after == 7s);
  CHECK(where.url == "https://h/x");
  CHECK(where.what.find("503") != std::string::npos);
  const auto code = [](int status) { return net::error_of_status(status); };
  CHECK_FALSE(code(206));
  CHECK(code(404) == errc::not_found);
  CHECK(code(403) == errc::permission_denied);
  CHECK(code(429) == errc::unavailable);
  CHECK(code(500) == errc::unavailable);
  CHECK(code(501) == errc::unsupported);
  CHECK(code(416) == errc::out_of_range);
  CHECK(code(418) == errc::invalid_argument);
  CHECK(code(302) == errc::unsupported);
}

TEST_CASE("many requests share few connections", "[net]") {
  scripted_server server(
      [](connection& to, const scripted_request& request) { to.answer("200 OK", request.target); });
  mds::runtime threads(1);
  const net::http_client client(threads, {.connections = 4});
  std::vector<call> calls;
  for (int i = 0; i < 300; ++i) {
    calls.emplace_back(client, net::http_request{.url = server.url() + "/" + std::to_string(i)});
  }
  for (int i = 0; i < 300; ++i) {
    const outcome& result = calls[static_cast<std::size_t>(i)].wait();
    REQUIRE_FALSE(result.code);
    CHECK(result.answer.text == "/" + std::to_string(i));
  }
  CHECK(server.connections() <= 4);
}

TEST_CASE("a connection that the server has closed is replaced, also for a body", "[net]") {
  scripted_server server([](connection& to, const scripted_request& request) {
    to.answer("200 OK", request.body);
    to.close();
  });
  mds::runtime threads(1);
  const net::http_client client(threads);
  const std::string sent(200'000, 'b');
  for (int i = 0; i < 5; ++i) {
    const outcome result = send(
        client,
        {.method = "PUT", .url = server.url(), .body = net::http_body::of(mds::as_bytes(sent))});
    REQUIRE_FALSE(result.code);
    CHECK(result.answer.text == sent);
    // The answer comes before the end of its connection: what is sent in between may meet a reset.
    while (server.open_connections() > 0) std::this_thread::yield();
  }
  CHECK(server.connections() == 5);
}

// The request came, and its connection, which had served another before, ends without an answer:
// the server may have closed it at that moment, and libcurl asks again on a new one.
TEST_CASE("a body that goes again on another connection begins with its first byte", "[net]") {
  std::atomic<int> requests{0};
  scripted_server server([&](connection& to, const scripted_request& request) {
    if (++requests % 3 == 2) return to.close();
    to.answer("200 OK", request.body);
  });
  mds::runtime threads(1);
  const net::http_client client(threads);
  std::string sent(200'000, ' ');
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>('a' + i % 23);
  const auto put = [&](net::http_body body) {
    return send(client, {.method = "PUT", .url = server.url(), .body = std::move(body)});
  };
  REQUIRE_FALSE(put(net::http_body::of({})).code);
  const outcome again = put(net::http_body::of(mds::as_bytes(sent)));
  INFO(again.text());
  REQUIRE_FALSE(again.code);
  CHECK(again.answer.text == sent);
  CHECK(requests == 3);
  for (const scripted_request& each : server.requests())
    CHECK((each.body.empty() || each.body == sent));

  // What was pulled cannot be pulled again: the request fails, and nothing short is sent.
  REQUIRE_FALSE(put(net::http_body::of({})).code);
  std::size_t at = 0;
  const outcome pulled = put(net::http_body::from(
      [&](mds::mutable_bytes into) {
        const std::size_t some = std::min(into.size(), sent.size() - at);
        std::memcpy(into.data(), sent.data() + at, some);
        at += some;
        return some;
      },
      sent.size()));
  CHECK(pulled.code == errc::unavailable);
  CHECK(server.requests().back().body == sent);
}

TEST_CASE("a proxy gets the whole URL", "[net]") {
  scripted_server proxy(
      [](connection& to, const scripted_request& request) { to.answer("200 OK", request.target); });
  mds::runtime threads(1);
  const net::http_client client(threads, {.proxy = proxy.url()});
  const outcome result = send(client, {.url = "http://nowhere.invalid/a?b"});
  REQUIRE_FALSE(result.code);
  CHECK(result.answer.text == "http://nowhere.invalid/a?b");
}

TEST_CASE("requests that no server shall see are refused", "[net]") {
  mds::runtime threads(1);
  const net::http_client client(threads);
  for (const char* url : {"file:///etc/passwd", "ftp://u:secret@h/x", "http://", "gopher://h", "",
                          "http://h/ x", "http://h/#f"}) {
    INFO(url);
    const outcome result = send(client, {.url = url});
    CHECK(result.code == errc::invalid_argument);
    CHECK(result.text().find("secret") == std::string::npos);
  }
  const outcome smuggled =
      send(client, {.url = "http://h/", .headers = {{"X", "secret\r\nInjected: yes"}}});
  CHECK(smuggled.code == errc::invalid_argument);
  CHECK(smuggled.text().find("secret") == std::string::npos);
}

TEST_CASE("a stop ends a request wherever it is", "[net]") {
  std::atomic<int> seen{0};
  scripted_server server([&](connection& to, const scripted_request& request) {
    if (request.target == "/body") to.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345");
    ++seen;
    to.wait(20s);
    to.close();
  });
  mds::runtime threads(1);
  const net::http_client client(threads, {.connections = 2});
  std::stop_source stop;
  std::vector<std::byte> into(10);
  const call head(client, {.url = server.url() + "/head"}, stop.get_token());
  const call body(client, {.url = server.url() + "/body", .sink = net::http_sink{.into = into}},
                  stop.get_token());
  const call queued(client, {.url = server.url() + "/queued"}, stop.get_token());
  while (seen < 2) std::this_thread::sleep_for(1ms);
  stop.request_stop();
  for (const call* each : {&head, &body, &queued}) {
    CHECK(each->wait().code == errc::canceled);
    CHECK(each->wait().where.url.starts_with(server.url()));
  }
  CHECK(send(client, {.url = server.url()}, stop.get_token()).code == errc::canceled);
  CHECK(server.requests().size() == 2);
}

TEST_CASE("stops race with answers, and each request completes once", "[net]") {
  scripted_server server([](connection& to, const scripted_request&) { to.answer("200 OK", "x"); });
  mds::runtime threads(1);
  const net::http_client client(threads, {.connections = 8});
  for (int round = 0; round < 40; ++round) {
    std::stop_source stop;
    std::vector<call> calls;
    for (int i = 0; i < 16; ++i) {
      calls.emplace_back(client, net::http_request{.url = server.url()}, stop.get_token());
    }
    std::thread stopper([&] { stop.request_stop(); });
    for (const call& each : calls) {
      const outcome& result = each.wait();
      CHECK((!result.code || result.code == errc::canceled));
      if (!result.code) CHECK(result.answer.text == "x");
    }
    stopper.join();
  }
}

TEST_CASE("clients and runtimes may go while requests are under way", "[net]") {
  scripted_server server([](connection& to, const scripted_request& request) {
    if (request.target == "/wait") to.wait(50ms);
    to.answer("200 OK", "x");
  });
  mds::diagnostics where;
  {
    mds::runtime threads(1);
    std::vector<call> calls;
    {
      const net::http_client client(threads, {.connections = 2});
      for (int i = 0; i < 6; ++i)
        calls.emplace_back(client, net::http_request{.url = server.url() + "/wait"});
    }
    for (const call& each : calls) CHECK_FALSE(each.wait().code);
    const net::http_client client(threads);
    for (int i = 0; i < 6; ++i) {  // dropped with the runtime
      client.async_send({.url = server.url() + "/wait"}, {}, where,
                        [](std::error_code, net::http_response) {});
    }
    while (server.requests().size() <= 6) std::this_thread::sleep_for(1ms);
  }
}

TEST_CASE("requests that wait when their runtime ends let go of what they hold", "[net]") {
  scripted_server server([](connection& to, const scripted_request&) { to.wait(20s); });
  mds::diagnostics where;
  const auto held = std::make_shared<int>(0);
  {
    mds::runtime threads(1);
    const auto client =
        std::make_shared<net::http_client>(threads, net::http_client_options{.connections = 1});
    for (int i = 0; i < 3; ++i) {  // each holds the client that holds its queue
      client->async_send({.url = server.url()}, {}, where,
                         [client, held](std::error_code, net::http_response) {});
    }
    while (server.requests().empty()) std::this_thread::sleep_for(1ms);
  }
  CHECK(held.use_count() == 1);
}

TEST_CASE("requests are dealt to all io threads, and keep to the client's limit", "[net]") {
  std::atomic<int> now{0}, most{0}, patience{6000};
  scripted_server server([&](connection& to, const scripted_request&) {
    const int in_flight = ++now;
    for (int seen = most; in_flight > seen && !most.compare_exchange_weak(seen, in_flight);) {
    }
    // Until there are as many as may be, and some time for one more.
    while (most < 4 && --patience > 0 && to.wait(1ms)) {
    }
    to.wait(2ms);
    --now;
    to.answer("200 OK", "x");
  });
  mds::runtime threads(1, 3);
  const net::http_client client(threads, {.connections = 4});
  std::mutex mutex;
  std::set<std::thread::id> seen;
  std::vector<mds::diagnostics> where(60);
  std::latch ended(60);
  for (auto& each : where) {
    client.async_send({.url = server.url()}, {}, each,
                      [&](std::error_code code, const net::http_response& answer) {
                        const std::lock_guard lock(mutex);
                        CHECK_FALSE(code);
                        CHECK(answer.text == "x");
                        seen.insert(std::this_thread::get_id());
                        ended.count_down();
                      });
  }
  ended.wait();
  CHECK(seen.size() == 3);
  CHECK(most == 4);
}

/// A socket that the system does not watch, as where fs.epoll.max_user_watches is reached.
struct refusing_watch {
  refusing_watch(asio::io_context&, int) {
    throw std::system_error(std::make_error_code(std::errc::no_space_on_device));
  }
  void release() {}
  template <class Ready>
  void wait_readable(Ready) {}
  template <class Ready>
  void wait_writable(Ready) {}
};

TEST_CASE("a socket that cannot be watched is a failure of its request", "[net]") {
  scripted_server server([](connection& to, const scripted_request&) { to.answer("200 OK", "x"); });
  asio::io_context io;
  mds::diagnostics where;
  std::error_code result;
  const auto transfer = std::make_shared<net::detail::http_transfer>(
      net::http_request{.url = server.url()}, std::make_shared<net::http_client_options>(),
      std::stop_token(), where, [&](std::error_code code, const net::http_response&) {
        result = code;
        io.stop();
      });
  {
    net::detail::basic_curl_loop<refusing_watch> loop(io);
    loop.start(transfer, [] {});
    io.run_for(60s);
  }
  CHECK(result == errc::io_error);
  CHECK(where.what.find("watch") != std::string::npos);
}

struct counting_watch : mds::detail::socket_watch {
  static inline int made = 0;
  counting_watch(asio::io_context& io, int socket) : socket_watch(io, socket) { ++made; }
};

TEST_CASE("the requests of a connection share one watch of its socket", "[net]") {
  scripted_server server([](connection& to, const scripted_request&) { to.answer("200 OK", "x"); });
  asio::io_context io;
  mds::diagnostics where;
  int good = 0;
  {
    net::detail::basic_curl_loop<counting_watch> loop(io);
    std::function<void()> next = [&] {
      const auto transfer = std::make_shared<net::detail::http_transfer>(
          net::http_request{.url = server.url()}, std::make_shared<net::http_client_options>(),
          std::stop_token(), where, [&](std::error_code code, const net::http_response&) {
            good += code ? 0 : 1;
            good < 5 && !code ? next() : io.stop();
          });
      loop.start(transfer, [] {});
    };
    next();
    io.run_for(60s);
  }
  CHECK(good == 5);
  CHECK(counting_watch::made == 1);
}

TEST_CASE("a redirect that libcurl does not take fails with libcurl's reason", "[net]") {
  scripted_server server([](connection& to, const scripted_request&) {
    to.answer("302 Moved", "", "Location: /x\r\n");
  });
  asio::io_context io;
  mds::diagnostics where;
  std::error_code result;
  const auto transfer = std::make_shared<net::detail::http_transfer>(
      net::http_request{.url = server.url(), .redirects = 2},
      std::make_shared<net::http_client_options>(), std::stop_token(), where,
      [&](std::error_code code, const net::http_response&) {
        result = code;
        io.stop();
      });
  {
    net::detail::curl_loop loop(io);
    taken_requests = 1;
    loop.start(transfer, [] {});
    io.run_for(60s);
    taken_requests = any_number;
  }
  CHECK(result == errc::io_error);
  CHECK(where.what == "libcurl does not take the request");
  CHECK(where.cause == curl_multi_strerror(CURLM_OUT_OF_MEMORY));
  CHECK(server.requests().size() == 1);
}

TEST_CASE("where an address of a name refuses, the next one is asked", "[net]") {
  scripted_server server([](connection& to, const scripted_request&) { to.answer("200 OK", "x"); });
  const std::string port = server.url().substr(server.url().rfind(':') + 1);
  const std::string addresses = "two.invalid:" + port + ":127.0.0.2,127.0.0.1";
  const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> resolved(
      curl_slist_append(nullptr, addresses.c_str()), &curl_slist_free_all);
  asio::io_context io;
  mds::diagnostics where;
  std::error_code result = mds::make_error_code(errc::canceled);
  const auto transfer = std::make_shared<net::detail::http_transfer>(
      net::http_request{.url = "http://two.invalid:" + port},
      std::make_shared<net::http_client_options>(), std::stop_token(), where,
      [&](std::error_code code, const net::http_response&) {
        result = code;
        io.stop();
      });
  {
    net::detail::curl_loop loop(io);
    loop.start(transfer, [] {});
    curl_easy_setopt(transfer->easy(), CURLOPT_RESOLVE, resolved.get());
    io.run_for(60s);
  }
  CHECK_FALSE(result);
}

}  // namespace http_client_test

// In the place of libcurl's.
extern "C" CURLMcode curl_multi_add_handle(CURLM* multi, CURL* easy) {
  using function = CURLMcode (*)(CURLM*, CURL*);
  static const auto taken = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "curl_multi_add_handle"));
  int& left = http_client_test::taken_requests;
  if (left == 0) return CURLM_OUT_OF_MEMORY;
  if (left > 0) --left;
  return taken(multi, easy);
}
