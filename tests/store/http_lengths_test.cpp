// What is read whole from a web server that states lengths which no body has.

#include <mdstream/launch/environment.hpp>
#include <mdstream/mdstream.hpp>
#include <mdstream/store/http.hpp>
#include <mdstream/store/operations.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/plain_dataset.hpp"
#include "support/scripted_server.hpp"
#include "support/wrong_lengths.hpp"

namespace http_lengths_test {

namespace mds = mdstream;
using mds::errc;
using scratch_directory::scratch;
using support::scripted_request;
using support::scripted_server;
using connection = scripted_server::connection;

using loader = mds::loader<mds::policies<mds::any_store<mds::store::http>>>;

/// A dataset of three shards. Of the file whose name `of` has, wrong lengths are stated.
struct lying_server {
  explicit lying_server(std::string_view of) : of_(of) {
    support::write_plain_dataset(data_ / "data", {10, 10, 10});
  }

  std::atomic<std::size_t> length{0};  // of `wrong_lengths`

  [[nodiscard]] std::string url() const { return server_.url() + "/data"; }

 private:
  void answer(connection& to, const scripted_request& request) const {
    if (request.target.ends_with(of_))
      return support::state_length(to, request, support::wrong_lengths.at(length));
    std::ifstream file(data_.path() + request.target, std::ios::binary);
    const std::string all((std::istreambuf_iterator<char>(file)), {});
    to.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(all.size()) + "\r\n\r\n" +
            (request.method == "HEAD" ? "" : all));
    to.close();
  }

  std::string_view of_;
  scratch data_{};
  scripted_server server_{
      [this](connection& to, const scripted_request& request) { answer(to, request); }};
};

/// Does `read` for each of the lengths: it has to throw.
template <class Read>
void refuse_all(lying_server& server, const std::string& named, const Read& read) {
  const std::uint64_t before = support::most_memory();
  for (server.length = 0; server.length < support::wrong_lengths.size(); ++server.length) {
    INFO(support::wrong_lengths.at(server.length));
    const std::optional<mds::error> e = support::error_of(read);
    REQUIRE(e);
    INFO(e->what());
    CHECK((e->code() == errc::corrupt || e->code() == errc::unavailable));
    CHECK(std::string_view(e->what()).find(named) != std::string_view::npos);
  }
  CHECK(support::most_memory() - before < support::much_memory);
}

/// Reads an epoch through an empty cache, without patience.
void stream(const lying_server& server) {
  const scratch cache;
  loader all({.remote = server.url(),
              .local = cache.path(),
              .batch_size = 5,
              .world = mds::world{},
              .download_retry = 1,
              .patience = std::chrono::milliseconds(0)});
  for (const auto& batch : all.epoch()) CHECK(batch.size() == 5);
}

}  // namespace http_lengths_test

TEST_CASE("a small object whose length no body has is an error that names it", "[store]") {
  using namespace http_lengths_test;
  lying_server server("/object");
  mds::runtime threads(1);
  const mds::store::http store(threads, server.url());
  refuse_all(server, server.url() + "/object", [&] { (void)mds::read_all(store, "object"); });
}

TEST_CASE("an index whose length no body has is an error that names it", "[store]") {
  using namespace http_lengths_test;
  lying_server server("/index.json");
  refuse_all(server, server.url() + "/index.json", [&] { stream(server); });
}

TEST_CASE("a shard whose length no body has is an error that names it", "[store]") {
  using namespace http_lengths_test;
  lying_server server("/shard.00001.mds");
  refuse_all(server, "shard.00001.mds", [&] { stream(server); });
}

TEST_CASE("what is said to be larger than memory ends with its first bytes", "[store]") {
  using namespace http_lengths_test;
  const std::string total = GENERATE(as<std::string>{}, "1099511627776", "4611686018427387904",
                                     "9223372036854775807", "18446744073709551615");
  const std::string some(std::size_t{256} << 10, 'x');
  scripted_server server([&](connection& to, const scripted_request& request) {
    if (request.method == "HEAD") {
      to.send("HTTP/1.1 200 OK\r\nContent-Length: " + total + "\r\n\r\n");
    } else if (request.header("range").starts_with("bytes=0-262143")) {
      to.answer("206 Partial Content", some, "Content-Range: bytes 0-262143/" + total + "\r\n");
    } else {
      to.answer("206 Partial Content", "x", "Content-Range: bytes 0-0/" + total + "\r\n");
    }
    to.close();
  });
  mds::runtime threads(1);
  const mds::store::http store(threads, server.url());
  const std::uint64_t before = support::most_memory();
  const auto e = support::error_of([&] { (void)mds::read_all(store, "object"); });
  REQUIRE(e);
  INFO(e->what());
  CHECK((e->code() == errc::corrupt || e->code() == errc::unavailable));
  CHECK(std::string_view(e->what()).find(server.url() + "/object") != std::string_view::npos);
  CHECK(support::most_memory() - before < support::much_memory);
}
