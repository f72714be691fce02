// How long commands wait for a store that is out of order, and what they say meanwhile.

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/running.hpp"
#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/scripted_server.hpp"

namespace cli_patience_test {

using namespace cli_test;
using support::scripted_request;
using support::scripted_server;
using connection = scripted_server::connection;

// Answers 503 to so many requests, then with the files of a directory.
struct busy_server {
  std::string directory;
  int refused;
  std::atomic<int> asked = 0;
  scripted_server web{
      [this](connection& to, const scripted_request& request) { answer(to, request); }};

  void answer(connection& to, const scripted_request& request) {
    if (asked++ < refused) {
      to.answer("503 Slow down", "");
      return;
    }
    const std::string all = text_of(directory + request.target);
    const std::string size = std::to_string(all.size()), range = request.header("range");
    if (range.empty()) {
      to.send("HTTP/1.1 200 OK\r\nETag: \"one\"\r\nContent-Length: " + size + "\r\n\r\n" +
              (request.method == "HEAD" ? "" : all));
      return;
    }
    const std::size_t first = std::stoul(range.substr(6));
    const std::string part =
        all.substr(first, std::stoul(range.substr(range.find('-') + 1)) - first + 1);
    to.answer("206 Partial Content", part,
              "ETag: \"one\"\r\nContent-Range: bytes " + std::to_string(first) + '-' +
                  std::to_string(first + part.size() - 1) + '/' + size + "\r\n");
  }
};

constexpr int always = 1 << 30;

TEST_CASE("a store that is out of order is waited for, with a warning at once", "[cli]") {
  const folder data;
  write_rows(data / "rows", 0, 3);
  busy_server server{.directory = data.path(), .refused = 5};
  const answer got = run("cat " + server.web.url() + "/rows");
  INFO(got.err);
  CHECK(got.status == 0);
  CHECK(got.lines().size() == 3);
  CHECK(got.err.starts_with("mdstream: warning: a store has trouble: "));
  CHECK(got.err.find("503") != std::string::npos);
  CHECK(got.err.find("up to 900 s") != std::string::npos);
  CHECK(std::count(got.err.begin(), got.err.end(), '\n') == 1);
}

TEST_CASE("commands wait as long as --patience says", "[cli]") {
  const folder to;
  busy_server server{.directory = to.path(), .refused = always};
  const std::string url = server.web.url() + "/0";
  for (const std::string& command :
       {"cat " + url, "inspect " + url, "verify " + url, "copy " + url + ' ' + (to / "copy"),
        "merge-index " + url + " --out " + server.web.url()}) {
    INFO(command);
    const answer patient = run(command + " --patience 0.3");
    INFO(patient.err);
    CHECK(patient.status == 1);
    CHECK(patient.err.starts_with("mdstream: warning: a store has trouble: "));
    CHECK(patient.err.find("\nmdstream: error: ") != std::string::npos);
    CHECK(patient.err.find("times within ") != std::string::npos);
    CHECK(std::count(patient.err.begin(), patient.err.end(), '\n') == 2);

    const int before = server.asked;
    check_error(run(command + " --patience 0"), 1, {"503"});
    CHECK(server.asked == before + 1);
  }
  for (const char* command : {"write ", "stream "})
    CHECK(run(std::string(command) + "--help").out.find("--patience") != std::string::npos);
  check_error(run("cat " + url + " --patience -1"), 2, {"patience"});
}

}  // namespace cli_patience_test
