#include <mdstream/store/detail/cloud/listing.hpp>

#include <mdstream/store/operations.hpp>
#include <mdstream/store/retrying.hpp>
#include <mdstream/store/s3.hpp>

#include <atomic>
#include <cstddef>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "s3/with_fake.hpp"
#include "store/conformance.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/scripted_server.hpp"
#include "support/wrong_lengths.hpp"

namespace s3_listing_test {

using namespace with_fake;
using conformance::keys_of;

TEST_CASE("a listing goes through all pages, relative to the root", "[s3]") {
  mds::runtime threads(1);
  fake_s3::server fake;
  fake.page = 3;
  for (int i = 0; i < 20; ++i) fake.put("root/k" + std::to_string(10 + i), "x");
  for (const char* other : {"rootless", "root", "other/k", "root/"}) fake.put(other, "");
  fake.put("root/folder/", "");
  fake.put("root/../up", "x");
  const s3 store(threads, fake.s3_url("root"), options_for(fake));
  const auto keys = keys_of(store, "");
  REQUIRE(keys.size() == 21);
  CHECK(keys.front() == "../up");  // there it is; no call takes it as a key
  CHECK(keys.back() == "k29");
  CHECK(keys_of(store, "k2").size() == 10);
  CHECK(keys_of(s3(threads, fake.s3_url(), options_for(fake)), "root").size() == 23);
}

TEST_CASE("a page that fails is asked for again, and none before it", "[s3]") {
  mds::runtime threads(1);
  fake_s3::server fake;
  fake.page = 1;
  for (int i = 0; i < 40; ++i) fake.put("k" + std::to_string(10 + i), "x");
  int asked = 0;
  fake.instead = [&](const question&) -> std::optional<answer> {
    if (++asked % 10 != 0) return std::nullopt;
    return fake_s3::refusal(503, "SlowDown");
  };
  const s3 store(threads, fake.s3_url(), options_for(fake));
  CHECK(keys_of(store, "").size() == 40);
  CHECK(asked == 44);
}

TEST_CASE("a page that fails for good ends a listing, which is not begun anew", "[s3]") {
  mds::runtime threads(1);
  fake_s3::server fake;
  fake.page = 1;
  fake.put("a", "x");
  fake.put("b", "x");
  fake.put("c", "x");
  int first = 0, later = 0;
  fake.instead = [&](const question& asked) -> std::optional<answer> {
    if (asked.query.count("continuation-token") == 0) {
      if (++first == 1) return fake_s3::refusal(503, "SlowDown");
      return std::nullopt;
    }
    ++later;
    return fake_s3::refusal(503, "SlowDown");
  };
  const mds::retrying store(threads, s3(threads, fake.s3_url(), options_for(fake)),
                            {.attempts = 8, .pause = std::chrono::microseconds(10)});
  expect_error([&] { (void)mds::store_list(store, ""); }, errc::unavailable, {"SlowDown"});
  CHECK(first == 2);
  CHECK(later == 4);
}

TEST_CASE("a listing that is stopped as a page fails is canceled", "[s3]") {
  mds::runtime threads(1);
  fake_s3::server fake;
  fake.page = 1;
  for (const char* key : {"a", "b", "c"}) fake.put(key, "x");
  const bool at_first = GENERATE(true, false);
  std::stop_source stop;
  fake.instead = [&](const question& asked) -> std::optional<answer> {
    if (at_first == (asked.query.count("continuation-token") != 0)) return std::nullopt;
    stop.request_stop();
    return fake_s3::refusal(503, "SlowDown");
  };
  const s3 store(threads, fake.s3_url(), options_for(fake));
  const auto list = [&](auto& where, auto done) {
    store.async_list("", stop.get_token(), where, std::move(done));
  };
  expect_error([&] { mds::detail::wait_for<std::vector<mds::object_info>>(list); }, errc::canceled);
}

TEST_CASE("a listing, an object and a refusal with lengths that no body has are errors", "[s3]") {
  const std::string status =
      GENERATE(as<std::string>{}, "200 OK", "403 Forbidden", "404 Not Found");
  std::atomic<std::size_t> which{0};
  support::scripted_server server([&](auto& to, const auto& request) {
    support::state_length(to, request, support::wrong_lengths.at(which), status);
  });
  mds::runtime threads(1);
  const s3 store(threads, "s3://bucket", options_for(server.url(), "us-east-1"));
  const std::uint64_t before = support::most_memory();
  for (which = 0; which < support::wrong_lengths.size(); ++which) {
    INFO(status << ' ' << support::wrong_lengths.at(which));
    for (const auto& e : {support::error_of([&] { (void)mds::store_list(store, "x/"); }),
                          support::error_of([&] { (void)mds::read_all(store, "x"); }),
                          support::error_of([&] { mds::store_write(store, "x", {}); })}) {
      REQUIRE(e);
      INFO(e->what());
      CHECK((e->code() == errc::corrupt || e->code() == errc::unavailable));
      CHECK(e->where().url.starts_with("s3://bucket/x"));
    }
  }
  CHECK(support::most_memory() - before < support::much_memory);
}

TEST_CASE("a listing that lies or does not end is refused", "[s3]") {
  mds::runtime threads(1);
  const auto refused = [&](const std::string& page) {
    fake_s3::server fake;
    fake.instead = [page](const question&) {
      return answer{200, "<ListBucketResult>" + page + "</ListBucketResult>"};
    };
    const s3 store(threads, fake.s3_url("root"), options_for(fake));
    expect_error([&] { (void)mds::store_list(store, "p"); }, errc::corrupt, {"s3://bucket/root/p"});
    return fake.requests().size();
  };
  const std::string more =
      "<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>";
  CHECK(refused("<Contents><Key>elsewhere</Key><Size>1</Size></Contents>") == 1);
  CHECK(refused("<Contents><Key>root/q</Key><Size>1</Size></Contents>") == 1);
  CHECK(refused(more) == 2);
  CHECK(refused("<Contents><Key>root/p</Key><Size>1</Size></Contents>" + more) == 2);
  CHECK(refused("<a>") == 1);
}

TEST_CASE("a key of 1024 bytes of UTF-8 is signed, listed and read", "[s3]") {
  mds::runtime threads(1);
  fake_s3::server fake;
  conformance::check_long_key(s3(threads, fake.s3_url(), options_for(fake)), 1024);
}

TEST_CASE("a listing without end is not read to the end", "[s3]") {
  mds::runtime threads(1);
  support::scripted_server server([](auto& to, const auto&) {
    to.send("HTTP/1.1 200 OK\r\n\r\n<ListBucketResult>");
    std::string objects;
    for (int i = 0; i < 2000; ++i) objects += "<Contents><Key>k</Key><Size>1</Size></Contents>";
    while (to.send(objects)) {
    }
    to.close();
  });
  const s3 store(threads, "s3://bucket",
                 {.endpoint = server.url(),
                  .credentials = mds::net::anonymous_aws_credentials(),
                  .variables = no_variables()});
  expect_error([&] { (void)mds::store_list(store, ""); }, errc::corrupt, {"more than", "bytes"});
}

TEST_CASE("a listing whose tokens come back after any number of pages ends", "[s3]") {
  mds::runtime threads(1);
  for (const int circle : {1, 2, 3, 7}) {
    for (const int before : {0, 5}) {
      fake_s3::server fake;
      int page = 0;
      fake.instead = [&](const question&) {
        const int token = page < before ? page : before + (page - before) % circle;
        ++page;
        return answer{200,
                      "<ListBucketResult><Contents><Key>k</Key><Size>1</Size></Contents>"
                      "<IsTruncated>true</IsTruncated><NextContinuationToken>t" +
                          std::to_string(token) + "</NextContinuationToken></ListBucketResult>"};
      };
      const s3 store(threads, fake.s3_url(), options_for(fake));
      INFO("a circle of " << circle << " after " << before);
      expect_error([&] { (void)mds::store_list(store, ""); }, errc::corrupt, {"circles"});
      CHECK(page < 40);
    }
  }
}

TEST_CASE("a listing whose tokens change but which brings nothing ends", "[s3]") {
  mds::runtime threads(1);
  fake_s3::server fake;
  int page = 0;
  fake.instead = [&page](const question&) {
    return answer{200, "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t" +
                           std::to_string(++page) + "</NextContinuationToken></ListBucketResult>"};
  };
  const s3 store(threads, fake.s3_url(), options_for(fake));
  expect_error([&] { (void)mds::store_list(store, ""); }, errc::corrupt, {"circles"});
}

}  // namespace s3_listing_test
