// mdstream copy that is killed or stopped, and how far copy and verify are on a terminal.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <string>
#include <string_view>

#include "cli/copying.hpp"
#include "cli/progress_bar.hpp"
#include "support/catch.hpp"
#include "support/plain_dataset.hpp"
#include "support/scripted_server.hpp"

namespace copy_stop_test {

using namespace copying;
using connection = support::scripted_server::connection;
using support::scripted_request;
using support::scripted_server;

// Objects of 100,000 bytes, of which it sends half and keeps the rest until it is told to.
class halting_server {
 public:
  halting_server()
      : server_([this](connection& to, const scripted_request& request) { serve(to, request); }) {}
  [[nodiscard]] std::string url() const { return server_.url(); }
  [[nodiscard]] int halted() const { return halted_; }
  [[nodiscard]] static std::string object() { return noise(100'000, 1); }
  void let_go() { halts_ = false; }

 private:
  void serve(connection& to, const scripted_request& request) {
    const std::string all = object();
    to.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
    if (request.method == "HEAD") return;
    to.send(all.substr(0, 50'000));
    if (halts_) ++halted_;
    for (int i = 0; i < 3000 && halts_; ++i) {
      if (!to.wait(std::chrono::milliseconds(10))) return;
    }
    to.send(all.substr(50'000));
  }

  std::atomic<int> halted_{0};
  std::atomic<bool> halts_{true};
  scripted_server server_;
};

// A file of three of its objects, as --list takes it.
std::string list_of(const halting_server& server) {
  return server.url() + "/a\n" + server.url() + "/b\n" + server.url() + "/sub/c\n";
}

TEST_CASE("what a killed copy has left is deleted by the next, and what a living one makes stays",
          "[cli]") {
  halting_server server;
  const scratch to, lists;
  write(lists / "list", list_of(server));
  process first({}, {"--list", lists / "list", to.path()});
  CHECK(soon([&] { return server.halted() == 3 && tree(to.path()).size() == 3; }));
  first.signal(SIGKILL);
  (void)first.wait();
  CHECK(tree(to.path()).size() == 3);  // temporary files

  process second({}, {"--list", lists / "list", to.path()});
  CHECK(soon([&] { return server.halted() == 6 && tree(to.path()).size() == 3; }));
  const auto of_second = tree(to.path());
  write(lists / "other", server.url() + "/d\n");
  process third({}, {"--list", lists / "other", to.path()});
  CHECK(soon([&] { return server.halted() == 7 && tree(to.path()).size() == 4; }));
  for (const auto& [path, text] : of_second) CHECK(fs::exists(to / path));
  server.let_go();
  CHECK(second.wait().status == 0);
  CHECK(third.wait().status == 0);
  const std::string object = halting_server::object();
  CHECK((tree(to.path()) == std::map<std::string, std::string>{
                                {"a", object}, {"b", object}, {"d", object}, {"sub/c", object}}));
}

TEST_CASE("a signal stops a copy, whose temporary files go with it", "[cli]") {
  for (const int signal : {SIGINT, SIGTERM}) {
    halting_server server;
    const scratch to, lists;
    write(lists / "list", list_of(server));
    process copy({}, {"--list", lists / "list", to.path()});
    CHECK(soon([&] { return server.halted() == 3; }));
    copy.signal(signal);
    const outcome ended = copy.wait();
    CHECK(ended.status == 128 + signal);
    CHECK(ended.out.empty());
    CHECK(ended.err.find("stopped by a signal; started again, it goes on") != std::string::npos);
    CHECK(ended.err.find("before that") == std::string::npos);
    CHECK(tree(to.path()).empty());
  }
}

TEST_CASE("a terminal shows how far a copy is", "[cli]") {
  halting_server server;
  const scratch to, lists;
  write(lists / "list", list_of(server));
  terminal screen;
  process copy({}, {"--list", lists / "list", to.path()}, screen.inside());
  CHECK(screen.shows("0 of 3 objects, 1"));  // 146 KiB, as soon as they came
  server.let_go();
  CHECK(copy.wait().status == 0);
}

TEST_CASE("a terminal shows how far a range of a large object is", "[cli]") {
  constexpr std::size_t size = 40 * mib;  // in ranges of 8 MiB
  const std::string object = noise(size, 2);
  std::atomic<bool> halts{true};
  std::atomic<int> broken{0};
  scripted_server server([&](connection& to, const scripted_request& request) {
    if (request.method == "HEAD") {
      to.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n");
      return;
    }
    const std::string range = request.header("range");
    const std::size_t first = std::stoul(range.substr(range.find('=') + 1)),
                      last = std::min(std::stoul(range.substr(range.find('-') + 1)), size - 1);
    to.send("HTTP/1.1 206 Partial Content\r\nContent-Length: " + std::to_string(last - first + 1) +
            "\r\nContent-Range: bytes " + std::to_string(first) + "-" + std::to_string(last) + "/" +
            std::to_string(size) + "\r\n\r\n");
    const std::size_t half = (last - first + 1) / 2;
    to.send(std::string_view(object).substr(first, half));
    if (first == 0 && last + 1 == 8 * mib && ++broken == 1)
      return to.close();  // goes on behind what came
    while (halts && to.wait(std::chrono::milliseconds(5))) {
    }
    to.send(std::string_view(object).substr(first + half, last - first + 1 - half));
  });
  const scratch to, lists;
  write(lists / "list", server.url() + "/large\n");
  terminal screen;
  process copy({}, {"--list", lists / "list", to.path()}, screen.inside());
  CHECK(screen.shows("0 of 1 objects, 22 MiB"));  // half of each, and three quarters of the first
  halts = false;
  const outcome ended = copy.wait();
  CHECK(ended.status == 0);
  CHECK(ended.json()["bytes"] == size);
  CHECK(text_of(to / "large") == object);
}

TEST_CASE("a terminal shows how many shards were verified", "[cli]") {
  const scratch data;
  support::write_plain_dataset(data / "rows", {10, 10, 10});
  std::atomic<bool> halts = true;
  scripted_server server([&](connection& to, const scripted_request& request) {
    while (halts && request.target == "/rows/shard.00002.mds")
      if (!to.wait(std::chrono::milliseconds(10))) return;
    const std::string all = text_of(data.path() + request.target);
    if (request.method != "HEAD") return void(to.answer("200 OK", all));
    to.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(all.size()) + "\r\n\r\n");
  });
  terminal screen;
  process verify({}, {server.url() + "/rows"}, screen.inside(), "verify");
  CHECK(screen.shows("2 of 3 shards"));
  halts = false;
  CHECK(verify.wait().status == 0);
}

TEST_CASE("the time left is that of the bytes that are to be brought", "[cli]") {
  cli::copy_progress p;
  p.objects = 10;
  CHECK(cli::progress_text(p, 1) == "0 of 10 objects, 0 B, 0 B/s");
  p.copied = 1;
  p.skipped = 5;
  p.bytes = 2 << 20;
  p.bytes_expected = 8 << 20;
  CHECK(cli::progress_text(p, 2) == "6 of 10 objects, 2.0 MiB, 1.0 MiB/s, 7 s left");
  p.bytes = 8 << 20;
  CHECK(cli::progress_text(p, 8) == "6 of 10 objects, 8.0 MiB, 1.0 MiB/s");
}

TEST_CASE("URLs with a signature each share what their server bears", "[cli]") {
  std::atomic<int> asked{0}, waiting{0};
  std::atomic<bool> opens{false};
  constexpr int objects = 48, refused = 3 * objects;
  scripted_server server([&](connection& to, const scripted_request&) {
    const int number = ++asked;
    if (number <= refused) {
      to.answer("503 Slow Down", "");
      return;
    }
    // By now they come one by one; those that do not wait for their turn come while the first does.
    if (!opens) ++waiting;
    if (number == refused + 1) {
      to.wait(std::chrono::seconds(1));
      opens = true;
    }
    while (!opens && to.wait(std::chrono::milliseconds(5))) {
    }
    to.answer("200 OK", "text");
  });
  const scratch to, lists;
  std::string urls;
  for (int i = 0; i < objects; ++i) {
    const std::string name = std::to_string(i);
    urls.append(server.url()).append("/").append(name).append("?signature=").append(name) += '\n';
  }
  write(lists / "list", urls);
  const outcome got =
      process({}, {"--list", lists / "list", to.path(), "--jobs", std::to_string(objects)}).wait();
  INFO(got.err);
  CHECK(got.status == 0);
  CHECK(tree(to.path()).size() == objects);
  CHECK(asked == refused + objects);
  CHECK(waiting <= 3);
}

}  // namespace copy_stop_test
