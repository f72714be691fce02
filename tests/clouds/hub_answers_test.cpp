// Where the Hub leads whoever asks for a file, and a Hub that is out of order.

#include <mdstream/store/hf.hpp>

#include <mdstream/async/detail/event.hpp>
#include <mdstream/store/detail/hf/api.hpp>
#include <mdstream/store/operations.hpp>
#include <mdstream/store/retrying.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "net/keys.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/scripted_server.hpp"

namespace clouds_hub_answers_test {

namespace mds = mdstream;
using mds::errc;
using support::expect_error;
using support::scripted_request;

struct hub {
  explicit hub(support::scripted_server::script script, std::string dataset = "hf://datasets/o/n")
      : server(std::move(script)), url(std::move(dataset)) {}

  support::scripted_server server;
  std::string url;
  mds::runtime threads{1};
  mds::store::hf store{threads,
                       url,
                       {{.endpoint = server.url(),
                         .part_retry = {.attempts = 2, .pause = std::chrono::milliseconds(0)},
                         .variables = keys::variables({{"HF_TOKEN", "hush"}})}}};
};

std::string to(const std::string& place) { return "Location: " + place + "\r\n"; }

TEST_CASE("the Hub's token may have its older name", "[clouds]") {
  support::scripted_server server([](auto& out, const scripted_request&) {
    out.answer("200 OK", "abc", "X-Repo-Commit: c\r\n");
  });
  mds::runtime threads(1);
  for (const bool both : {false, true}) {
    std::map<std::string, std::string> names{{"HUGGING_FACE_HUB_TOKEN", "older"}};
    if (both) names["HF_TOKEN"] = "newer";
    const mds::store::hf store(threads, "hf://datasets/o/n",
                               {{.endpoint = server.url(), .variables = keys::variables(names)}});
    CHECK(mds::store_size(store, "x") == 3);
    CHECK(server.requests().back().header("authorization") ==
          (both ? "Bearer newer" : "Bearer older"));
  }
}

TEST_CASE("a redirect within the Hub is followed with the token", "[clouds]") {
  std::string origin;
  hub one([&](auto& out, const scripted_request& request) {
    const bool cached = request.target == "/api/resolve-cache/x?a=b";
    const bool moved = request.target == "/moved";
    if (cached) return out.send("HTTP/1.1 200 OK\r\nContent-Length: 7\r\nX-Repo-Commit: c\r\n\r\n");
    return out.answer("307 Temporary Redirect", "",
                      to(moved ? origin + "/api/resolve-cache/x?a=b" : "/moved"));
  });
  origin = one.server.url();
  CHECK(mds::store_size(one.store, "index.json") == 7);
  REQUIRE(one.server.requests().size() == 3);
  for (const scripted_request& each : one.server.requests()) {
    CHECK(each.method == "HEAD");
    CHECK(each.header("authorization") == "Bearer hush");
  }
}

TEST_CASE("a redirect to another server is the Hub's answer", "[clouds]") {
  support::scripted_server other([](auto& out, const scripted_request&) {
    out.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n");
  });
  for (const char* const status : {"302 Found", "307 Temporary Redirect"}) {
    hub one([&](auto& out, const scripted_request&) {
      out.answer(status, "", to(other.url() + "/x") + "X-Linked-Size: 5\r\nX-Repo-Commit: c\r\n");
    });
    CHECK(mds::store_size(one.store, "a") == 5);
    CHECK(one.server.requests().size() == 1);
  }
  hub sizeless([&](auto& out, const scripted_request&) {
    out.answer("307 Temporary Redirect", "", to(other.url() + "/x"));
  });
  expect_error([&] { (void)mds::store_size(sizeless.store, "a"); }, errc::corrupt, {"size"});
  CHECK(other.requests().empty());
}

TEST_CASE("redirects in a circle end", "[clouds]") {
  hub one([](auto& out, const scripted_request&) { out.answer("302 Found", "", to("/again")); });
  expect_error([&] { (void)mds::store_size(one.store, "a"); }, errc::unsupported,
               {"302, a redirect to /again", "hf://datasets/o/n/a"});
  CHECK(one.server.requests().size() == 9);
}

TEST_CASE("a write that repeated its steps in vain is not begun anew", "[clouds]") {
  hub one([](auto& out, const scripted_request&) { out.answer("503 Service Unavailable", ""); });
  const mds::retrying again(one.threads, one.store,
                            {.attempts = 3, .pause = std::chrono::milliseconds(0)});
  expect_error([&] { mds::store_write(again, "a", mds::as_bytes("1")); }, errc::unavailable,
               {"503"});
  CHECK(one.server.requests().size() == 2);
}

TEST_CASE("a repository that was renamed is not written to, and the error says where it is",
          "[clouds]") {
  hub one([](auto& out, const scripted_request&) {
    out.answer("307 Temporary Redirect", "", to("/api/datasets/o/new/preupload/main?hush"));
  });
  expect_error([&] { mds::store_write(one.store, "a", mds::as_bytes("1")); }, errc::unsupported,
               {"307, a redirect to /api/datasets/o/new/preupload/main"});
  CHECK(one.server.requests().size() == 1);
}

TEST_CASE("errors of the Hub name the revision", "[clouds]") {
  hub one([](auto& out, const scripted_request&) { out.answer("404 Not Found", ""); },
          "hf://datasets/o/n@v1/x");
  expect_error([&] { (void)mds::store_size(one.store, "a"); }, errc::not_found,
               {"hf://datasets/o/n@v1/x/a"});
}

TEST_CASE("URLs of the Hub name references that have parts", "[clouds]") {
  const auto resolved = [](const char* url) {
    const auto out = mds::store::hf::resolved(url, {});
    return out.repo + ' ' + out.revision + ' ' + out.root;
  };
  CHECK(resolved("hf://datasets/o/n@refs/convert/parquet/default/train") ==
        "o/n refs/convert/parquet default/train");
  CHECK(resolved("hf://datasets/o/n@refs/pr/7") == "o/n refs/pr/7 ");
  CHECK(resolved("hf://datasets/o/n@~parquet/default/train") ==
        "o/n refs/convert/parquet default/train");
  CHECK(resolved("hf://datasets/o/n?revision=~parquet") == "o/n refs/convert/parquet ");
  CHECK(resolved("hf://datasets/o/n@refs/x") == "o/n refs x");
  CHECK(resolved("hf://datasets/o/n/a@refs/pr/7") == "o/n main a@refs/pr/7");
}

TEST_CASE("models lie at the root of the Hub, datasets beneath a name of their own", "[clouds]") {
  hub one([](auto& out, const scripted_request&) { out.answer("404 Not Found", ""); },
          "hf://o/n@v1/x");
  expect_error([&] { (void)mds::store_size(one.store, "a"); }, errc::not_found,
               {"hf://o/n@v1/x/a"});
  expect_error([&] { (void)mds::store_list(one.store, ""); }, errc::not_found, {"hf://o/n@v1/x"});
  REQUIRE(one.server.requests().size() == 2);
  CHECK(one.server.requests()[0].target == "/o/n/resolve/v1/x/a");
  CHECK(one.server.requests()[1].target == "/api/models/o/n/tree/v1/x?recursive=true");
  for (const char* url : {"hf://gpt2", "hf://datasets/n", "hf://spaces/o/n", "hf:///o/n"})
    expect_error([&] { (void)mds::store::hf::resolved(url, {}); }, errc::invalid_argument,
                 {"hf://<org>/<name>", "hf://datasets/<org>/<name>"});
}

TEST_CASE("calls to the Hub cost as many requests as docs/stores/hf.md says", "[clouds]") {
  const std::string regular(20, 'r'), large(200, 'l');
  const auto whole = [](const scripted_request& request, const std::string& body) {
    const std::string size = std::to_string(body.size());
    const bool is_head = request.method == "HEAD";
    return std::string(is_head ? "HTTP/1.1 200 OK" : "HTTP/1.1 206 Partial") +
           "\r\nX-Repo-Commit: c\r\nContent-Length: " + size + "\r\nContent-Range: bytes 0-" +
           std::to_string(body.size() - 1) + '/' + size + "\r\n\r\n" + (is_head ? "" : body);
  };
  support::scripted_server content([&](auto& out, const scripted_request& request) {
    if (request.method == "PUT") return void(out.answer("200 OK", ""));
    out.send(whole(request, large));
  });
  std::string origin;
  hub one([&](auto& out, const scripted_request& request) {
    const auto about = [&](const char* what) {
      return request.target.find(what) != std::string::npos;
    };
    const bool is_large = about("large") || request.body.find("large") != request.body.npos;
    std::string answer = R"({"commitOid": "c"})";
    if (about("/cached")) return void(out.send(whole(request, regular)));
    if (about("/resolve/")) {
      const std::string tells = "X-Linked-Size: 200\r\nX-Repo-Commit: c\r\n";
      return void(out.answer("307 Temporary Redirect", "",
                             is_large ? to(content.url() + "/x") + tells : to("/cached")));
    }
    if (about("/tree/")) answer = "[]";
    if (about("/preupload/")) {
      answer = std::string(R"({"files": [{"path": ")") + (is_large ? "large" : "a") +
               R"(", "uploadMode": ")" + (is_large ? "lfs" : "regular") + "\"}]}";
    }
    if (about("/batch")) {
      answer = R"({"objects": [{"oid": ")" +
               request.body.substr(request.body.find(R"("oid": ")") + 8, 64) +
               R"(", "actions": {"upload": {"href": ")" + content.url() +
               R"(/x"}, "verify": {"href": ")" + origin + R"(/verify"}}}]})";
    }
    out.answer("200 OK", answer);
  });
  origin = one.server.url();
  const auto sent = [&] { return one.server.requests().size() + content.requests().size(); };
  const auto cost = [&](auto&& call) {
    const std::size_t before = sent();
    call();
    return sent() - before;
  };
  std::vector<std::byte> into(200);
  CHECK(cost([&] { CHECK(mds::store_size(one.store, "large") == 200); }) == 1);
  CHECK(cost([&] { CHECK(mds::store_size(one.store, "a") == 20); }) == 2);
  CHECK(cost([&] { CHECK(mds::store_read(one.store, "large", 0, into) == 200); }) == 2);
  CHECK(cost([&] { CHECK(mds::store_read(one.store, "a", 0, into) == 20); }) == 2);
  CHECK(cost([&] { (void)mds::store_list(one.store, ""); }) == 1);
  CHECK(cost([&] { mds::store_write(one.store, "a", mds::as_bytes(regular)); }) == 2);
  CHECK(cost([&] { mds::store_write(one.store, "large", mds::as_bytes(large)); }) == 5);
  CHECK(cost([&] { mds::store_remove(one.store, "a"); }) == 1);
}

