#include <mdstream/launch/environment.hpp>
#include <mdstream/store/http.hpp>

#include <mdstream/store/detail/streamed_read.hpp>

#include <mdstream/mdstream.hpp>
#include <mdstream/store/any_store.hpp>
#include <mdstream/store/limited.hpp>
#include <mdstream/store/local.hpp>
#include <mdstream/store/operations.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <future>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "store/conformance.hpp"
#include "store/forwarding.hpp"
#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/nginx.hpp"
#include "support/plain_dataset.hpp"
#include "support/scripted_server.hpp"

namespace http_store_test {

namespace mds = mdstream;
namespace net = mdstream::net;
using mds::errc;
using mds::store::http;
using scratch_directory::scratch;
using support::expect_error;
using support::scripted_request;
using support::scripted_server;
using connection = scripted_server::connection;

// Reads through the web server; what it cannot do goes to the directory that it serves.
struct served_directory : store_test::forwarding<mds::blocking<mds::store::local>> {
  served_directory(http server, mds::runtime& threads, const std::string& directory)
      : forwarding{{threads, mds::store::local(directory)}}, reads(std::move(server)) {}

  void async_size(std::string key, std::stop_token stop, mds::diagnostics& where,
                  mds::store_handler<std::uint64_t> done) const {
    reads.async_size(std::move(key), std::move(stop), where, std::move(done));
  }
  void async_read(std::string key, std::uint64_t offset, mds::mutable_bytes into,
                  std::stop_token stop, mds::diagnostics& where,
                  mds::store_handler<std::size_t> done) const {
    reads.async_read(std::move(key), offset, into, std::move(stop), where, std::move(done));
  }
  // The directory's tags are not the server's.
  void async_list(std::string prefix, std::stop_token stop, mds::diagnostics& where,
                  mds::store_handler<std::vector<mds::object_info>> done) const {
    inner.async_list(std::move(prefix), std::move(stop), where,
                     [done = std::move(done)](std::error_code code,
                                              std::vector<mds::object_info> found) mutable {
                       for (mds::object_info& each : found) each.tag.clear();
                       done(code, std::move(found));
                     });
  }
  [[nodiscard]] std::string url(std::string_view key) const { return reads.url(key); }

