// A loader over a web server that has trouble.

#include <mdstream/launch/environment.hpp>
#include <mdstream/mdstream.hpp>
#include <mdstream/store/http.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/plain_dataset.hpp"
#include "support/scripted_server.hpp"

namespace patience_test {

namespace mds = mdstream;
using scratch_directory::scratch;
using support::scripted_request;
using support::scripted_server;
using connection = scripted_server::connection;
using namespace std::chrono_literals;

struct warnings {
  std::mutex* mutex;
  std::vector<std::string>* heard;
  void operator()(const mds::observe::step&) const {}
  void operator()(const mds::observe::warning& what) const {
    const std::lock_guard lock(*mutex);
    heard->push_back(what.text);
  }
};

using policies = mds::policies<mds::any_store<mds::store::http>, warnings>;
using loader = mds::loader<policies>;

/// Ten shards of ten samples behind a server that does `trouble` before a request is answered;
/// where that is true, the request has been dealt with.
struct setting {
  std::function<bool(connection&, const scripted_request&, const std::string& answer)> trouble;

  explicit setting(std::size_t shards = 10) {
    support::write_plain_dataset(dir / "data", std::vector<std::uint64_t>(shards, 100 / shards));
  }

  [[nodiscard]] loader::options options() const {
    return {.remote = server.url() + "/data",
            .local = dir / "cache",
            .batch_size = 10,
            .shuffle = false,
            .world = mds::world{},
            .download_retry = 1};
  }
  [[nodiscard]] loader open(loader::options given) {
    return loader(std::move(given), {}, warnings{&mutex, &heard});
  }

  void answer(connection& to, const scripted_request& request) const {
    std::ifstream file(dir.path() + request.target, std::ios::binary);
    const std::string all((std::istreambuf_iterator<char>(file)), {});
    const std::string size = std::to_string(all.size());
    std::string text = "HTTP/1.1 200 OK\r\nETag: \"one\"\r\nContent-Length: " + size + "\r\n\r\n";
    if (request.method == "GET") {
      const std::string range = request.header("range").substr(6);
      const std::size_t first = std::stoul(range);
      if (first >= all.size()) {
        to.answer("416 R", "", "Content-Range: bytes */" + size + "\r\n");
        return;
      }
      const std::size_t last =
          std::min(std::stoul(range.substr(range.find('-') + 1)), all.size() - 1);
      text = "HTTP/1.1 206 P\r\nETag: \"one\"\r\nContent-Range: bytes " + std::to_string(first) +
             '-' + std::to_string(last) + '/' + size +
             "\r\nContent-Length: " + std::to_string(last - first + 1) + "\r\n\r\n" +
             all.substr(first, last - first + 1);
    }
    if (!trouble || !trouble(to, request, text)) to.send(text);
  }

  const scratch dir{};
  std::mutex mutex{};
  std::vector<std::string> heard{};
  scripted_server server{
      [this](connection& to, const scripted_request& request) { answer(to, request); }};
};

void read_epoch(loader& from) {
  std::int64_t next = 0;
  for (const auto& batch : from.epoch())
    for (const auto id : batch.ids()) CHECK(id == next++);
  CHECK(next == 100);
}

}  // namespace patience_test

TEST_CASE("a loader waits for a server that throttles and refuses, and its observer hears of it") {
  using namespace patience_test;
  setting fixture;
  std::mutex counting;
  std::map<std::string, int> requests;
  fixture.trouble = [&](connection& to, const scripted_request& request, const std::string&) {
    const std::lock_guard lock(counting);
    const int number = ++requests[request.target];
    if (number > 2) return false;
    if (number == 2) return to.reset(), true;
    return to.answer("503 Slow down", "", "Retry-After: 0\r\n"), true;
  };
  loader one = fixture.open(fixture.options());
  {
    const std::lock_guard lock(fixture.mutex);
    REQUIRE_FALSE(fixture.heard.empty());  // of the index
    CHECK(fixture.heard[0].find("a store has trouble") != std::string::npos);
  }
  read_epoch(one);
  CHECK(one.counters().requests_repeated >= 10);  // libcurl itself repeats some that were reset
  CHECK(one.counters().attempts_failed == 0);
}

