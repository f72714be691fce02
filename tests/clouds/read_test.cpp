#include <mdstream/store/detail/cloud/read.hpp>

#include <mdstream/store/detail/streamed_read.hpp>
#include <mdstream/store/gs.hpp>
#include <mdstream/store/operations.hpp>

#include <string>

#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/scripted_server.hpp"

namespace clouds_read_test {

namespace mds = mdstream;
using mds::errc;
using support::expect_error;

constexpr const char* right_crc = "x-goog-hash: crc32c=4waSgw==\r\n";  // of 123456789
constexpr const char* wrong_crc = "x-goog-hash: crc32c=AAAAAA==\r\n";

std::string whole(const char* crc, const std::string& bytes = "123456789") {
  return "HTTP/1.1 206 P\r\nContent-Length: 9\r\nContent-Range: bytes 0-8/9\r\nETag: \"e\"\r\n" +
         std::string(crc) + "\r\n" + bytes;
}

struct bucket {
  explicit bucket(support::scripted_server::script script)
      : server(std::move(script)),
        store(threads, "gs://bucket",
              {{.endpoint = server.url(),
                .credentials = mds::net::anonymous_access(),
                .variables = [](const std::string&) { return std::nullopt; }}}) {}

  support::scripted_server server;
  mds::runtime threads{1};
  mds::store::gs store;

  std::string read() {
    std::string out(9, ' ');
    mds::store_read(store, "x", 0, {reinterpret_cast<std::byte*>(out.data()), out.size()});
    return out;
  }
  std::string streamed() {
    std::string out;
    mds::detail::wait_for<mds::object_version>([&](mds::diagnostics& where, auto done) {
      mds::detail::async_stream_resumed(
          threads, mds::any_async_store(store), "x", 100,
          [&](const mds::object_version& found, mds::bytes_view bytes) {
            CHECK(found.bytes == 9);
            out += mds::as_text(bytes);
          },
          {.attempts = 3, .pause = std::chrono::milliseconds(1)}, {}, {}, where, std::move(done));
    });
    return out;
  }
};

TEST_CASE("an object that comes whole is held against its checksum", "[clouds]") {
  bucket right([](auto& to, const auto&) { to.send(whole(right_crc)); });
  CHECK(right.read() == "123456789");
  CHECK(right.streamed() == "123456789");
  std::atomic<int> asked = 0;
  bucket wrong([&](auto& to, const auto&) {
    ++asked;
    to.send(whole(wrong_crc));
  });
  expect_error([&] { (void)wrong.read(); }, errc::corrupt, {"CRC32C", "gs://bucket/x"});
  expect_error([&] { (void)wrong.streamed(); }, errc::corrupt, {"CRC32C", "gs://bucket/x"});
  CHECK(asked == 2);  // what was handed out is not asked for again
}

TEST_CASE("a stream goes on where the connection broke, without a checksum of the whole",
          "[clouds]") {
  bucket broken([](auto& to, const auto& request) {
    if (request.header("range") == "bytes=0-99") {
      to.send(whole(wrong_crc, "12345"));
    } else if (request.header("range") == "bytes=5-99") {
      to.send(
          "HTTP/1.1 206 P\r\nContent-Length: 4\r\nContent-Range: bytes 5-8/9\r\nETag: \"e\"\r\n" +
          std::string(wrong_crc) + "\r\n6789");
    }
    to.close();
  });
  CHECK(broken.streamed() == "123456789");
}

TEST_CASE("a range ends where 64 bits do", "[clouds]") {
  constexpr std::uint64_t most = ~std::uint64_t{0};
  using question = mdstream::detail::range_question;
  CHECK(question{0, 1, {}}.header() == "bytes=0-0");
  CHECK(question{10, 5, {}}.header() == "bytes=10-14");
  CHECK(question{most - 1, 2, {}}.header() == "bytes=18446744073709551614-18446744073709551615");
  CHECK(question{most - 1, 9, {}}.header() == "bytes=18446744073709551614-18446744073709551615");
  CHECK(question{most, most, {}}.header() == "bytes=18446744073709551615-18446744073709551615");
}

}  // namespace clouds_read_test