  http reads;
};

TEST_CASE("the store conforms over nginx, with and without TLS, ranges and HEAD", "[store]") {
  mds::runtime threads(2);
  for (const bool tls : {false, true}) {
    for (const char* way : {"", "/-norange", "/-nohead"}) {
      INFO((tls ? "https" : "http") << way);
      const scratch data, state;
      const support::nginx server(data.path(), state.path(), {.tls = tls});
      mds::store::http_options options;
      if (tls) options.client.ca_file = server.ca_file();
      const http reads(threads, server.url() + way + "/", options);
      conformance::check_store(served_directory(reads, threads, data.path()));
    }
  }
}

TEST_CASE("the store conforms over HTTP/2, and it is HTTP/2 that is spoken", "[store]") {
  mds::runtime threads(2);
  const scratch data, state;
  const support::nginx server(
      data.path(), state.path(),
      {.tls = true, .http2 = true, .lines = "add_header X-Protocol $server_protocol always;\n"});
  mds::store::http_options options;
  options.client.ca_file = server.ca_file();
  options.client.http2 = true;
  const http reads(threads, server.url(), options);
  conformance::check_store(served_directory(reads, threads, data.path()));

  std::promise<std::string> spoken;
  mds::diagnostics where;
  mds::net::http_client(threads, options.client)
      .async_send({.url = server.url() + "/x"}, {}, where,
                  [&](std::error_code, const mds::net::http_response& answer) {
                    spoken.set_value(std::string(answer.headers.find("X-Protocol").value_or("")));
                  });
  CHECK(spoken.get_future().get() == "HTTP/2.0");
}

TEST_CASE("a certificate that nobody vouches for is not trusted", "[store]") {
  mds::runtime threads(1);
  const scratch data, state;
  const support::nginx server(data.path(), state.path(), {.tls = true});
  expect_error([&] { (void)mds::store_size(http(threads, server.url()), "x"); },
               errc::permission_denied, {server.url() + "/x", "certificate"});
}

TEST_CASE("a loader streams a dataset over http through its cache", "[store]") {
  using policies = mds::policies<mds::any_store<mds::store::local, http>>;
  const scratch data, state, cache;
  const std::vector<std::uint64_t> shards{100, 3, 250, 1};
  support::write_plain_dataset(data / "train", shards);
  const support::nginx server(data.path(), state.path());
  mds::loader<policies> loader({.remote = server.url(),
                                .local = cache.path(),
                                .split = "train",
                                .batch_size = 10,
                                .seed = 1});
  std::set<std::int64_t> seen;
  for (auto& batch : loader.epoch()) {
    for (const std::int64_t id : batch.ids()) seen.insert(id);
  }
  CHECK(seen.size() == std::reduce(shards.begin(), shards.end()));
  CHECK(std::filesystem::exists(cache / "train/shard.00002.mds"));
}

TEST_CASE("what a web server cannot do is unsupported, and says so", "[store]") {
  mds::runtime threads(1);
  const http store(threads, "http://user:secret@127.0.0.1:1/root?signature=secret");
  const auto bytes = conformance::noise(3, 1);
  CHECK(store.url("a b") == "http://127.0.0.1:1/root/a%20b");
  expect_error([&] { mds::store_write(store, "x", bytes); }, errc::unsupported, {"written"});
  expect_error([&] { mds::store_remove(store, "x"); }, errc::unsupported, {"removed"});
  expect_error([&] { (void)mds::store_list(store, ""); }, errc::unsupported, {"listed"});
  const auto failure = support::error_of([&] { (void)mds::store_size(store, "x"); });
  REQUIRE(failure.has_value());
  CHECK(std::string(failure->what()).find("secret") == std::string::npos);
  expect_error([&] { http(threads, "http://a b/"); }, errc::invalid_argument);
  CHECK(http::serves("HTTPS://x"));
  CHECK_FALSE(http::serves("httpx://x"));
}

TEST_CASE("a URL without an http store in the policies names what serves which", "[store]") {
  expect_error([] { (void)mds::any_store<mds::store::local>::open("http://h/x"); },
               errc::unsupported, {"http", "local paths", "CMake target"});
}

TEST_CASE("keys, the URL's query and its user reach the server", "[store]") {
  scripted_server server([](connection& to, const scripted_request&) {
    to.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: \"one\"\r\n\r\n");
  });
  mds::runtime threads(1);
  const http store(threads,
                   "http://u:p@127.0.0.1:" + std::to_string(server.port()) + "/root/?sig=a%2Fb",
                   {.headers = {{"X-Key", "k"}}});
  CHECK(mds::store_size(store, "y=1/\xc3\xbc %+?#") == 5);
  const scripted_request seen = server.requests().at(0);
  CHECK(seen.method == "HEAD");
  CHECK(seen.target == "/root/y%3D1/%C3%BC%20%25%2B%3F%23?sig=a%2Fb");
  CHECK(seen.header("authorization") == "Basic dTpw");
  CHECK(seen.header("x-key") == "k");
}

// One answer for every request.
class one_answer {
 public:
  explicit one_answer(std::string answer)
      : server_([answer = std::move(answer)](connection& to, const scripted_request&) {
          to.send(answer);
          to.close();
        }),
        store_(threads_, server_.url()) {}

  std::size_t read(std::uint64_t offset, std::size_t count) {
    into_.assign(count, std::byte{7});
    return mds::store_read(store_, "key", offset, into_);
  }
  [[nodiscard]] std::string text(std::size_t count) const {
    return std::string(mds::as_text(into_).substr(0, count));
  }
  [[nodiscard]] std::uint64_t size() const { return mds::store_size(store_, "key"); }

