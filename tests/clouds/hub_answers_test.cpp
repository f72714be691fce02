// Where the Hub leads whoever asks for a file, and a Hub that is out of order.

#include <mdstream/store/hf.hpp>

#include <mdstream/async/detail/event.hpp>
#include <mdstream/core/detail/base64.hpp>
#include <mdstream/store/detail/hf/api.hpp>
#include <mdstream/store/detail/hf/signed_urls.hpp>
#include <mdstream/store/operations.hpp>
#include <mdstream/store/retrying.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
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

std::string to(const std::string& location) { return "Location: " + location + "\r\n"; }

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

/// A server of signed URLs, each of which it takes once it was given out and until it is over.
struct signing_hub {
  static std::string ending_in(std::chrono::seconds time) {
    const auto at =
        std::chrono::time_point_cast<std::chrono::seconds>(mds::net::wall_clock::now() + time);
    return std::to_string(at.time_since_epoch().count());
  }

  const std::string bytes = "0123456789";
  std::function<std::string(int)> query = [](int) {
    return "Expires=" + ending_in(std::chrono::hours(1));
  };
  std::string tells = "X-Linked-Size: 10\r\nX-Repo-Commit: c0ffee\r\n";
  std::atomic<int> given{0}, from{1};  ///< URLs with a smaller number are over
  const char* over = "403 Forbidden";
  support::scripted_server content{[this](auto& out, const scripted_request& request) {
    const int number = std::stoi(request.target.substr(1));
    if (number < from) return void(out.answer(over, "hush"));
    if (request.header("range") == "bytes=20-29")
      return void(out.answer("416 Range", "", "Content-Range: bytes */10\r\n"));
    const int first = std::stoi(request.header("range").substr(6));
    out.answer("206 Partial", bytes.substr(first, 2),
               "Content-Range: bytes " + std::to_string(first) + '-' + std::to_string(first + 1) +
                   "/10\r\n");
  }};
  hub one{[this](auto& out, const scripted_request& request) {
    if (request.method == "HEAD")
      return void(out.answer("302 Found", "", to(content.url() + "/0?") + tells));
    ++given;
    out.answer(
        "302 Found", "",
        to(content.url() + '/' + std::to_string(given) + '?' + query(given) + "&sig=hush") + tells);
  }};

  std::string read(std::uint64_t at, const std::string& commit = "c0ffee") {
    std::vector<std::byte> into(2);
    mds::detail::wait_for<std::size_t>([&](mds::diagnostics& where, auto done) {
      one.store.async_read_version("x", {.bytes = 10, .tag = commit}, at, into, {}, where,
                                   std::move(done));
    });
    return std::string(mds::as_text(into));
  }
};

TEST_CASE("a signed URL of the Hub serves for all ranges of a file's commit", "[clouds]") {
  signing_hub hub;
  CHECK(hub.read(0) == "01");
  CHECK(hub.read(4) == "45");
  CHECK(hub.read(8) == "89");
  CHECK(hub.given == 1);
  CHECK(hub.one.server.requests().front().target == "/datasets/o/n/resolve/c0ffee/x");
  CHECK(hub.one.server.requests().front().header("range") == "bytes=0-1");
  REQUIRE(hub.content.requests().size() == 3);
  for (const scripted_request& each : hub.content.requests()) {
    CHECK(each.header("authorization").empty());
    CHECK(each.target.starts_with("/1?Expires="));
  }
  CHECK(hub.content.requests()[1].header("range") == "bytes=4-5");
  std::vector<std::byte> into(2);  // of the branch, which may have moved since
  CHECK(mds::store_read(hub.one.store, "x", 2, into) == 2);
  CHECK(hub.given == 2);
  hub.tells = "X-Linked-Size: 10\r\nX-Repo-Commit: facade\r\n";
  CHECK(hub.read(0, "facade") == "01");
  CHECK(hub.given == 3);
}

