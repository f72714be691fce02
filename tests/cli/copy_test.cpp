// mdstream copy, as scripts see it.

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/copying.hpp"
#include "support/catch.hpp"
#include "support/nginx.hpp"
#include "support/scripted_server.hpp"

namespace copy_test {

using namespace copying;
using support::scripted_request;
using support::scripted_server;
using connection = scripted_server::connection;

using cli_test::answer;

answer copy(const std::string& arguments, const std::string& before = "") {
  return cli_test::run("copy " + arguments, before);
}

TEST_CASE("a directory is copied with all beneath it, and what is there is left", "[cli]") {
  const scratch from, to;
  write(from / "a", "one");
  write(from / "sub/b c", noise(100'000, 1));
  write(from / "sub/empty", "");
  write(from / "large", noise(20'000'000, 2));
  const answer first = copy(from.path() + " " + (to / "new"));
  CHECK(first.status == 0);
  CHECK(first.err.empty());
  CHECK(first.json()["copied"] == 4);
  CHECK(first.json()["bytes"] == 20'100'003);
  CHECK(tree(to / "new") == tree(from.path()));
  write(from / "a", "two, longer");
  const answer second = copy(from.path() + "/ " + (to / "new/ --jobs 3"));
  CHECK(second.json()["copied"] == 1);
  CHECK(second.json()["skipped"] == 3);
  CHECK(second.json()["skipped_by_size"] == 0);
  CHECK(tree(to / "new") == tree(from.path()));
}

TEST_CASE("of files of one size those with other bytes are copied, or left by --compare size",
          "[cli]") {
  const scratch from, to;
  write(from / "shard", noise(300'000, 1));
  write(from / "index", "one");
  CHECK(copy(from.path() + " " + to.path()).json()["copied"] == 2);
  write(from / "shard", noise(300'000, 2));
  const answer by_size = copy(from.path() + " " + to.path() + " --compare size");
  CHECK(by_size.json()["skipped"] == 2);
  CHECK(by_size.json()["skipped_by_size"] == 2);
  CHECK(by_size.err.empty());
  CHECK(tree(to.path()) != tree(from.path()));
  const answer by_bytes = copy(from.path() + " " + to.path());
  CHECK(by_bytes.json()["copied"] == 1);
  CHECK(by_bytes.json()["skipped"] == 1);
  CHECK(by_bytes.json()["skipped_by_size"] == 0);
  CHECK(by_bytes.err.empty());
  CHECK(tree(to.path()) == tree(from.path()));
  CHECK(copy(from.path() + " " + to.path() + " --compare time").status == 2);
}

TEST_CASE("a link to a directory above is not followed round and round", "[cli]") {
  const scratch from, to;
  write(from / "a/x", "one");
  fs::create_directory_symlink("..", from / "a/up");
  fs::create_directory_symlink("..", from / "a/up too");
  const answer got = copy(from.path() + " " + to.path());
  CHECK(got.json()["copied"] == 1);
  CHECK(tree(to.path()) == std::map<std::string, std::string>{{"a/x", "one"}});
}

TEST_CASE("an object is copied to a name or into a directory", "[cli]") {
  const scratch from, to;
  write(from / "object", "text");
  CHECK(copy((from / "object") + " " + (to / "other")).status == 0);
  CHECK(copy((from / "object") + " " + to.path()).status == 0);
  CHECK(copy((from / "object") + " " + (to / "new/")).status == 0);
  CHECK(tree(to.path()) == std::map<std::string, std::string>{
                               {"other", "text"}, {"object", "text"}, {"new/object", "text"}});
}

TEST_CASE("one object is copied into a directory whose others may not be looked into", "[cli]") {
  const scratch from, to;
  write(from / "object", "text");
  fs::create_directory(to / "private");
  REQUIRE(::chmod((to / "private").c_str(), 0) == 0);
  const std::string as_user =
      ::geteuid() == 0 ? "setpriv --bounding-set=-dac_override,-dac_read_search " : "";
  const answer got = copy((from / "object") + " " + (to / "new"), as_user);
  INFO(got.err);
  CHECK(got.status == 0);
  CHECK(text_of(to / "new") == "text");
}

TEST_CASE("what cannot be copied is one line and a status", "[cli]") {
  const scratch to;
  const answer missing = copy((to / "nothing") + " " + (to / "x"));
  CHECK(missing.status == 1);
  CHECK(missing.err.rfind("mdstream: error: ", 0) == 0);
  CHECK(missing.err.find("nothing") != std::string::npos);
  CHECK(copy(to.path()).status == 2);
  CHECK(copy("a b c").status == 2);
  CHECK(copy("--list " + (to / "none") + " " + (to / "x")).status == 1);
  write(to / "list", "../outside\n");
  CHECK(copy("--list " + (to / "list") + " " + (to / "x")).status == 1);
}

TEST_CASE("a list of URLs is copied from web servers by its keys", "[cli]") {
  const scratch from, to, state;
  write(from / "d/a b", noise(1000, 3));
  write(from / "d/large", noise(17'000'000, 4));
  write(from / "empty", "");
  const support::nginx server(from.path(), state.path());
  write(to / "list", server.url() + "/d/a%20b\r\n\n" + server.url() + "/d/large?x=1\n" +
                         server.url() + "/empty\n");
  const answer got = copy("--list " + (to / "list") + " " + (to / "out"));
  INFO(got.err);
  CHECK(got.status == 0);
  CHECK(tree(to / "out") == tree(from.path()));
  const answer again = copy("--list " + (to / "list") + " " + (to / "out"));
  CHECK(again.json()["skipped"] == 3);
  CHECK(again.json()["skipped_by_size"] == 2);  // all but the empty one
  CHECK(again.err.find("left, 3 in all, 2 had the right size") != std::string::npos);
  CHECK(std::ranges::count(again.err, '\n') == 1);
  CHECK(copy(server.url() + "/d/a%20b " + (to / "one")).status == 0);
  CHECK(text_of(to / "one") == text_of(from / "d/a b"));
  const answer absent = copy(server.url() + "/absent " + (to / "two"));
  CHECK(absent.status == 1);
  CHECK(absent.err.find(server.url() + "/absent") != std::string::npos);
}

TEST_CASE("an object that is said to be larger than any disk is one line and a status", "[cli]") {
  const std::string size = "4611686018427387904";
  scripted_server server([&](connection& to, const scripted_request& request) {
    if (request.method == "HEAD")
      to.send("HTTP/1.1 200 OK\r\nETag: \"one\"\r\nContent-Length: " + size + "\r\n\r\n");
    else
      to.answer("206 Partial Content", "x",
                "ETag: \"one\"\r\nContent-Range: bytes 0-0/" + size + "\r\n");
  });
  const scratch to;
  const answer got = copy(server.url() + "/object " + (to / "copy"));
  INFO(got.err);
  CHECK(got.status == 1);
  CHECK(got.err.find("mdstream: error: ") != std::string::npos);
  CHECK(got.err.find("cannot reserve the place of") != std::string::npos);
  CHECK(tree(to.path()).empty());
}

// Serves one object by ranges; after `most` of them it keeps the others waiting.
class patient_server {
 public:
  patient_server(std::string object, int most)
      : object_(std::move(object)),
        left_(most),
        server_([this](connection& to, const scripted_request& request) { serve(to, request); }) {}
  [[nodiscard]] std::string url() const { return server_.url() + "/object"; }
  // Ranges that were asked for.
  [[nodiscard]] std::size_t ranges() const {
    std::size_t count = 0;
    for (const scripted_request& each : server_.requests()) count += each.method == "GET";
    return count;
  }
  void let_go() { left_ = 1000; }

 private:
  void serve(connection& to, const scripted_request& request) {
    const std::string size = std::to_string(object_.size()), tag = "ETag: \"one\"\r\n";
    if (request.method == "HEAD") {
      to.send("HTTP/1.1 200 OK\r\n" + tag + "Content-Length: " + size + "\r\n\r\n");
      return;
    }
    if (left_-- <= 0) {
      to.wait(std::chrono::seconds(30));
      return to.close();
    }
    const std::string range = request.header("range").substr(6);
    const std::size_t first = std::stoul(range),
                      last = std::stoul(range.substr(range.find('-') + 1));
    to.answer("206 Partial Content", object_.substr(first, last - first + 1),
              tag + "Content-Range: bytes " + range + "/" + size + "\r\n");
  }

  std::string object_;
  std::atomic<int> left_;
  scripted_server server_;
};

// Ranges that lie whole in the file in the making beneath a directory: its last bytes tell.
std::ptrdiff_t landed(const std::string& directory, std::size_t ranges) {
  for (const auto& [name, text] : tree(directory)) {
    if (name.starts_with(".mdstream-part-") && text.size() > ranges)
      return std::ranges::count(text.substr(text.size() - ranges), '\1');
  }
  return 0;
}

TEST_CASE("a killed copy goes on with the ranges that are missing", "[cli]") {
  const std::string object = noise(40 * mib, 5);
  patient_server server(object, 3);
  const scratch to;
  const std::string target = to / "copy", url = server.url();
  process first({}, {url, target});
  CHECK(soon([&] { return server.ranges() == 5 && landed(to.path(), 5) == 3; }));
  first.signal(SIGKILL);
  (void)first.wait();
  CHECK_FALSE(fs::exists(target));
  CHECK(server.ranges() == 5);
  server.let_go();
  const answer again = copy(url + " " + target);
  INFO(again.err);
  CHECK(again.status == 0);
  CHECK(text_of(target) == object);
  CHECK(server.ranges() == 7);  // the three that had landed are not asked for again
  CHECK(again.json()["bytes"] == 2 * 8 * mib);
  CHECK(tree(to.path()).size() == 1);
}

TEST_CASE("bytes that are not those of the hash that the store tells are no object", "[cli]") {
  scripted_server server([](connection& to, const scripted_request& request) {
    const std::string hash = "982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1";
    to.answer("200 OK", request.method == "HEAD" ? "" : "texT",
              "ETag: \"" + hash + "\"\r\nX-Linked-Size: 4\r\n");
  });
  const scratch to;
  const std::string arguments = "hf://datasets/org/name/text " + (to / "text");
  const std::string endpoint = "HF_TOKEN= HF_ENDPOINT=" + server.url() + " ";
  const answer bad = copy(arguments, endpoint);
  CHECK(bad.status == 1);
  CHECK(bad.err.find("hash") != std::string::npos);
  CHECK(bad.err.find("hf://datasets/org/name/text") != std::string::npos);
  CHECK(tree(to.path()).empty());
  CHECK(copy(arguments + " --compare size", endpoint).status == 0);
  CHECK(text_of(to / "text") == "texT");
}

}  // namespace copy_test
