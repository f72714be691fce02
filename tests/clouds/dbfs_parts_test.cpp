// Files that are sent to a volume in parts. Shapes of Databricks' SDK for Python.

#include <mdstream/store/detail/dbfs/volumes.hpp>

#include <mdstream/core/json/value.hpp>
#include <mdstream/store/dbfs.hpp>
#include <mdstream/store/detail/cloud/store.hpp>
#include <mdstream/store/operations.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/scripted_server.hpp"

namespace clouds_dbfs_parts_test {

namespace mds = mdstream;
namespace json = mds::json;
using mds::errc;
using support::expect_error;
using support::scripted_request;
using connection = support::scripted_server::connection;

const std::string file = "/api/2.0/fs/files/Volumes/a/b/c/root/x";
const std::string content = "0123456789ABCDEFG";  // five parts of four bytes, the last of one

/// A workspace, and the cloud behind its volume, which takes what has a signature that it knows.
struct volume {
  std::mutex mutex;  // over what follows
  std::map<int, std::string> parts;
  std::map<std::string, std::string> files;
  int signature = 0;
  std::map<std::string, int> first_signatures;  // of each part
  int late_parts = 0;                           ///< the first URLs of parts up to this one are over
  bool all_are_over = false;                    ///< all URLs
  bool has_directory = true, tells_tags = true, is_aborted = false;
  std::string session = R"({"multipart_upload":{"session_token":"hush/session"}})";
  std::function<bool(connection&, const scripted_request&)> instead =
      [](connection&, const scripted_request&) { return false; };

  support::scripted_server cloud{[this](connection& out, const scripted_request& request) {
    const std::lock_guard lock(mutex);
    const std::size_t mark = request.target.find("?sig=hush");
    const int number = std::stoi(request.target.substr(mark + 9));
    if (instead(out, request)) return;
    const std::string what = request.target.substr(1, mark - 1);
    if (all_are_over || (what <= std::to_string(late_parts) && number == first_signatures.at(what)))
      return void(out.answer("403 Forbidden", "<Error><Code>AccessDenied</Code></Error>"));
    if (request.method == "DELETE") {
      parts.clear();
      is_aborted = true;
      return void(out.answer("200 OK", ""));
    }
    // A part that was on its way may come after the request that ends its upload.
    if (is_aborted) return void(out.answer("404 Not Found", ""));
    const int part = std::stoi(request.target.substr(1));
    parts[part] = request.body;
    out.answer("201 Created", "", tells_tags ? "ETag: \"t" + std::to_string(part) + "\"\r\n" : "");
  }};
  support::scripted_server workspace{[this](connection& out, const scripted_request& request) {
    const std::lock_guard lock(mutex);
    if (instead(out, request)) return;
    const auto is = [&](const char* what) {
      return request.target.find(what) != std::string::npos;
    };
    if (is("/fs/directories/")) {
      has_directory = true;
      return void(out.answer("204 No Content", ""));
    }
    if (!has_directory)
      return void(
          out.answer("404 Not Found", R"({"error_code":"NOT_FOUND","message":"no directory"})"));
    if (is("overwrite=false") &&
        files.count(request.target.substr(0, request.target.find('?'))) != 0)
      return void(out.answer("409 Conflict", R"({"error_code":"ALREADY_EXISTS"})"));
    if (is("action=initiate-upload")) {
      is_aborted = false;
      return void(out.answer("200 OK", session));
    }
    if (is("action=complete-upload")) return complete(out, request);
    const json::value asked = json::parse(request.body);
    if (is("create-abort-upload-url"))
      return void(
          out.answer("200 OK", R"({"abort_upload_url":{"url":")" + signed_url("abort") + R"("}})"));
    REQUIRE(is("create-upload-part-urls"));
    const std::string number = asked.at("start_part_number").digits();
    out.answer("200 OK", R"({"upload_part_urls":[{"part_number":)" + number + R"(,"url":")" +
                             signed_url(number) +
                             R"(","headers":[{"name":"x-ms-blob-type","value":"BlockBlob"}]}]})");
  }};

  std::string signed_url(const std::string& what) {
    first_signatures.try_emplace(what, ++signature);
    return cloud.url() + '/' + what + "?sig=hush" + std::to_string(signature);
  }

  void complete(connection& out, const scripted_request& request) {
    std::string whole;
    const json::value said = json::parse(request.body);
    for (const json::value& each : said.get<json::array>("parts")) {
      const std::string number = each.at("part_number").digits();
      if (tells_tags && each.get<std::string>("etag") != "\"t" + number + '"')
        return void(out.answer("400 Bad Request", R"({"error_code":"INVALID"})"));
      whole += parts.at(std::stoi(number));
    }
    files[file] = whole;
    parts.clear();
    out.answer("200 OK", "{}");
  }

  mds::runtime threads{1};
  const mds::store::dbfs_settings settings{
      .host = workspace.url(), .volume = "/Volumes/a/b/c", .root = "root"};
  mds::any_async_store store = mds::detail::make_cloud_store(
      threads,
      std::make_shared<mds::detail::volumes_api>(
          settings,
          mds::detail::upload_plan{.part_bytes = 4,
                                   .parallel = 2,
                                   .retry = {.attempts = 3, .pause = std::chrono::milliseconds(0)}},
          16),
      {}, mds::net::explicit_access(mds::net::bearer_access("hush-token", "the test")));

  [[nodiscard]] std::size_t asked(const char* what) const {
    const auto all = workspace.requests();
    return static_cast<std::size_t>(std::ranges::count_if(all, [&](const scripted_request& each) {
      return each.target.find(what) != std::string::npos;
    }));
  }
};

