// What the Hugging Face Hub is told of a write, and what is made of its answers.

#include <mdstream/store/detail/hf/commits.hpp>
#include <mdstream/store/detail/hf/messages.hpp>

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace clouds_hub_messages_test {

namespace mds = mdstream;
namespace detail = mds::detail::hf;
using mds::errc;
using support::expect_error;

const std::string sha256(64, 'a');

detail::lfs_place parsed(std::string_view upload, std::uint64_t bytes,
                         const char* endpoint = "https://hub") {
  const std::string text = R"({"objects": [{"oid": "b"}, {"oid": ")" + sha256 +
                           R"(", "size": 1, "actions": {)" + std::string(upload) + "}}]}";
  return detail::parse_place(text, sha256, bytes, *mds::net::parse_http_url(endpoint));
}

TEST_CASE("the Hub says whether a file goes into Git LFS", "[clouds][hub]") {
  const auto mode = [](std::string_view about) {
    return detail::goes_to_lfs(
        R"({"files": [{"path": "x"}, {"path": "a/b", )" + std::string(about) + "}]}", "a/b");
  };
  CHECK(mode(R"("uploadMode": "lfs", "shouldIgnore": false)"));
  CHECK_FALSE(mode(R"("uploadMode": "regular")"));
  expect_error([&] { mode(R"("uploadMode": "lfs", "shouldIgnore": true)"); }, errc::unsupported,
               {".gitignore"});
  expect_error([&] { mode(R"("uploadMode": "xet")"); }, errc::corrupt, {"how the file"});
  expect_error([&] { (void)detail::goes_to_lfs(R"({"files": []})", "a"); }, errc::corrupt);
  expect_error([&] { (void)detail::goes_to_lfs("<html>", "a"); }, errc::corrupt);
}

TEST_CASE("where a large file is sent, whole or in parts or not at all", "[clouds][hub]") {
  CHECK(parsed("", 1).has_it);
  const auto whole = parsed(
      R"("upload": {"href": "https://bytes/1?s=1"}, "verify": {"href": "https://hub/verify"})", 1);
  CHECK_FALSE(whole.has_it);
  CHECK(whole.href == "https://bytes/1?s=1");
  CHECK(whole.parts.empty());
  CHECK(whole.verify == "https://hub/verify");

  const std::string parts =
      R"("upload": {"href": "https://hub/c", "header": {"10": "https://j/", "2": "https://b/",
         "1": "https://a/", "chunk_size": "8", "x": 1}})";
  const auto several = parsed(parts, 17);
  CHECK(several.part_bytes == 8);
  CHECK(several.parts == std::vector<std::string>{"https://a/", "https://b/", "https://j/"});
  CHECK(several.verify.empty());
  for (const std::uint64_t other : {16, 25}) {
    expect_error([&] { parsed(parts, other); }, errc::corrupt, {"parts"});
  }
}

TEST_CASE("a large file goes to no place that is not safe", "[clouds][hub]") {
  const std::string whole = R"("upload": {"href": "http://bytes/1?hush"})";
  CHECK(parsed(whole, 1, "http://hub").href == "http://bytes/1?hush");
  const auto refused = [](const std::string& upload) {
    INFO(upload);
    expect_error([&] { parsed(upload, 9); }, errc::permission_denied, {"must not go"});
  };
  refused(whole);
  for (const char* href : {"file:///etc/passwd", "ftp://x/?hush", "https://me:hush@x/", "", "x"}) {
    refused(R"("upload": {"href": ")" + std::string(href) + R"("})");
  }
  refused(R"("upload": {"href": "https://x/"}, "verify": {"href": "http://x/?hush"})");
  refused(
      R"("upload": {"href": "https://x/", "header": {"chunk_size": 9, "1": "http://x/?hush"}})");
  for (const char* wrong : {R"("upload": {})", R"("upload": {"href": 1})",
                            R"("upload": {"href": "https://x/", "header": {"chunk_size": "x"}})",
                            R"("upload": {"href": "https://x/", "header": {"chunk_size": 0}})",
                            R"("upload": {"href": "https://x/", "header": {"chunk_size": 9}})"}) {
    INFO(wrong);
    expect_error([&] { parsed(wrong, 9); }, errc::corrupt);
  }
  const mds::net::uri hub = *mds::net::parse_http_url("https://hub");
  const std::string failed =
      R"({"objects": [{"oid": ")" + sha256 + R"(", "error": {"code": 422, "message": "hush"}}]})";
  expect_error([&] { (void)detail::parse_place(failed, sha256, 1, hub); }, errc::invalid_argument,
               {"422"});
  expect_error([&] { (void)detail::parse_place(R"({"objects": []})", sha256, 1, hub); },
               errc::corrupt);
}

TEST_CASE("the lines of a commit", "[clouds][hub]") {
  CHECK(detail::header_line("S", "D") ==
        "{\"key\": \"header\", \"value\": {\"summary\": \"S\", \"description\": \"D\"}}\n");
  CHECK(detail::file_line("\u00fc", mds::as_bytes("hello")) ==
        "{\"key\": \"file\", \"value\": {\"content\": \"aGVsbG8=\", \"path\": \"\\u00fc\", "
        "\"encoding\": \"base64\"}}\n");
  CHECK(detail::lfs_line("a\n", "ff", 7) ==
        "{\"key\": \"lfsFile\", \"value\": {\"path\": \"a\\n\", \"algo\": \"sha256\", \"oid\": "
        "\"ff\", \"size\": 7}}\n");
  CHECK(detail::parts_list("ff", {"x", "\"y\""}) ==
        "{\"oid\": \"ff\", \"parts\": [{\"partNumber\": 1, \"etag\": \"x\"}, {\"partNumber\": 2, "
        "\"etag\": \"\\\"y\\\"\"}]}");
}

std::vector<std::string> taken(std::deque<mds::detail::hub_change>& waiting) {
  std::vector<std::string> keys;
  for (const auto& each : mds::detail::take_commit(waiting)) keys.push_back(each.key);
  return keys;
}

TEST_CASE("changes go into a commit together, those of one object one by one", "[clouds][hub]") {
  using keys = std::vector<std::string>;
  std::deque<mds::detail::hub_change> waiting;
  const auto add = [&](std::string key, std::size_t bytes, std::size_t together = 100) {
    waiting.push_back(
        {.key = std::move(key), .line = std::string(bytes, 'x'), .together = together});
  };
  CHECK(taken(waiting).empty());
  for (const char* key : {"a", "b", "a", "c"}) add(key, 1);
  CHECK(taken(waiting) == keys{"a", "b"});
  add("d", 1, 1);
  add("e", 1);
  CHECK(taken(waiting) == keys{"a", "c"});
  CHECK(taken(waiting) == keys{"d"});
  CHECK(taken(waiting) == keys{"e"});
  add("large", 40 << 20);
  add("f", 1);
  CHECK(taken(waiting) == keys{"large"});
  CHECK(taken(waiting) == keys{"f"});
  for (int i = 0; i < 150; ++i) add(std::to_string(i), 1);
  CHECK(taken(waiting).size() == 100);
  CHECK(taken(waiting).size() == 50);
  for (int i = 0; i < 5; ++i) add(std::to_string(i), 1, 3);
  add("new", 1);
  CHECK(taken(waiting) == keys{"0", "1", "2"});
  CHECK(taken(waiting) == keys{"3", "4", "new"});
}

}  // namespace clouds_hub_messages_test