TEST_CASE("a signed URL that is over is asked for anew, once", "[clouds]") {
  signing_hub hub;
  for (const char* const status :
       {"403 Forbidden", "401 Unauthorized", "404 Not Found", "410 Gone"}) {
    hub.over = status;
    CHECK(hub.read(0) == "01");
    const int before = hub.given;
    hub.from = before + 1;
    CHECK(hub.read(4) == "45");
    CHECK(hub.given == before + 1);
    CHECK(hub.read(6) == "67");
    CHECK(hub.given == before + 1);
  }
  hub.over = "403 Forbidden";
  hub.from = 1'000;
  const int before = hub.given;
  expect_error([&] { (void)hub.read(0); }, errc::permission_denied, {"403", "hf://datasets/o/n/x"});
  CHECK(hub.given == before + 1);
}

TEST_CASE("a server of signed URLs that fails is left for another", "[clouds]") {
  signing_hub hub;
  CHECK(hub.read(0) == "01");
  hub.from = 2;
  hub.over = "503 Service Unavailable";
  expect_error([&] { (void)hub.read(2); }, errc::unavailable, {"503"});
  CHECK(hub.given == 1);
  CHECK(hub.read(2) == "23");  // the next try
  CHECK(hub.given == 2);
  // A range beyond the end says nothing against the URL.
  std::vector<std::byte> into(10);
  CHECK(mds::detail::wait_for<std::size_t>([&](mds::diagnostics& where, auto done) {
          hub.one.store.async_read_version("x", {.bytes = 10, .tag = "c0ffee"}, 20, into, {}, where,
                                           std::move(done));
        }) == 0);
  CHECK(hub.read(2) == "23");
  CHECK(hub.given == 2);
}

TEST_CASE("a URL of the Hub whose end is near or unknown serves once", "[clouds]") {
  const auto given_for = [](std::function<std::string(int)> query) {
    signing_hub hub;
    hub.query = std::move(query);
    CHECK(hub.read(0) == "01");
    CHECK(hub.read(2) == "23");
    return hub.given.load();
  };
  CHECK(given_for([](int) {
          return "Expires=" + signing_hub::ending_in(std::chrono::seconds(30));
        }) == 2);
  CHECK(given_for([](int) { return "Signature=x"; }) == 2);
  CHECK(given_for([](int) { return "Expires=never"; }) == 2);
  CHECK(given_for([](int) {
          return "X-Amz-Expires=3600&X-Amz-Date=" +
                 mds::net::basic_timestamp(mds::net::wall_clock::now());
        }) == 1);
}

TEST_CASE("the Hub says after which pause it has requests left", "[clouds]") {
  hub one([](auto& out, const scripted_request&) {
    out.answer("429 Too Many Requests", "", "RateLimit: \"api\";r=0;t=7\r\n");
  });
  const auto failure = support::error_of([&] { (void)mds::store_size(one.store, "x"); });
  REQUIRE(failure);
  CHECK(failure->code() == errc::unavailable);
  CHECK(failure->where().retry_after == std::chrono::seconds(7));
}

TEST_CASE("the end of a signature stands in its URL", "[clouds]") {
  using mds::detail::hf::end_of_signature;
  const auto at = [](std::int64_t seconds) {
    return mds::net::wall_clock::time_point(std::chrono::seconds(seconds));
  };
  CHECK(end_of_signature("https://h/x?X-Amz-Date=20130524T000000Z&X-Amz-Expires=3600&a=b") ==
        at(1369357200));
  CHECK(end_of_signature("https://h/x?Expires=1369357200&Policy=x&Signature=y") == at(1369357200));
  std::string policy = mds::detail::to_base64(mds::as_bytes(std::string_view(
      R"({"Statement":[{"Condition":{"DateLessThan":{"AWS:EpochTime":1369357200}},"Resource":"?"}]})")));
  for (char& c : policy) c = c == '+' ? '-' : c == '=' ? '_' : c == '/' ? '~' : c;
  CHECK(end_of_signature("https://h/x?Policy=" + policy + "&Signature=y") == at(1369357200));
  for (const char* const url :
       {"https://h/x", "https://h/x?Expires=", "https://h/x?Expires=1e9", "https://h/x?Policy=%",
        "https://h/x?Policy=e30_", "https://h/x?X-Amz-Expires=3600", "https://h/Expires=5",
        "https://h/x?X-Amz-Date=20130524&X-Amz-Expires=3600",
        "https://h/x?X-Amz-Date=20130524T000000Z&X-Amz-Expires=99999999999"}) {
    INFO(url);
    CHECK_FALSE(end_of_signature(url));
  }
}