bool created(const mds::any_async_store& store, mds::bytes_view bytes) {
  return mds::detail::wait_for<bool>([&](mds::diagnostics& where, auto done) {
    store.async_create("x", bytes, {}, where, std::move(done));
  });
}

TEST_CASE("a large file goes to a volume in parts, by URLs that need no token", "[clouds][dbfs]") {
  volume one;
  mds::store_write(one.store, "x", mds::as_bytes(content));
  CHECK(one.files.at(file) == content);
  const auto asked = one.workspace.requests();
  CHECK(asked.front().method == "POST");
  CHECK(asked.front().target == file + "?action=initiate-upload&overwrite=true");
  CHECK(asked.front().body.empty());
  CHECK(asked.back().method == "POST");
  CHECK(asked.back().target ==
        file + "?action=complete-upload&upload_type=multipart&session_token=hush%2Fsession");
  CHECK(asked.size() == 2 + 5);
  for (const scripted_request& each : asked) {
    CHECK(each.header("authorization") == "Bearer hush-token");
    if (each.target != "/api/2.0/fs/create-upload-part-urls") continue;
    const json::value body = json::parse(each.body);
    CHECK(body.get<std::string>("path") == "/Volumes/a/b/c/root/x");
    CHECK(body.get<std::string>("session_token") == "hush/session");
    CHECK(body.get<int>("count") == 1);
    const auto end = mds::net::parse_iso_time(body.get<std::string>("expire_time"));
    REQUIRE(end);
    CHECK(*end > mds::net::wall_clock::now() + std::chrono::minutes(50));
  }
  REQUIRE(one.cloud.requests().size() == 5);
  for (const scripted_request& each : one.cloud.requests()) {
    CHECK(each.method == "PUT");
    CHECK(each.header("authorization").empty());
    CHECK(each.header("x-ms-blob-type") == "BlockBlob");
    CHECK(each.header("content-type") == "application/octet-stream");
  }
}

TEST_CASE("parts without tags, as Azure's blocks, are put together, too", "[clouds][dbfs]") {
  volume one;
  one.tells_tags = false;
  mds::store_write(one.store, "x", mds::as_bytes(content));
  CHECK(one.files.at(file) == content);
}