 private:
  scripted_server server_;
  mds::runtime threads_{1};
  http store_;
  std::vector<std::byte> into_;
};

std::string partial(const std::string& range, const std::string& body,
                    const std::string& headers = "") {
  return "HTTP/1.1 206 Partial Content\r\nContent-Range: " + range +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + headers + "\r\n" + body;
}

TEST_CASE("a range is taken where it is the one that was asked for", "[store]") {
  one_answer whole(partial("bytes 10-14/100", "01234"));
  CHECK(whole.read(10, 5) == 5);
  CHECK(whole.text(5) == "01234");
  one_answer end(partial("bytes 10-12/13", "012"));
  CHECK(end.read(10, 5) == 3);
  one_answer unknown(partial("bytes 10-14/*", "01234"));
  CHECK(unknown.read(10, 5) == 5);
  one_answer beyond("HTTP/1.1 416 No\r\nContent-Range: bytes */10\r\nContent-Length: 0\r\n\r\n");
  CHECK(beyond.read(10, 5) == 0);
  one_answer chunked("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n0123\r\n0\r\n\r\n");
  CHECK(chunked.read(1, 5) == 3);
  CHECK(chunked.text(3) == "123");
}

TEST_CASE("a range is refused where it is another", "[store]") {
  for (const std::string& answer :
       {partial("bytes 0-4/100", "01234"), partial("bytes 11-15/100", "01234"),
        partial("bytes 10-15/100", "012345"), partial("bytes 10-12/100", "012"),
        partial("bytes 10-12/*", "012"), partial("bytes 10-14/12", "01234"),
        partial("bytes 10-14/100", "012"), partial("items 10-14/100", "01234"),
        partial("bytes */100", "01234"), partial("", "01234"),
        std::string("HTTP/1.1 206 Partial Content\r\nContent-Length: 5\r\n\r\n01234"),
        std::string("HTTP/1.1 204 No Content\r\n\r\n"),
        std::string(
            "HTTP/1.1 416 No\r\nContent-Range: bytes */100\r\nContent-Length: 0\r\n\r\n")}) {
    INFO(answer);
    one_answer server(answer);
    expect_error([&] { server.read(10, 5); }, errc::corrupt, {"/key"});
  }
  one_answer cut(
      "HTTP/1.1 206 P\r\nContent-Range: bytes 10-14/100\r\nContent-Length: 5\r\n\r\n012");
  expect_error([&] { cut.read(10, 5); }, errc::unavailable);
  one_answer endless("HTTP/1.1 206 P\r\nContent-Range: bytes 10-14/100\r\n\r\n01234567");
  expect_error([&] { endless.read(10, 5); }, errc::corrupt);
  one_answer without_end("HTTP/1.1 200 OK\r\n\r\n01234567");  // a broken connection looks the same
  expect_error([&] { without_end.read(5, 5); }, errc::unavailable);
}

TEST_CASE("where a refused range comes without a size, the server is asked for it", "[store]") {
  std::string size = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n";
  scripted_server server([&](connection& to, const scripted_request& request) {
    to.send(request.method == "HEAD" ? size : "HTTP/1.1 416 No\r\nContent-Length: 0\r\n\r\n");
  });
  mds::runtime threads(1);
  const http store(threads, server.url());
  std::vector<std::byte> into(5);
  CHECK(mds::store_read(store, "key", 10, into) == 0);
  expect_error([&] { (void)mds::store_read(store, "key", 9, into); }, errc::corrupt,
               {"refuses a range that the object has", "/key"});
  size = "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n";
  expect_error([&] { (void)mds::store_read(store, "key", 10, into); }, errc::not_found, {"/key"});
}