mds::detail::cloud_client client_of(mds::runtime& threads, const std::string& endpoint) {
  const mds::detail::hf_settings settings{.repo = "o/n", .endpoint = endpoint};
  return {threads,
          std::make_shared<mds::detail::hf_api>(settings, mds::detail::upload_plan{}),
          {},
          mds::net::anonymous_access()};
}

/// Changes of so many objects, of which the first is under way while the others come. Each commit
/// is answered by `status_of` its number of changes and its text; their numbers are returned.
std::vector<std::size_t> committed(
    std::size_t count, std::vector<std::error_code>& codes,
    std::function<const char*(std::size_t changes, const std::string& text)> status_of) {
  std::vector<std::size_t> sizes;
  mds::detail::one_time_event all_added, all_over;
  support::scripted_server server([&](auto& out, const scripted_request& request) {
    if (sizes.empty()) all_added.wait();
    sizes.push_back(static_cast<std::size_t>(std::ranges::count(request.body, '\n')) -
                    1);  // but the header
    out.answer(status_of(sizes.back(), request.body), R"({"commitOid": "c"})");
  });
  mds::runtime threads(1);
  const mds::detail::cloud_client client = client_of(threads, server.url());
  const auto commits = std::make_shared<mds::detail::hub_commits>(
      server.url() + "/commit", server.url() + "/commits", mds::retry_policy{.attempts = 1});
  codes.resize(count);
  std::atomic<std::size_t> left{count};
  for (std::size_t i = 0; i < count; ++i) {
    const std::string key = std::to_string(i);
    commits->add(client, {.key = key,
                          .line = mds::detail::hf::file_line(key, {}),
                          .done = [&, i](std::error_code code, const mds::diagnostics&) {
                            codes[i] = code;
                            if (--left == 0) all_over.set();
                          }});
  }
  all_added.set();
  all_over.wait();
  return sizes;
}