TEST_CASE("of signed URLs so many are kept, those that end last", "[clouds]") {
  mds::detail::hf::signed_urls urls;
  const auto at = [](std::size_t seconds) {
    return mds::net::wall_clock::time_point(std::chrono::seconds(seconds));
  };
  for (std::size_t i = 0; i < urls.most + 10; ++i) urls.keep(std::to_string(i), "u", at(100 + i));
  CHECK_FALSE(urls.find("9", at(0)));
  CHECK(urls.find("10", at(0)));
  CHECK(urls.find("20", at(119)));
  CHECK_FALSE(urls.find("20", at(120)));
  urls.forget("u");
  CHECK_FALSE(urls.find("20", at(0)));
}

TEST_CASE("the Hub cannot send a read to http where it is of https, nor to credentials",
          "[clouds]") {
  const auto leads = [](const std::string& endpoint, const std::string& location) {
    const mds::detail::hf_api api({.repo = "o/n", .endpoint = endpoint}, {});
    mds::net::http_response answer{.status = 302, .leads_away = true, .leads_to = location};
    return api.get_at("x", answer).keyless;
  };
  CHECK(leads("https://hub.example", "https://cdn.example/x"));
  CHECK(leads("http://hub.example", "http://cdn.example/x"));
  for (const char* const location : {"http://cdn.example/x", "https://me:hush@cdn.example/x",
                                     "file:///etc/passwd", "", "https://"}) {
    INFO(location);
    expect_error([&] { (void)leads("https://hub.example", location); }, errc::permission_denied,
                 {"must not follow"});
  }
}

TEST_CASE("logins of older command lines are found", "[clouds]") {
  support::scripted_server server([](auto& out, const scripted_request&) {
    out.answer("200 OK", "abc", "X-Repo-Commit: c\r\n");
  });
  mds::runtime threads(1);
  const keys::home home("");
  const auto sent = [&](std::map<std::string, std::string> more) {
    mds::store::hf_options options{{.endpoint = server.url(), .variables = home.with(more)}};
    options.warn = nullptr;
    CHECK(mds::store_size(mds::store::hf(threads, "hf://datasets/o/n", options), "x") == 3);
    return server.requests().back().header("authorization");
  };
  CHECK(sent({}).empty());
  std::filesystem::create_directories(home.path() + "/.huggingface");
  std::filesystem::create_directories(home.path() + "/.cache/huggingface");
  std::filesystem::create_directories(home.path() + "/cache/huggingface");
  home.write(".huggingface/token", "oldest\n");
  CHECK(sent({}) == "Bearer oldest");
  home.write(".cache/huggingface/token", "of-home");
  home.write("cache/huggingface/token", "of-cache");
  home.write("named", "of-name");
  CHECK(sent({}) == "Bearer of-home");
  CHECK(sent({{"XDG_CACHE_HOME", home.path() + "/cache"}}) == "Bearer of-cache");
  CHECK(sent({{"HF_HOME", home.path() + "/nowhere"}}) == "Bearer oldest");
  CHECK(sent({{"HF_TOKEN_PATH", "~/named"}}) == "Bearer of-name");
  CHECK(sent({{"HF_TOKEN_PATH", "~/absent"}}).empty());
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
  mds::detail::one_time_event commit_asked;
  support::scripted_server server{[this](auto& to, const scripted_request& request) {
    if (request.target.find("/commit/") != std::string::npos) return commit_asked.set();
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
    hub.commit_asked.wait();
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
    hub.commit_asked.wait();
    add();
  }
  CHECK(alive.use_count() == 1);
}

}  // namespace clouds_hub_answers_test