TEST_CASE("calls cost as many requests as the page says", "[store]") {
  bool answers_head = true;
  scripted_server server([&](connection& to, const scripted_request& request) {
    if (request.method == "HEAD") {
      to.send(answers_head ? "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
                           : "HTTP/1.1 405 No\r\n\r\n");
    } else {
      to.send(partial("bytes " + request.header("range").substr(6) + "/5",
                      request.header("range") == "bytes=0-0" ? "0" : "123"));
    }
  });
  mds::runtime threads(1);
  const http store(threads, server.url());
  std::vector<std::string> seen;
  const auto new_requests = [&] {
    std::vector<std::string> out;
    for (const scripted_request& each : server.requests())
      out.push_back(each.method + " " + each.header("range"));
    out.erase(out.begin(), out.begin() + std::ptrdiff_t(seen.size()));
    seen.insert(seen.end(), out.begin(), out.end());
    return out;
  };
  using list = std::vector<std::string>;
  std::vector<std::byte> into(3);
  CHECK(mds::store_read(store, "key", 1, into) == 3);
  CHECK(new_requests() == list{"GET bytes=1-3"});
  CHECK(mds::store_size(store, "key") == 5);
  CHECK(new_requests() == list{"HEAD "});
  answers_head = false;
  CHECK(mds::store_size(store, "key") == 5);
  CHECK(new_requests() == list{"HEAD ", "GET bytes=0-0"});
}

TEST_CASE("sizes come from a length, or are unknown", "[store]") {
  CHECK(one_answer("HTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n").size() == 17);
  CHECK(one_answer(partial("bytes 0-0/18446744073709551615", "0", "")).size() == 1);
  expect_error([] { (void)one_answer("HTTP/1.1 200 OK\r\n\r\n").size(); }, errc::unsupported,
               {"size"});
  expect_error([] { (void)one_answer("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n").size(); },
               errc::not_found, {"/key"});
  expect_error([] { (void)one_answer("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n").size(); },
               errc::permission_denied);
  const auto busy = support::error_of([] {
    (void)one_answer("HTTP/1.1 503 No\r\nRetry-After: 3\r\nContent-Length: 0\r\n\r\n").size();
  });
  REQUIRE(busy.has_value());
  CHECK(busy->code() == errc::unavailable);
  CHECK(busy->where().retry_after == std::chrono::seconds(3));
}

TEST_CASE("a stream goes on behind its last byte, with the version that it began with", "[store]") {
  std::atomic<int> broken{0};
  scripted_server server([&](connection& to, const scripted_request& request) {
    const std::string object = "0123456789";
    const std::size_t from = std::stoul(request.header("range").substr(6));
    CHECK((from == 0 || request.header("if-match") == "\"one\""));
    to.send("HTTP/1.1 206 P\r\nETag: \"one\"\r\nContent-Length: " + std::to_string(10 - from) +
            "\r\nContent-Range: bytes " + std::to_string(from) + "-9/10\r\n\r\n");
    const bool breaks = from + 3 < object.size();
    broken += breaks ? 1 : 0;
    to.send(object.substr(from, breaks ? 3 : std::string::npos));
    to.close();
  });
  mds::runtime threads(1);
  const http store(threads, server.url());
  const auto stream = [&](std::uint64_t most, const mds::byte_taker& take) {
    return mds::detail::wait_for<mds::object_version>([&](auto& where, auto done) {
      mds::detail::async_stream_resumed(threads, store, "key", most, take,
                                        {.attempts = 2, .pause = std::chrono::milliseconds(1)}, {},
                                        {}, where, std::move(done));
    });
  };
  std::string got;
  const mds::object_version found =
      stream(100, [&](const mds::object_version& version, mds::bytes_view bytes) {
        CHECK(version == mds::object_version{10, "\"one\""});
        got += mds::as_text(bytes);
      });
  CHECK(got == "0123456789");
  CHECK(broken == 3);
  CHECK(found == mds::object_version{10, "\"one\""});

  const std::size_t before = server.requests().size();
  expect_error(
      [&] {
        (void)stream(100, [](const auto&, mds::bytes_view) {
          throw mds::error(errc::no_space,
                           mds::diagnostics{.what = "cannot write", .url = "/data/key.tmp"});
        });
      },
      errc::no_space, {"cannot write (/data/key.tmp)"});
  CHECK(server.requests().size() == before + 1);  // what the taker throws is final
  expect_error(
      [&] {
        (void)stream(100, [](const auto&, mds::bytes_view) {
          throw mds::error(errc::no_space, "there is no room");
        });
      },
      errc::no_space, {"no room (" + server.url() + "/key)"});
}