TEST_CASE("a commit that the Hub does not take goes on by halves", "[clouds]") {
  using sizes = std::vector<std::size_t>;
  std::vector<std::error_code> codes;
  const auto most_three = [](std::size_t changes, const std::string&) {
    return changes > 3 ? "413 Too Large" : "200 OK";
  };
  CHECK(committed(9, codes, most_three) == sizes{1, 8, 4, 2, 2, 4, 2, 2});
  CHECK(std::ranges::count(codes, std::error_code()) == 9);
  const auto not_six = [](std::size_t, const std::string& text) {
    return text.find(R"("path": "6")") == text.npos ? "200 OK" : "400 Bad Request";
  };
  CHECK(committed(9, codes, not_six) == sizes{1, 8, 4, 4, 2, 1, 1, 2});
  CHECK(std::ranges::count(codes, std::error_code()) == 8);
  CHECK(codes[6] == errc::invalid_argument);
}

TEST_CASE("who may not commit to the Hub is not asked for halves", "[clouds]") {
  std::vector<std::error_code> codes;
  const auto nobody = [](std::size_t, const std::string&) { return "403 Forbidden"; };
  CHECK(committed(9, codes, nobody) == std::vector<std::size_t>{1, 8});
  CHECK(std::ranges::count(codes, make_error_code(errc::permission_denied)) == 9);
}