TEST_CASE("a transfer that hangs goes on behind its last byte, on another connection") {
  using namespace patience_test;
  setting fixture;
  std::atomic<int> hung = 0;
  fixture.trouble = [&](connection& to, const scripted_request& request,
                        const std::string& answer) {
    if (request.target != "/data/shard.00003.mds" || hung++ > 0) return false;
    to.send(answer.substr(0, answer.size() - 50));
    to.wait(60s);
    return to.close(), true;
  };
  auto options = fixture.options();
  options.download_timeout = 5s;  // of a machine that stands still for a while, nothing hangs
  loader one = fixture.open(options);
  read_epoch(one);
  const std::string size = std::to_string(10 * 8 + 48);
  std::vector<std::string> ranges;
  for (const scripted_request& each : fixture.server.requests())
    if (each.target == "/data/shard.00003.mds") ranges.push_back(each.header("range"));
  CHECK(ranges == std::vector<std::string>{"bytes=0-" + size,
                                           "bytes=" + std::to_string(128 - 50) + "-" + size});
}

TEST_CASE("an index whose requests hang is asked for again, and goes on behind its last byte") {
  using namespace patience_test;
  setting fixture;
  std::atomic<int> sizes = 0, reads = 0;
  fixture.trouble = [&](connection& to, const scripted_request& request,
                        const std::string& answer) {
    if (!request.target.ends_with("index.json")) return false;
    const bool reading = request.method == "GET";
    if ((reading ? reads : sizes)++ > 0) return false;
    if (reading) to.send(answer.substr(0, answer.size() - 50));
    to.wait(60s);
    if (reading) to.close();
    return reading;
  };
  auto options = fixture.options();
  options.download_timeout = 5s;
  loader one = fixture.open(options);
  read_epoch(one);
  std::vector<std::string> asked;
  for (const scripted_request& each : fixture.server.requests())
    if (each.target == "/data/index.json") asked.push_back(each.method + each.header("range"));
  const auto size = std::filesystem::file_size(fixture.dir / "data/index.json");
  const auto range = [&](std::uintmax_t from) {
    return "GETbytes=" + std::to_string(from) + "-" + std::to_string(size - 1);
  };
  CHECK(asked == std::vector<std::string>{"HEAD", "HEAD", range(0), range(size - 50)});
}

TEST_CASE("a server that stays out of order is an error of the loop when the patience is spent") {
  using namespace patience_test;
  setting fixture;
  fixture.trouble = [&](connection& to, const scripted_request& request, const std::string&) {
    if (request.target.ends_with("index.json")) return false;
    return to.answer("503 Slow down", ""), true;
  };
  auto options = fixture.options();
  options.patience = 300ms;
  loader one = fixture.open(options);
  support::expect_error([&] { read_epoch(one); }, mds::errc::unavailable,
                        {"503", "shard 0", "times within"});
}

TEST_CASE("a distant store is asked by many requests at a time, whatever the number of cores") {
  using namespace patience_test;
  setting fixture(100);
  std::atomic<int> now = 0, most = 0;
  constexpr int many = 7;  // it was four
  const auto end = std::chrono::steady_clock::now() + 60s;
  fixture.trouble = [&](connection& to, const scripted_request& request, const std::string&) {
    const int with_this = ++now;
    for (int seen = most; seen < with_this && !most.compare_exchange_weak(seen, with_this);) {
    }
    // The shards wait for each other: how soon the next one is asked for does not matter.
    while (request.target.find("shard") != std::string::npos && most < many &&
           std::chrono::steady_clock::now() < end && to.wait(5ms)) {
    }
    --now;
    return false;
  };
  auto options = fixture.options();
  options.threads = 1;
  loader one = fixture.open(options);
  read_epoch(one);
  CHECK(most >= many);
}

TEST_CASE("a loader says what its next batch waits for, while another thread waits for it") {
  using namespace patience_test;
  setting fixture;
  std::atomic<bool> released = false;
  fixture.trouble = [&](connection& to, const scripted_request& request, const std::string&) {
    while (request.target == "/data/shard.00001.mds" && !released) to.wait(5ms);
    return false;
  };
  loader one = fixture.open(fixture.options());
  CHECK(one.waits_for() == "nothing: no epoch has begun");
  std::size_t batches = 0;
  std::atomic<bool> ended = false;
  std::thread reader([&] {
    for (const auto& batch : one.epoch()) batches += batch.size() == 10 ? 1 : 0;
    ended = true;
  });
  const std::string waits = "batch 1 of epoch 0: 1 of its 1 shards are on their way; ";
  std::string said;
  while (!ended && !said.starts_with(waits)) said = one.waits_for();
  released = true;
  reader.join();
  INFO(said);
  CHECK(said.starts_with(waits));
  CHECK(said.find(", shard 1, ") != std::string::npos);
  CHECK(said.find("/shard.00001.mds") != std::string::npos);
  CHECK(batches == 10);
  CHECK(one.waits_for() == "nothing: no batch is asked for");
}
