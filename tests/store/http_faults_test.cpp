// A web server that fails by chance, with a seed, in every way that a server can; every byte right.

#include <mdstream/core/detail/crc32c.hpp>
#include <mdstream/store/any_store.hpp>
#include <mdstream/store/detail/digest.hpp>
#include <mdstream/store/detail/ranged_read.hpp>
#include <mdstream/store/detail/streamed_read.hpp>
#include <mdstream/store/hedged.hpp>
#include <mdstream/store/http.hpp>
#include <mdstream/store/limited.hpp>
#include <mdstream/store/retrying.hpp>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "store/conformance.hpp"
#include "support/catch.hpp"
#include "support/scripted_server.hpp"
#include "support/seed.hpp"

namespace http_faults_test {

namespace mds = mdstream;
using mds::store::http;
using support::scripted_request;
using support::scripted_server;
using connection = scripted_server::connection;
using namespace std::chrono_literals;

class failing_server {
 public:
  failing_server(std::string object, std::uint64_t seed)
      : object_(std::move(object)),
        random_(seed),
        server_([this](connection& to, const scripted_request& request) { answer(to, request); }) {}

  [[nodiscard]] std::string url() const { return server_.url(); }
  [[nodiscard]] std::size_t faults() const {
    const std::lock_guard lock(mutex_);
    return faults_;
  }

 private:
  // Three of ten requests fail.
  unsigned dice() {
    const std::lock_guard lock(mutex_);
    const auto thrown = static_cast<unsigned>(random_() % 30);
    faults_ += thrown < 9 ? 1 : 0;
    return thrown;
  }

  void answer(connection& to, const scripted_request& request) {
    const std::string size = std::to_string(object_.size());
    if (request.method == "HEAD") {
      to.send("HTTP/1.1 200 OK\r\nETag: \"one\"\r\nContent-Length: " + size + "\r\n\r\n");
      return;
    }
    const std::string range = request.header("range").substr(6);
    const std::size_t first = std::stoul(range), dash = range.find('-');
    const std::size_t last = std::min(std::stoul(range.substr(dash + 1)), object_.size() - 1);
    const std::string body = object_.substr(first, last - first + 1);
    const auto head = [&](std::size_t from, std::size_t length) {
      return "HTTP/1.1 206 P\r\nETag: \"one\"\r\nContent-Range: bytes " + std::to_string(from) +
             '-' + std::to_string(from + body.size() - 1) + '/' + size +
             "\r\nContent-Length: " + std::to_string(length) + "\r\n\r\n";
    };
    const std::string half = body.substr(0, body.size() / 2);
    switch (dice()) {
      case 0: return void(to.answer("503 Busy", "", "Retry-After: 0\r\n"));
      case 1: return void(to.answer("500 Oh", "what"));
      case 2: return to.close();
      case 3: return to.reset();
      case 4: return void(to.send(head(first, body.size()) + half)), to.close();
      case 5: return void(to.send(head(first, body.size()) + half)), to.reset();
      case 6: return void(to.send(head(first + 1, body.size()) + body)), to.close();
      case 7: return void(to.send("HTTP/1.1 206 P\r\nContent-Le")), to.close();
      case 8: return void(to.send(head(first, body.size() + 1) + body + "x")), to.close();
      default: to.send(head(first, body.size()) + body);
    }
  }

  const std::string object_;
  mutable std::mutex mutex_;
  std::mt19937_64 random_;
  std::size_t faults_ = 0;
  scripted_server server_;  // last: its threads use what stands above
};

TEST_CASE("hundreds of faults of a web server, and every byte right", "[store]") {
  const std::uint64_t seed = support::test_seed();
  INFO("seed " << seed);
  const auto bytes = conformance::noise(20'000, static_cast<unsigned>(seed));
  failing_server server(std::string(mds::as_text(mds::bytes_view(bytes))), seed);
  const std::string checksum = mds::detail::digest_of_crc32c(mds::detail::crc32c(bytes));
  mds::runtime threads(2, 2);
  const http web(threads, server.url());
  const mds::retry_policy patience{
      .attempts = 30, .pause = 10us, .jitter = mds::retry_jitter::decorrelated};
  const mds::detail::shared_retry_budget budget(mds::detail::retry_budget(1e6));
  const mds::retrying store(threads, mds::adaptive(mds::hedged(threads, web)), patience, budget);
  while (server.faults() < 500) {
    std::vector<std::byte> got(bytes.size());
    CHECK(mds::store_read(store, "key", 0, got) == got.size());
    CHECK(got == bytes);

    for (const bool streams : {false, true}) {
      std::fill(got.begin(), got.end(), std::byte{0});
      auto into = mds::detail::ranged_target::memory(got);
      if (streams) {
        into.put = [&got](std::uint64_t at, mds::bytes_view some) {
          std::copy(some.begin(), some.end(), got.begin() + static_cast<std::ptrdiff_t>(at));
        };
      }
      mds::detail::wait_for<>([&](auto& where, auto done) {
        mds::detail::async_read_ranges(
            threads, web, "key", {bytes.size(), "\"one\"", checksum}, into,
            {.range_bytes = 1000, .retry = patience, .budget = budget}, {}, where, std::move(done));
      });
      CHECK(got == bytes);
    }

    std::vector<std::byte> streamed;
    mds::detail::wait_for<mds::object_version>([&](auto& where, auto done) {
      mds::detail::async_stream_resumed(
          threads, web, "key", 1 << 20,
          [&](const mds::object_version&, mds::bytes_view more) {
            streamed.insert(streamed.end(), more.begin(), more.end());
          },
          patience, budget, {}, where, std::move(done));
    });
    CHECK(streamed == bytes);
  }
}

}  // namespace http_faults_test