TEST_CASE("a repository that is gone or was renamed is not asked for halves", "[clouds]") {
  for (const char* const status : {"404 Not Found", "307 Temporary Redirect"}) {
    std::vector<std::error_code> codes;
    const auto nowhere = [&](std::size_t, const std::string&) { return status; };
    CHECK(committed(9, codes, nowhere) == std::vector<std::size_t>{1, 8});
    CHECK(std::ranges::count(codes, std::error_code()) == 0);
  }
}

/// A Hub that makes the first commits, or does not, and answers none of them.
struct deaf_hub {
  unsigned lost;  ///< commits whose answer does not come
  bool makes_lost;
  std::vector<std::string> made{};  ///< descriptions
  std::size_t sent = 0;
  support::scripted_server server{[this](auto& to, const scripted_request& request) {
    if (request.target == "/api/datasets/o/n/preupload/main")
      return void(to.answer("200 OK", R"({"files": [{"path": "x", "uploadMode": "regular"}]})"));
    if (request.method == "GET") {
      std::string list;
      for (const std::string& each : made)
        list += (list.empty() ? "" : ", ") + (R"({"id": "c", "title": "t", "message": ")" + each) +
                "\"}";
      return void(to.answer("200 OK", '[' + list + ']'));
    }
    const std::size_t at = request.body.find("mdstream ");
    if (++sent > lost || makes_lost) made.push_back(request.body.substr(at, 25));
    if (sent <= lost) return to.close();
    to.answer("200 OK", R"({"commitOid": "c"})");
  }};
};

TEST_CASE("a commit whose answer was lost is looked for before it is sent again", "[clouds]") {
  deaf_hub hub{.lost = 1, .makes_lost = GENERATE(true, false)};
  mds::runtime threads(1);
  const mds::store::hf store(threads, "hf://datasets/o/n",
                             {{.endpoint = hub.server.url(),
                               .part_retry = {.attempts = 3, .pause = std::chrono::milliseconds(0)},
                               .variables = keys::variables({{"HF_TOKEN", "hush"}})}});
  mds::store_write(store, "x", mds::as_bytes("1"));
  CHECK(hub.made.size() == 1);
  CHECK(hub.sent == (hub.makes_lost ? 1 : 2));
}

TEST_CASE("a commit whose answers stay lost fails, and was not made twice", "[clouds]") {
  deaf_hub hub{.lost = 10, .makes_lost = false};
  mds::runtime threads(1);
  const mds::store::hf store(threads, "hf://datasets/o/n",
                             {{.endpoint = hub.server.url(),
                               .part_retry = {.attempts = 3, .pause = std::chrono::milliseconds(0)},
                               .variables = keys::variables({{"HF_TOKEN", "hush"}})}});
  expect_error([&] { mds::store_write(store, "x", mds::as_bytes("1")); }, errc::unavailable, {});
  CHECK(hub.sent == 3);
  CHECK(hub.made.empty());
}

/// A Hub that says where a file goes and then, once it was told of a commit, nothing more.
struct silent_hub {
  mds::detail::one_time_event told;
  support::scripted_server server{[this](auto& to, const scripted_request& request) {
    if (request.target.find("/commit/") != std::string::npos) return told.set();
    to.answer("200 OK", R"({"files": [{"path": "x", "uploadMode": "regular"}]})");
  }};
};

TEST_CASE("a runtime that ends drops the write whose commit is under way", "[clouds]") {
  silent_hub hub;
  std::stop_source stop;
  mds::diagnostics where;
  const auto alive = std::make_shared<int>(0);
  {
    mds::runtime threads(1);
    const mds::store::hf store(
        threads, "hf://datasets/o/n",
        {{.endpoint = hub.server.url(), .variables = keys::variables({{"HF_TOKEN", "hush"}})}});
    store.async_write("x", mds::as_bytes(std::string_view("abc")), stop.get_token(), where,
                      [alive](std::error_code) {});
    hub.told.wait();
  }
  CHECK(alive.use_count() == 1);
}

TEST_CASE("a runtime that ends drops the changes that wait for a commit", "[clouds]") {
  silent_hub hub;
  const auto alive = std::make_shared<int>(0);
  {
    mds::runtime threads(1);
    const mds::detail::cloud_client client = client_of(threads, hub.server.url());
    const auto commits = std::make_shared<mds::detail::hub_commits>(
        hub.server.url() + "/commit/main", hub.server.url() + "/commits/main",
        mds::retry_policy{.attempts = 1});
    const auto add = [&] {  // as a write does, which holds its commits
      commits->add(client, {.key = "x",
                            .line = "{}\n",
                            .done = [alive, commits](std::error_code, const mds::diagnostics&) {}});
    };
    add();
    hub.told.wait();
    add();
  }
  CHECK(alive.use_count() == 1);
}

}  // namespace clouds_hub_answers_test
