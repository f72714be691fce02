// What Google's testbench does not say: sessions of other servers, and uploads that break.

#include <mdstream/core/detail/crc32c.hpp>
#include <mdstream/store/gs.hpp>

#include <mdstream/store/detail/cloud/checksums.hpp>
#include <mdstream/store/detail/gs/session.hpp>
#include <mdstream/store/operations.hpp>
#include <mdstream/store/retrying.hpp>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "net/keys.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/scripted_server.hpp"

namespace clouds_gs_test {

namespace mds = mdstream;
using mds::errc;
using support::expect_error;
using support::scripted_request;

/// Takes the parts of an upload.
void take_part(support::scripted_server::connection& to, const scripted_request& request) {
  if (request.header("content-range") == "bytes 0-262143/262145") {
    to.answer("308 Resume Incomplete", "", "Range: bytes=0-262143\r\n");
  } else {
    to.answer("200 OK", "{}");
  }
}

const std::string large(262'145, 'x');

/// Has the sessions of uploads at `place`.
void write(support::scripted_server& bucket) {
  mds::runtime threads(1);
  mds::store::gs_options options;
  options.endpoint = bucket.url();
  options.part_bytes = mds::byte_size(1);  // the service's least, 256 KiB
  options.part_retry.attempts = 1;
  options.credentials = mds::net::explicit_access(mds::net::bearer_access("hush", "the test"));
  mds::store_write(mds::store::gs(threads, "gs://box", options), "large", mds::as_bytes(large));
}

TEST_CASE("an upload to Google goes on with the keys where its session is the service's",
          "[clouds]") {
  std::string bucket_url;
  support::scripted_server bucket([&](auto& to, const scripted_request& request) {
    if (request.method == "PUT") return take_part(to, request);
    to.answer("200 OK", "", "Location: " + bucket_url + "/session\r\n");
  });
  bucket_url = bucket.url();
  write(bucket);
  REQUIRE(bucket.requests().size() == 3);
  for (const scripted_request& each : bucket.requests()) {
    CHECK(each.header("authorization") == "Bearer hush");
  }
}

TEST_CASE("the project that pays is named in each request to a bucket", "[clouds]") {
  support::scripted_server bucket([](auto& to, const scripted_request& request) {
    if (request.method == "GET" && request.target.find("alt=media") != std::string::npos)
      return (void)to.answer("200 OK", "abc");
    if (request.method == "GET" && request.target.find("prefix=") != std::string::npos)
      return (void)to.answer("200 OK", R"({"items": []})");
    if (request.method == "GET")
      return (void)to.answer("200 OK", R"({"size": "3", "generation": "1"})");
    to.answer("200 OK", "{}");
  });
  mds::runtime threads(1);
  mds::store::gs_options options;
  options.endpoint = bucket.url();
  options.credentials = mds::net::explicit_access(mds::net::bearer_access("hush", "the test"));
  if (GENERATE(true, false)) {
    options.user_project = "my project";
  } else {
    options.variables = keys::variables({{"GOOGLE_CLOUD_QUOTA_PROJECT", "my project"}});
  }
  const mds::store::gs store(threads, "gs://box", options);
  CHECK(mds::store_size(store, "a") == 3);
  std::vector<std::byte> into(3);
  CHECK(mds::store_read(store, "a", 0, into) == 3);
  CHECK(mds::store_list(store, "").empty());
  mds::store_write(store, "a", mds::as_bytes(std::string_view("abc")));
  mds::store_remove(store, "a");
  const auto requests = bucket.requests();
  CHECK(requests.size() == 5);
  for (const scripted_request& each : requests) {
    INFO(each.method << ' ' << each.target);
    CHECK(each.target.find("userProject=my%20project") != std::string::npos);
  }
}

TEST_CASE("an object that is stored as gzip comes as it is stored, and is checked so", "[clouds]") {
  const std::string stored = "the packed bytes";
  std::string sum = mds::detail::cloud::crc32c_text(mds::detail::crc32c(mds::as_bytes(stored)));
  support::scripted_server bucket([&](auto& to, const scripted_request& request) {
    // As the service does it: who does not take gzip gets other bytes, in no range.
    const std::string head = "x-goog-hash: crc32c=" + sum + "\r\nx-goog-generation: 1\r\n" +
                             "x-goog-stored-content-encoding: gzip\r\n";
    if (request.header("accept-encoding") != "gzip")
      return (void)to.answer("200 OK", "what was packed, and is longer", head);
    to.answer("206 Partial Content", stored,
              head + "Content-Encoding: gzip\r\nContent-Range: bytes 0-15/16\r\n");
  });
  mds::runtime threads(1);
  mds::store::gs_options options;
  options.endpoint = bucket.url();
  options.credentials = mds::net::anonymous_access();
  const mds::store::gs store(threads, "gs://box", options);
  std::vector<std::byte> into(stored.size());
  CHECK(mds::store_read(store, "a", 0, into) == stored.size());
  CHECK(mds::as_text(into) == stored);
  sum = mds::detail::cloud::crc32c_text(0);
  expect_error([&] { (void)mds::store_read(store, "a", 0, into); }, errc::corrupt, {"CRC32C"});
}

TEST_CASE("the environment's project pays for no request without keys", "[clouds]") {
  support::scripted_server bucket([](auto& to, const scripted_request&) {
    to.answer("200 OK", R"({"size": "3", "generation": "1"})");
  });
  mds::runtime threads(1);
  mds::store::gs_options options;
  options.variables = keys::variables(
      {{"GOOGLE_CLOUD_QUOTA_PROJECT", "mine"}, {"STORAGE_EMULATOR_HOST", bucket.url()}});
  CHECK(mds::store_size(mds::store::gs(threads, "gs://box", options), "a") == 3);
  options.user_project = "other";  // of the program: for every request
  CHECK(mds::store_size(mds::store::gs(threads, "gs://box", options), "a") == 3);
  const auto requests = bucket.requests();
  REQUIRE(requests.size() == 2);
  CHECK(requests[0].target.find("userProject") == std::string::npos);
  CHECK(requests[1].target.find("userProject=other") != std::string::npos);
}

TEST_CASE("a refusal names the project that requests are billed to", "[clouds]") {
  support::scripted_server bucket([](auto& to, const scripted_request& request) {
    to.answer(request.target.find("/401") == std::string::npos ? "403 Forbidden" : "401 No", "");
  });
  mds::runtime threads(1);
  mds::store::gs_options options;
  options.endpoint = bucket.url();
  options.credentials = mds::net::explicit_access(mds::net::bearer_access("hush", "the test"));
  options.variables = keys::variables({{"GOOGLE_CLOUD_QUOTA_PROJECT", "mine"}});
  const auto refused = [&](const char* key, const char* payer) {
    const mds::store::gs store(threads, "gs://box", options);
    expect_error([&] { (void)mds::store_size(store, key); }, errc::permission_denied,
                 {"those of the test", payer});
  };
  for (const char* const key : {"401", "403"})
    refused(key, "requests are billed to the project \"mine\" (GOOGLE_CLOUD_QUOTA_PROJECT)");
  options.user_project = "other";
  refused("403", "requests are billed to the project \"other\" (user_project)");
}

TEST_CASE("who is refused without keys looks for them once more", "[clouds]") {
  support::scripted_server bucket([](auto& to, const scripted_request& request) {
    if (request.header("authorization").empty()) return (void)to.answer("403 Forbidden", "");
    to.answer("200 OK", R"({"size": "3", "generation": "1"})");
  });
  for (const bool comes_back : {true, false}) {
    mds::runtime threads(1);
    std::atomic<int> asked{0};
    mds::store::gs_options options;
    options.endpoint = bucket.url();
    options.credentials = mds::net::computed_access([&]() -> std::optional<mds::net::access> {
      if (++asked == 1 || !comes_back) return std::nullopt;
      return mds::net::bearer_access("hush", "the machine");
    });
    const mds::store::gs store(threads, "gs://box", options);
    if (comes_back) {
      CHECK(mds::store_size(store, "a") == 3);
    } else {
      for (int i = 0; i < 3; ++i)
        expect_error([&] { (void)mds::store_size(store, "a"); }, errc::permission_denied,
                     {"nobody"});
    }
    CHECK(asked == 2);
  }
}

TEST_CASE("a session of another server gets no keys of Google's", "[clouds]") {
  for (const bool fails : {false, true}) {
    support::scripted_server other([fails](auto& to, const scripted_request& request) {
      if (fails) return (void)to.answer("403 Forbidden", "");
      take_part(to, request);
    });
    support::scripted_server bucket([&](auto& to, const scripted_request&) {
      to.answer("200 OK", "", "Location: " + other.url() + "/session?upload_id=hush\r\n");
    });
    if (fails) {
      expect_error([&] { write(bucket); }, errc::permission_denied, {"403"});
      CHECK(other.requests().back().method == "DELETE");
    } else {
      write(bucket);
    }
    CHECK(bucket.requests().size() == 1);
    CHECK(other.requests().size() == 2);
    for (const scripted_request& each : other.requests())
      CHECK(each.header("authorization").empty());
  }
}

TEST_CASE("no message has what lets into a session of Google's own server", "[clouds]") {
  std::string bucket_url;
  support::scripted_server bucket([&](auto& to, const scripted_request& request) {
    if (request.method != "PUT") {
      return (void)to.answer("200 OK", "",
                             "Location: " + bucket_url + "/s?upload_id=lets-in-who-has\r\n");
    }
    to.answer("403 Forbidden", R"({"error":{"message":"no upload lets-in-who-has"}})");
  });
  bucket_url = bucket.url();
  try {
    write(bucket);
    FAIL("the upload did not fail");
  } catch (const mds::error& e) {
    const std::string said = e.what();
    CHECK(said.find("lets-in-who-has") == std::string::npos);
    CHECK(said.find("(withheld)") != std::string::npos);
  }
}

TEST_CASE("a bucket of Google by HMAC keys is called by its own URL", "[clouds]") {
  support::scripted_server bucket([](auto& to, const auto&) { to.answer("404 Not Found", ""); });
  mds::runtime threads(1);
  mds::store::gs_options options;
  options.endpoint = bucket.url();
  options.variables = keys::variables({{"GCS_KEY", "hush"}, {"GCS_SECRET", "hush"}});
  const mds::store::gs store(threads, "gs://box/root", options);
  CHECK(store.url("x") == "gs://box/root/x");
  expect_error([&] { (void)mds::store_size(store, "x"); }, errc::not_found,
               {"gs://box/root/x", "Google Cloud Storage answers 404"});
}

TEST_CASE("a project that pays is refused with HMAC keys", "[clouds]") {
  mds::runtime threads(1);
  mds::store::gs_options options;
  options.user_project = "mine";
  options.variables = keys::variables({{"GCS_KEY", "hush"}, {"GCS_SECRET", "hush"}});
  expect_error([&] { (void)mds::store::gs(threads, "gs://box", options); }, errc::invalid_argument,
               {"\"mine\"", "user_project", "GCS_KEY", "GCS_SECRET", "gs://box"});
  options.credentials = mds::net::explicit_access(mds::net::bearer_access("hush", "the test"));
  (void)mds::store::gs(threads, "gs://box", options);  // which need no HMAC keys
}

TEST_CASE("a session without encryption is refused where the service has it", "[clouds]") {
  const auto session = [](const char* location) {
    mds::net::http_response answer;
    REQUIRE(answer.headers.add_line(std::string("Location: ") + location));
    return mds::detail::gs::session_of(answer, "https://storage.googleapis.com");
  };
  CHECK_FALSE(session("https://storage.googleapis.com/upload?id=1").keyless);
  CHECK(session("https://other.googleapis.com/upload?id=1").keyless);
  CHECK(session("https://storage.googleapis.com:444/upload?id=1").keyless);
  expect_error([&] { (void)session("http://storage.googleapis.com/upload?id=hush"); },
               errc::permission_denied, {"encryption", "storage.googleapis.com"});
  expect_error([&] { (void)session("/upload"); }, errc::corrupt, {"session"});
}

/// A bucket whose sessions answer as `put` says, and whose uploads have patience.
struct breaking_bucket {
  using answer =
      std::function<void(support::scripted_server::connection&, const scripted_request&)>;
  explicit breaking_bucket(answer put)
      : server([this, put = std::move(put)](auto& to, const scripted_request& request) {
          if (request.method == "PUT") return put(to, request);
          const std::string session = "Location: " + server.url() + "/session\r\n";
          to.answer("200 OK", "", request.method == "POST" ? session : "");
        }) {}

  support::scripted_server server;
  mds::runtime threads{1};
  mds::store::gs store{threads,
                       "gs://box",
                       {{.endpoint = server.url(),
                         .credentials = mds::net::anonymous_access(),
                         .part_bytes = mds::byte_size(512 << 10),
                         .part_retry = {.attempts = 3, .pause = std::chrono::milliseconds(0)}}}};

  [[nodiscard]] std::vector<std::string> ranges() const {
    std::vector<std::string> out;
    for (const scripted_request& each : server.requests()) {
      if (each.method == "PUT") out.push_back(each.header("content-range"));
    }
    return out;
  }
  [[nodiscard]] std::size_t count(const std::string& method) const {
    const auto all = server.requests();
    return static_cast<std::size_t>(std::ranges::count(all, method, &scripted_request::method));
  }
};

std::string of_size(std::size_t size) {
  std::string out(size, ' ');
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>('a' + i % 23);
  return out;
}

constexpr std::size_t kib = 1024;

void keep(support::scripted_server::connection& to, std::size_t bytes) {
  to.answer("308 Resume Incomplete", "",
            bytes == 0 ? "" : "Range: bytes=0-" + std::to_string(bytes - 1) + "\r\n");
}

TEST_CASE("an upload that broke goes on where Google says that it came to", "[clouds]") {
  const std::string bytes = of_size(768 * kib + 1);
  std::string came;
  bool broke = false;
  breaking_bucket bucket([&](auto& to, const scripted_request& request) {
    const std::string range = request.header("content-range");
    if (range == "bytes 0-524287/786433" && !std::exchange(broke, true)) {
      came = request.body.substr(0, 256 * kib);
      return void(to.answer("503 Busy", ""));
    }
    if (range != "bytes */786433") came += request.body;
    if (came.size() == bytes.size()) return (void)to.answer("200 OK", "{}");
    keep(to, came.size());
  });
  mds::store_write(bucket.store, "x", mds::as_bytes(bytes));
  CHECK(came == bytes);
  CHECK(bucket.ranges() == std::vector<std::string>{"bytes 0-524287/786433", "bytes */786433",
                                                    "bytes 262144-786431/786433",
                                                    "bytes 786432-786432/786433"});
  CHECK(bucket.count("POST") == 1);
}

TEST_CASE("an upload of which Google keeps less than was sent goes on from there", "[clouds]") {
  const std::string bytes = of_size(512 * kib + 1);
  breaking_bucket bucket([&](auto& to, const scripted_request& request) {
    const std::string range = request.header("content-range");
    if (range == "bytes 0-524287/524289") return keep(to, 256 * kib);
    to.answer("200 OK", "{}");
  });
  mds::store_write(bucket.store, "x", mds::as_bytes(bytes));
  CHECK(bucket.ranges() ==
        std::vector<std::string>{"bytes 0-524287/524289", "bytes 262144-524288/524289"});
}

TEST_CASE("an upload whose last answer was lost is asked for and not sent again", "[clouds]") {
  const std::string bytes = of_size(512 * kib + 1);
  breaking_bucket bucket([&](auto& to, const scripted_request& request) {
    const std::string range = request.header("content-range");
    if (range == "bytes 0-524287/524289") return keep(to, 512 * kib);
    if (range == "bytes 524288-524288/524289") return (void)to.answer("503 Busy", "");
    to.answer("200 OK", "{}");
  });
  mds::store_write(bucket.store, "x", mds::as_bytes(bytes));
  CHECK(bucket.ranges().back() == "bytes */524289");
  CHECK(bucket.ranges().size() == 3);
}

TEST_CASE("a session that Google gave up is begun anew by who repeats writes", "[clouds]") {
  const std::string bytes = of_size(512 * kib + 1);
  bool gone = false;
  breaking_bucket bucket([&](auto& to, const scripted_request& request) {
    if (!std::exchange(gone, true)) return (void)to.answer("410 Gone", "");
    const std::string range = request.header("content-range");
    if (range == "bytes 0-524287/524289") return keep(to, 512 * kib);
    to.answer("200 OK", "{}");
  });
  expect_error([&] { mds::store_write(bucket.store, "x", mds::as_bytes(bytes)); },
               errc::unavailable, {"410", "given up", "gs://box/x"});
  gone = false;
  mds::store_write(mds::retrying(bucket.threads, bucket.store,
                                 {.attempts = 2, .pause = std::chrono::milliseconds(0)}),
                   "x", mds::as_bytes(bytes));
  CHECK(bucket.count("POST") == 3);
}

TEST_CASE("an upload that leads nowhere ends, and is aborted", "[clouds]") {
  const std::string bytes = of_size(512 * kib + 1);
  const auto write = [&](breaking_bucket& to) {
    mds::store_write(to.store, "x", mds::as_bytes(bytes));
  };
  breaking_bucket forgets([](auto& to, const scripted_request&) { keep(to, 0); });
  expect_error([&] { write(forgets); }, errc::unavailable, {"kept less", "gs://box/x"});
  CHECK(forgets.count("PUT") == 5);  // three parts, and how far the first two came
  CHECK(forgets.count("DELETE") == 1);
  std::size_t kept = 0;
  breaking_bucket crawls([&](auto& to, const scripted_request&) { keep(to, ++kept); });
  expect_error([&] { write(crawls); }, errc::unavailable, {"kept less", "gs://box/x"});
  CHECK(crawls.count("PUT") == 5);
  breaking_bucket makes_up([](auto& to, const scripted_request&) { keep(to, 512 * kib + 1); });
  expect_error([&] { write(makes_up); }, errc::corrupt, {"more bytes than were sent"});
  breaking_bucket hurries([](auto& to, const scripted_request&) { to.answer("200 OK", "{}"); });
  expect_error([&] { write(hurries); }, errc::corrupt, {"before its last part"});
  CHECK(hurries.count("PUT") == 1);
  breaking_bucket strange([](auto& to, const scripted_request&) {
    to.answer("308 Resume Incomplete", "", "Range: bytes=9-\r\n");
  });
  expect_error([&] { write(strange); }, errc::corrupt, {"how much"});
  breaking_bucket down([](auto& to, const scripted_request&) { to.answer("503 Busy", ""); });
  expect_error([&] { write(down); }, errc::unavailable, {"503"});
  CHECK(down.count("PUT") == 3);
}

TEST_CASE("an upload of which Google has other bytes in the end may be begun anew", "[clouds]") {
  const std::string bytes = of_size(512 * kib + 1);
  unsigned made = 0;
  breaking_bucket bucket([&](auto& to, const scripted_request& request) {
    const std::string range = request.header("content-range");
    if (range == "bytes 0-524287/524289") return keep(to, 512 * kib);
    to.answer("200 OK", made++ == 0 ? R"({"crc32c": "AAAAAA=="})" : "{}");
  });
  mds::store_write(mds::retrying(bucket.threads, bucket.store,
                                 {.attempts = 2, .pause = std::chrono::milliseconds(0)}),
                   "x", mds::as_bytes(bytes));
  CHECK(made == 2);
  CHECK(bucket.count("POST") == 2);
}

TEST_CASE("a name that is not UTF-8 is refused before any request", "[clouds]") {
  breaking_bucket bucket([](auto& to, const scripted_request&) { to.answer("200 OK", "{}"); });
  const std::string bytes = of_size(512 * kib + 1);
  for (const std::size_t size : {std::size_t{1}, bytes.size()}) {
    expect_error([&] { mds::store_write(bucket.store, "x\xff", mds::as_bytes(bytes).first(size)); },
                 errc::invalid_argument, {"UTF-8", "gs://box"});
  }
  expect_error([&] { mds::store_remove(bucket.store, "x\xff"); }, errc::invalid_argument,
               {"UTF-8"});
  CHECK(bucket.server.requests().empty());
}

TEST_CASE("a stop ends the hashing before an upload to Google", "[clouds]") {
  support::scripted_server bucket([](auto& to, const auto&) { to.answer("200 OK", "{}"); });
  mds::runtime threads(1);
  std::stop_source stop;
  std::size_t blocks = 0;
  mds::store::gs_options options;
  options.endpoint = bucket.url();
  options.credentials = mds::net::anonymous_access();
  options.http.body_read = [&](mds::bytes_view) {
    ++blocks;
    stop.request_stop();
  };
  const mds::store::gs store(threads, "gs://box", options);
  const std::string bytes = of_size(4 * kib * kib);
  expect_error(
      [&] {
        mds::detail::wait_for<>([&](mds::diagnostics& where, auto done) {
          store.async_write("x", mds::as_bytes(bytes), stop.get_token(), where, std::move(done));
        });
      },
      errc::canceled);
  CHECK(blocks == 1);
  CHECK(bucket.requests().empty());
}

TEST_CASE("a listing of Google Cloud tells generations", "[clouds]") {
  support::scripted_server bucket([](auto& to, const scripted_request& request) {
    CHECK(request.target.find("generation") != std::string::npos);
    to.answer("200 OK", R"({"items": [{"name": "a", "size": "1", "generation": "17"}]})");
  });
  mds::runtime threads(1);
  const mds::store::gs store(
      threads, "gs://box",
      {{.endpoint = bucket.url(), .credentials = mds::net::anonymous_access()}});
  CHECK(mds::store_list(store, "").at(0).tag == "17");
}

TEST_CASE("a listing whose pages begin alike ends", "[clouds]") {
  int pages = 0;
  support::scripted_server bucket([&](auto& to, const scripted_request&) {
    to.answer("200 OK", R"({"items": [{"name": "a", "size": "1"}], "nextPageToken": ")" +
                            std::to_string(pages++) + "\"}");
  });
  mds::runtime threads(1);
  const mds::store::gs store(
      threads, "gs://box",
      {{.endpoint = bucket.url(), .credentials = mds::net::anonymous_access()}});
  expect_error([&] { (void)mds::store_list(store, ""); }, errc::corrupt, {"circles", "gs://box"});
  CHECK(pages == 2);
}

}  // namespace clouds_gs_test