TEST_CASE("a stream that nothing comes of is repeated as its budget allows, also at once",
          "[store]") {
  const bool at_once = GENERATE(false, true);
  scripted_server server([&](connection& to, const scripted_request&) {
    to.answer("503 Busy", "", at_once ? "Retry-After: 0\r\n" : "");
  });
  mds::runtime threads(1);
  const http store(threads, server.url());
  expect_error(
      [&] {
        (void)mds::detail::wait_for<mds::object_version>([&](auto& where, auto done) {
          mds::detail::async_stream_resumed(
              threads, store, "key", 100, [](const auto&, mds::bytes_view) {},
              {.attempts = 10, .pause = std::chrono::microseconds(1)}, mds::detail::retry_budget(2),
              {}, where, std::move(done));
        });
      },
      errc::unavailable, {"503", "the retry budget is spent"});
  CHECK(server.requests().size() == 3);
}

TEST_CASE("a store whose calls are limited hands out bytes as they come, so many at a time",
          "[store]") {
  std::atomic<int> under_way{0}, most{0}, patience{6000};
  scripted_server server([&](connection& to, const scripted_request&) {
    most = std::max(most.load(), ++under_way);
    // Until there are as many as may be, and some time for one more.
    while (most < 2 && --patience > 0 && to.wait(std::chrono::milliseconds(1))) {
    }
    to.wait(std::chrono::milliseconds(20));
    --under_way;
    to.answer("200 OK", "12345");
  });
  mds::runtime threads(1);
  const mds::any_async_store store(mds::limited(http(threads, server.url()), 2));
  REQUIRE(store.streams());
  constexpr int count = 10;
  std::vector<mds::diagnostics> where(count);
  std::vector<std::string> came(count);
  std::atomic<int> left{count}, failed{0};
  mds::detail::one_time_event all;
  for (std::size_t i = 0; i < count; ++i) {
    store.async_stream(
        "x", {}, 0, 10,
        [&came, i](const mds::object_version&, mds::bytes_view bytes) {
          came[i] += mds::as_text(bytes);
        },
        {}, where[i],
        [&](std::error_code code, const mds::object_version&) {
          if (code) ++failed;
          if (--left == 0) all.set();
        });
  }
  all.wait();
  CHECK(failed == 0);
  CHECK(came == std::vector<std::string>(count, "12345"));
  CHECK(most == 2);
  const mds::any_async_store whole(mds::limited(mds::blocking(threads, mds::store::local("/")), 2));
  CHECK_FALSE(whole.streams());
}

TEST_CASE("a stream of a changed object fails, and one of an empty object is empty", "[store]") {
  mds::runtime threads(1);
  scripted_server server([&](connection& to, const scripted_request& request) {
    if (request.target == "/empty") {
      return void(to.answer("416 No", "", "Content-Range: bytes */0\r\n"));
    }
    if (request.header("range") == "bytes=0-99") {
      to.send("HTTP/1.1 206 P\r\nContent-Length: 10\r\nContent-Range: bytes 0-9/10\r\n\r\n012");
      return to.close();
    }
    to.send(partial("bytes 3-10/11", "34567890"));
  });
  const http store(threads, server.url());
  const auto length_of = [&](const std::string& key) {
    std::size_t length = 0;
    mds::detail::wait_for<mds::object_version>([&](auto& where, auto done) {
      mds::detail::async_stream_resumed(
          threads, store, key, 100,
          [&](const auto&, mds::bytes_view bytes) { length += bytes.size(); },
          {.attempts = 3, .pause = std::chrono::milliseconds(1)}, {}, {}, where, std::move(done));
    });
    return length;
  };
  expect_error([&] { (void)length_of("key"); }, errc::corrupt, {"changed"});
  CHECK(length_of("empty") == 0);
}

