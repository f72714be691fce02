#include <mdstream/store/cloud/listing.hpp>

#include <mdstream/store/s3.hpp>

#include <string>

#include "s3/with_fake.hpp"
#include "store/conformance.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace s3_listing_test {

using namespace with_fake;
using conformance::keys_of;
using fake_s3::answer;
using fake_s3::question;
using mds::errc;
using mds::store::s3;
using support::expect_error;

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