TEST_CASE("what is no larger is one request", "[clouds][dbfs]") {
  volume one;
  one.instead = [](connection& out, const scripted_request&) {
    out.answer("204 No Content", "");
    return true;
  };
  mds::store_write(one.store, "x", mds::as_bytes(content.substr(0, 16)));
  REQUIRE(one.workspace.requests().size() == 1);
  const scripted_request put = one.workspace.requests().front();
  CHECK(put.method == "PUT");
  CHECK(put.target == file + "?overwrite=true");
  CHECK(put.header("content-type") == "application/octet-stream");
  CHECK(put.body == content.substr(0, 16));
}

TEST_CASE("a part whose URL is over gets another, once", "[clouds][dbfs]") {
  volume one;
  one.late_parts = 2;
  mds::store_write(one.store, "x", mds::as_bytes(content));
  CHECK(one.files.at(file) == content);
  CHECK(one.asked("create-upload-part-urls") == 5 + 2);
  one.all_are_over = true;
  expect_error([&] { mds::store_write(one.store, "x", mds::as_bytes(content)); },
               errc::permission_denied, {"403", "dbfs:/Volumes/a/b/c/root/x"});
}

TEST_CASE("a part that fails is sent again, and a failed upload is aborted", "[clouds][dbfs]") {
  volume one;
  int failures = 2;
  one.instead = [&](connection& out, const scripted_request& request) {
    if (!request.target.starts_with("/3?") || failures-- <= 0) return false;
    out.answer("503 Service Unavailable", "");
    return true;
  };
  mds::store_write(one.store, "x", mds::as_bytes(content));
  CHECK(one.files.at(file) == content);
  one.files.clear();
  failures = 1'000;
  expect_error([&] { mds::store_write(one.store, "x", mds::as_bytes(content)); }, errc::unavailable,
               {"503", "dbfs:/Volumes/a/b/c/root/x"});
  CHECK(one.files.empty());
  CHECK(one.asked("create-abort-upload-url") == 1);
  const auto all = one.cloud.requests();
  const auto is_end = [](const scripted_request& each) { return each.method == "DELETE"; };
  REQUIRE(std::ranges::count_if(all, is_end) == 1);
  CHECK(std::ranges::find_if(all, is_end)->header("authorization").empty());
  CHECK(one.parts.empty());
}

TEST_CASE("a large file is made where there is none", "[clouds][dbfs]") {
  volume one;
  one.has_directory = false;
  CHECK(created(one.store, mds::as_bytes(content)));
  CHECK(one.files.at(file) == content);
  CHECK(one.asked("action=initiate-upload&overwrite=false") == 2);
  CHECK(one.asked("/fs/directories/Volumes/a/b/c/root") == 1);
  one.files[file] = "another";
  const std::size_t before = one.cloud.requests().size();
  CHECK_FALSE(created(one.store, mds::as_bytes(content)));
  CHECK_FALSE(created(one.store, mds::as_bytes(std::string_view("small"))));
  CHECK(one.files.at(file) == "another");
  CHECK(one.cloud.requests().size() == before);
  // A conflict is none for what replaces files.
  one.instead = [](connection& out, const scripted_request&) {
    out.answer("409 Conflict", R"({"error_code":"RESOURCE_ALREADY_EXISTS"})");
    return true;
  };
  for (const std::string& bytes : {content, std::string("small")}) {
    CHECK(support::error_of([&] { mds::store_write(one.store, "x", mds::as_bytes(bytes)); }));
  }
}

