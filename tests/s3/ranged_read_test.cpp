#include <mdstream/core/json/value.hpp>
#include <mdstream/store/detail/cloud/read.hpp>

#include <mdstream/store/detail/ranged_read.hpp>
#include <mdstream/store/retrying.hpp>
#include <mdstream/store/s3.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "s3/with_fake.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/scripted_server.hpp"

namespace s3_ranged_read_test {

using namespace with_fake;

/// What a read of bytes 2 to 5 gives when the server answers so.
std::string read_of(answer given) {
  mds::runtime threads(1);
  fake_s3::server fake;
  fake.instead = [given](const question&) { return given; };
  std::vector<std::byte> into(4);
  const std::size_t got =
      mds::store_read(s3(threads, fake.s3_url(), options_for(fake)), "x", 2, into);
  return std::string(mds::as_text(mds::bytes_view(into).first(got)));
}

TEST_CASE("the bytes of a range are those of the object", "[s3]") {
  CHECK(read_of({206, "2345", "Content-Range: bytes 2-5/10\r\n"}) == "2345");
  CHECK(read_of({206, "234", "Content-Range: bytes 2-4/5\r\n"}) == "234");
  CHECK(read_of({200, "0123456789"}) == "2345");  // a server without ranges
  CHECK(read_of({200, "012"}) == "2");
  CHECK(read_of({416, "", "Content-Range: bytes */2\r\n"}).empty());
  CHECK(read_of({416, "", ""}).empty());
}

TEST_CASE("a range that breaks off tells what came before", "[s3]") {
  mds::runtime threads(1);
  support::scripted_server server([](auto& to, const auto&) {
    to.send("HTTP/1.1 206 P\r\nContent-Length: 4\r\nContent-Range: bytes 2-5/10\r\n\r\n234");
    to.close();
  });
  const s3 store(threads, "s3://bucket",
                 {.endpoint = server.url(),
                  .credentials = mds::net::anonymous_aws_credentials(),
                  .variables = [](std::string_view) { return std::optional<std::string>(); }});
  std::vector<std::byte> into(4);
  mds::diagnostics where;
  std::promise<std::pair<std::error_code, std::size_t>> ended;
  store.async_read("x", 2, into, {}, where,
                   [&](std::error_code code, std::size_t got) { ended.set_value({code, got}); });
  const auto [code, got] = ended.get_future().get();
  CHECK(code == errc::unavailable);
  CHECK(got == 3);
  CHECK(where.url == "s3://bucket/x");
}

TEST_CASE("an error where the bytes go names that place, not the object", "[s3]") {
  mds::runtime threads(1);
  fake_s3::server fake;
  fake.put("x", "0123456789");
  const s3 store(threads, fake.s3_url(), options_for(fake));
  const auto stream = [&](const mds::diagnostics& failure) {
    (void)mds::detail::wait_for<mds::object_version>([&](mds::diagnostics& where, auto done) {
      store.async_stream(
          "x", {}, 0, 10,
          [&](const auto&, mds::bytes_view) { throw mds::error(errc::no_space, failure); }, {},
          where, std::move(done));
    });
  };
  const auto reported_url = [&](const mds::diagnostics& failure) {
    const auto e = support::error_of([&] { stream(failure); });
    REQUIRE(e);
    CHECK(e->code() == errc::no_space);
    return e->where().url;
  };
  CHECK(reported_url({.what = "cannot write", .url = "/data/x.tmp"}) == "/data/x.tmp");
  CHECK(reported_url({.what = "there is no room"}) == "s3://bucket/x");
}

TEST_CASE("an answer that is not what was asked for is refused", "[s3]") {
  for (const answer& lie :
       {answer{206, "2345", "Content-Range: bytes 3-6/10\r\n"},
        answer{206, "2345678", "Content-Range: bytes 2-8/10\r\n"},
        answer{206, "23", "Content-Range: bytes 2-3/10\r\n"}, answer{206, "2345", ""},
        answer{206, "2345", "Content-Range: bytes 2-5\r\n"},
        answer{206, "23456", "Content-Range: bytes 2-5/10\r\n"},
        answer{206, "234", "Content-Range: bytes 2-5/10\r\n"}}) {
    INFO(lie.headers << lie.body);
    expect_error([&] { (void)read_of(lie); }, errc::corrupt, {"s3://bucket/x"});
  }
  expect_error([] { (void)read_of({416, "", "Content-Range: bytes */9\r\n"}); }, errc::corrupt);
}

TEST_CASE("an object that shrank below a range is not that version's end", "[s3]") {
  mds::runtime threads(1);
  fake_s3::server fake;
  fake.put("x", "01");
  const s3 store(threads, fake.s3_url(), options_for(fake));
  const auto read = [&](std::uint64_t bytes) {
    return mds::detail::wait_for<std::size_t>([&](mds::diagnostics& where, auto done) {
      static std::array<std::byte, 4> into;
      store.async_read_version("x", {.bytes = bytes}, 2, into, {}, where, std::move(done));
    });
  };
  CHECK(read(2) == 0);
  expect_error([&] { (void)read(6); }, errc::corrupt, {"changed"});
}

TEST_CASE("an object that changed under its ranges is not asked for again", "[s3]") {
  mds::runtime threads(2);
  fake_s3::server fake;
  fake.put("x", std::string(100, 'a'));
  int gets = 0;
  fake.afterwards = [&](const question& asked, answer&) {
    if (asked.raw.method == "GET" && ++gets == 1) fake.changed("x", std::string(100, 'b'));
  };
  const mds::retry_policy often{.attempts = 8, .pause = std::chrono::microseconds(10)};
  const mds::retrying store(threads, s3(threads, fake.s3_url(), options_for(fake)), often);
  const auto held = mds::detail::wait_for<mds::object_version>(
      [&](auto& where, auto done) { store.async_version("x", {}, where, std::move(done)); });
  std::vector<std::byte> into(100);
  const auto read = [&] {
    mds::detail::wait_for<>([&](auto& where, auto done) {
      mds::detail::async_read_ranges(threads, store, "x", held, into,
                                     {.range_bytes = 10, .at_once = 1, .retry = often}, {}, where,
                                     std::move(done));
    });
  };
  expect_error(read, errc::corrupt, {"changed", "another version", "s3://bucket/x"});
  CHECK(gets == 2);
  fake.put("x", std::string(99, 'c'));
  expect_error(read, errc::corrupt, {"changed", "s3://bucket/x"});
  CHECK(gets == 3);
}

TEST_CASE("no redirect takes the keys elsewhere", "[s3]") {
  fake_s3::server other;
  expect_error([&] { (void)read_of({302, "", "Location: " + other.url() + "/bucket/x\r\n"}); },
               errc::unsupported);
  expect_error([&] { (void)read_of({307, "", "Location: file:///etc/passwd\r\n"}); },
               errc::unsupported);
  CHECK(other.requests().empty());
}

}  // namespace s3_ranged_read_test