// A read that holds a version.
mds::errc read_version(const http& store, const mds::object_version& version) {
  std::vector<std::byte> into(5);
  mds::diagnostics where;
  mds::detail::one_time_event ended;
  std::error_code result;
  store.async_read_version("key", version, 10, into, {}, where,
                           [&](std::error_code code, std::size_t) {
                             result = code;
                             ended.set();
                           });
  ended.wait();
  return static_cast<mds::errc>(result.value());
}

TEST_CASE("an object that changed between two ranges is noticed", "[store]") {
  scripted_server server([](connection& to, const scripted_request& request) {
    if (request.header("if-match") == "\"gone\"") return void(to.answer("412 No", ""));
    to.send(partial("bytes 10-14/100", "01234", "ETag: \"new\"\r\n"));
  });
  mds::runtime threads(1);
  const http store(threads, server.url());
  const auto none = mds::errc{};
  CHECK(read_version(store, {100, "\"new\""}) == none);
  CHECK(read_version(store, {100, ""}) == none);
  CHECK(read_version(store, {100, "\"old\""}) == errc::corrupt);
  CHECK(read_version(store, {99, "\"new\""}) == errc::corrupt);
  CHECK(read_version(store, {100, "\"gone\""}) == errc::corrupt);

  scripted_server shorter([](connection& to, const scripted_request&) {
    to.answer("416 No", "", "Content-Range: bytes */10\r\n");
  });
  const http shrunk(threads, shorter.url());
  CHECK(read_version(shrunk, {10, ""}) == none);
  CHECK(read_version(shrunk, {100, ""}) == errc::corrupt);
}

TEST_CASE("a redirected object is read, and its credentials stay", "[store]") {
  scripted_server far(
      [](connection& to, const scripted_request&) { to.send(partial("bytes 0-4/5", "01234")); });
  scripted_server near([&](connection& to, const scripted_request&) {
    to.answer("307 Moved", "", "Location: " + far.url() + "/x\r\n");
  });
  mds::runtime threads(1);
  const http store(threads, "http://u:p@127.0.0.1:" + std::to_string(near.port()),
                   {.headers = {{"X-Token", "t"}}});
  std::vector<std::byte> into(5);
  CHECK(mds::store_read(store, "key", 0, into) == 5);
  CHECK(mds::as_text(into) == "01234");
  const scripted_request seen = far.requests().at(0);
  CHECK(seen.headers.count("authorization") == 0);
  CHECK(seen.headers.count("x-token") == 0);
  CHECK(seen.header("range") == "bytes=0-4");
}

TEST_CASE("a redirect within a server keeps what was meant for it", "[store]") {
  scripted_server server([](connection& to, const scripted_request& request) {
    if (request.target == "/x") return void(to.send(partial("bytes 0-4/5", "01234")));
    to.answer("302 Moved", "", "Location: http://" + request.header("host") + "/x\r\n");
  });
  mds::runtime threads(1);
  const http store(threads, "http://u:p@127.0.0.1:" + std::to_string(server.port()),
                   {.headers = {{"X-Token", "t"}}});
  std::vector<std::byte> into(5);
  CHECK(mds::store_read(store, "key", 0, into) == 5);
  CHECK(server.requests().at(1).header("authorization") == "Basic dTpw");
  CHECK(server.requests().at(1).header("x-token") == "t");
}

}  // namespace http_store_test