TEST_CASE("a volume in Google's cloud is written by a session", "[clouds][dbfs]") {
  volume one;
  one.session = R"({"resumable_upload":{"session_token":"hush/session"}})";
  const std::string large(300 << 10, 'x');  // a part of 256 KiB, the least that Google takes
  std::string kept;
  bool breaks = true;
  one.instead = [&](connection& out, const scripted_request& request) {
    if (request.target == "/api/2.0/fs/create-resumable-upload-url") {
      const json::value asked = json::parse(request.body);
      CHECK(asked.get<std::string>("path") == "/Volumes/a/b/c/root/x");
      CHECK(asked.get<std::string>("session_token") == "hush/session");
      CHECK(asked.find("expire_time") == nullptr);
      out.answer("200 OK", R"({"resumable_upload_url":{"url":")" + one.signed_url("session") +
                               R"(","headers":[{"name":"x-goog-a","value":"b"}]}})");
      return true;
    }
    if (!request.target.starts_with("/session?")) return false;
    CHECK(request.header("x-goog-a") == "b");
    const std::string range = request.header("content-range");
    if (range.find('*') == std::string::npos) {
      CHECK(range == "bytes " + std::to_string(kept.size()) + '-' +
                         std::to_string(kept.size() + request.body.size() - 1) + "/307200");
      kept += request.body;
      if (std::exchange(breaks, false)) {
        out.answer("503 Service Unavailable", "");
        return true;
      }
    }
    const bool is_whole = kept.size() == large.size();
    out.answer(is_whole ? "200 OK" : "308 Resume Incomplete", "",
               is_whole ? "" : "Range: bytes=0-" + std::to_string(kept.size() - 1) + "\r\n");
    return true;
  };
  mds::store_write(one.store, "x", mds::as_bytes(large));
  CHECK(kept == large);
  REQUIRE(one.cloud.requests().size() == 3);  // a part, the question how far it came, the rest
  CHECK(one.cloud.requests()[1].header("content-range") == "bytes */307200");
  for (const scripted_request& each : one.cloud.requests())
    CHECK(each.header("authorization").empty());
  CHECK(one.asked("complete-upload") == 0);
}

TEST_CASE("answers that are none of an upload fail it, and nothing goes elsewhere",
          "[clouds][dbfs]") {
  for (const char* const text : {"", "{}", "[]", R"({"multipart_upload":{}})",
                                 R"({"multipart_upload":{"session_token":7}})"}) {
    INFO(text);
    volume one;
    one.session = text;
    CHECK(support::error_of([&] { mds::store_write(one.store, "x", mds::as_bytes(content)); }));
    CHECK(one.cloud.requests().empty());
  }
  for (const char* const text :
       {R"({"upload_part_urls":[]})",
        R"({"upload_part_urls":[{"part_number":9,"url":"http://h/"}]})",
        R"({"upload_part_urls":[{"part_number":1}]})", "hush",
        R"({"upload_part_urls":[{"part_number":1,"url":"ftp://h/","headers":7}]})"}) {
    INFO(text);
    volume one;
    one.instead = [&](connection& out, const scripted_request& request) {
      if (request.target.find("part-urls") == std::string::npos) return false;
      out.answer("200 OK", text);
      return true;
    };
    const auto failure =
        support::error_of([&] { mds::store_write(one.store, "x", mds::as_bytes(content)); });
    REQUIRE(failure);
    CHECK(std::string(failure->what()).find("hush") == std::string::npos);
    CHECK(one.files.empty());
    CHECK(one.asked("create-abort-upload-url") == 1);
    for (const scripted_request& each : one.cloud.requests()) CHECK(each.method == "DELETE");
  }
}

TEST_CASE("a workspace of https sends no file to http", "[clouds]") {
  using mds::detail::cloud::require_signed_url;
  const auto https = mds::net::parse_http_url("https://w.example").value();
  const auto http = mds::net::parse_http_url("http://w.example").value();
  CHECK_NOTHROW(require_signed_url("https://bucket.example/x?sig=hush", https, "no:"));
  CHECK_NOTHROW(require_signed_url("http://bucket.example/x?sig=hush", http, "no:"));
  for (const char* const url : {"http://bucket.example/x?sig=hush", "https://me:hush@b.example/",
                                "file:///etc/passwd", ""}) {
    expect_error([&] { require_signed_url(url, https, "no:"); }, errc::permission_denied, {"no:"});
  }
}

}  // namespace clouds_dbfs_parts_test
