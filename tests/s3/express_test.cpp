// Directory buckets (S3 Express One Zone): shapes of Amazon's documentation, on the fake.

#include <mdstream/store/detail/s3/session.hpp>

#include <mdstream/net/key_supply.hpp>
#include <mdstream/store/s3.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <vector>

#include "s3/with_fake.hpp"
#include "store/conformance.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace s3_express_test {

using namespace with_fake;
using conformance::keys_of;
using support::scripted_request;

std::string session_text(const std::string& id, const std::string& token,
                         const std::string& expires) {
  return "<CreateSessionResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Credentials>"
         "<SessionToken>" +
         token + "</SessionToken><SecretAccessKey>hush-" + id + "</SecretAccessKey><AccessKeyId>" +
         id + "</AccessKeyId><Expiration>" + expires +
         "</Expiration></Credentials></CreateSessionResult>";
}

/// A directory bucket: it gives out sessions, and takes nothing else.
struct directory_bucket {
  directory_bucket() {
    fake.bucket = "data--euz1-az1--x-s3";
    for (const char* id : {"SESSION1", "SESSION2", "SESSION3"})
      fake.secrets[id] = std::string("hush-") + id;
    fake.instead = [this](const question& asked) -> std::optional<answer> {
      const std::string scope =
          fake_s3::between(asked.raw.header("authorization"), "Credential=", ",");
      if (scope.find("/s3express/aws4_request") == scope.npos)
        return fake_s3::refusal(403, "AccessDenied");
      if (asked.query.count("session") != 0) return session(asked);
      const std::string current = std::to_string(sessions);
      const bool known =
          scope.starts_with("SESSION" + current + "/") &&
          asked.raw.header("x-amz-s3session-token") == "token+" + current &&
          asked.raw.header("authorization").find("x-amz-s3session-token") != std::string::npos &&
          asked.raw.header("x-amz-security-token").empty();
      if (!known || is_over) {
        is_over = false;
        return asked.raw.method == "HEAD" ? answer{400} : fake_s3::refusal(400, "ExpiredToken");
      }
      return std::nullopt;
    };
  }

  answer session(const question& asked) {
    if (asked.raw.header("x-amz-security-token") == old_token)
      return fake_s3::refusal(400, "ExpiredToken");
    ++sessions;
    const auto end = mds::net::wall_clock::now() + std::chrono::minutes(5);
    const std::string id = std::to_string(sessions);
    return {200, said.empty() ? session_text("SESSION" + id, "token+" + id, iso(end)) : said};
  }

  static std::string iso(mds::net::wall_clock::time_point at) {
    const std::string text = mds::net::basic_timestamp(at);  // 20130524T000000Z
    return text.substr(0, 4) + '-' + text.substr(4, 2) + '-' + text.substr(6, 5) + ':' +
           text.substr(11, 2) + ':' + text.substr(13);
  }

  [[nodiscard]] mds::store::s3_options options() const {
    auto out = options_for(fake);
    auto keys = right_keys();
    keys.session_token = "hush-of-role";
    out.credentials = mds::net::explicit_aws_credentials(keys);
    return out;
  }

  [[nodiscard]] std::vector<scripted_request> asked_for_sessions() const {
    std::vector<scripted_request> out = fake.requests();
    std::erase_if(out, [](const scripted_request& each) {
      return each.target.find("session") == std::string::npos;
    });
    return out;
  }

  fake_s3::server fake;
  int sessions = 0;
  bool is_over = false;         ///< the session of the next request
  std::string said{};           ///< in place of a session
  std::string old_token = "-";  ///< of a role whose credentials have expired
};

TEST_CASE("a directory bucket is used with a session, which is asked for once", "[s3]") {
  mds::runtime threads(1);
  directory_bucket bucket;
  const s3 store(threads, bucket.fake.s3_url("c4"), bucket.options());
  mds::store_write(store, "a", mds::as_bytes("content"));
  CHECK(mds::store_size(store, "a") == 7);
  CHECK(mds::as_text(mds::read_all(store, "a")) == "content");
  mds::store_remove(store, "a");
  CHECK(bucket.fake.objects().empty());
  const auto asked = bucket.asked_for_sessions();
  REQUIRE(asked.size() == 1);
  CHECK(asked.front().method == "GET");
  CHECK(asked.front().target == "/data--euz1-az1--x-s3?session=");
  CHECK(asked.front().header("x-amz-security-token") == "hush-of-role");
  CHECK(asked.front().header("x-amz-s3session-token").empty());
  CHECK(bucket.fake.requests().front().target == asked.front().target);
  // The credentials behind the session go nowhere else.
  for (const scripted_request& each : bucket.fake.requests()) {
    if (each.target.find("session=") != std::string::npos) continue;
    CHECK(each.header("x-amz-security-token").empty());
    CHECK(each.header("authorization").find("AKFAKE") == std::string::npos);
  }
}

TEST_CASE("a session is used for four of its five minutes, then another is asked for", "[s3]") {
  auto now = mds::net::wall_clock::now();
  int asked = 0;
  struct sessions {
    mds::net::wall_clock::time_point& now;
    int& asked;
    void async_find(std::stop_token, mds::diagnostics&,
                    mds::net::aws_credentials_handler done) const {
      ++asked;
      auto keys = right_keys();
      keys.expires = now + std::chrono::minutes(5);
      done({}, keys);
    }
  };
  const mds::net::cached_keys<mds::net::aws_credentials> kept(
      mds::net::any_aws_credentials(sessions{now, asked}),
      mds::detail::s3_session_credentials::margin, [&now] { return now; });
  const auto use = [&] {
    mds::diagnostics where;
    kept.async_find({}, where, [](std::error_code code, const auto& keys) {
      CHECK_FALSE(code);
      CHECK(keys);
    });
  };
  use();
  now += std::chrono::seconds(239);
  use();
  CHECK(asked == 1);
  now += std::chrono::seconds(1);
  use();
  CHECK(asked == 2);
}

TEST_CASE("a session that is over is replaced, and the request sent again", "[s3]") {
  mds::runtime threads(1);
  directory_bucket bucket;
  bucket.fake.put("a", "content");
  const s3 store(threads, bucket.fake.s3_url(), bucket.options());
  CHECK(mds::store_size(store, "a") == 7);
  bucket.is_over = true;
  CHECK(mds::as_text(mds::read_all(store, "a")) == "content");
  bucket.is_over = true;
  CHECK(mds::store_size(store, "a") == 7);  // S3's answer to a HEAD has no words
  CHECK(bucket.sessions == 3);
}

TEST_CASE("expired credentials are asked for anew before a session fails", "[s3]") {
  mds::runtime threads(1);
  directory_bucket bucket;
  bucket.fake.put("a", "content");
  bucket.old_token = "hush-old";
  struct renewing {
    std::shared_ptr<int> asked = std::make_shared<int>(0);
    bool renews = true;
    void async_find(std::stop_token, mds::diagnostics&,
                    mds::net::aws_credentials_handler done) const {
      auto keys = right_keys();
      keys.session_token = ++*asked == 1 || !renews ? "hush-old" : "hush-new";
      done({}, keys);
    }
  };
  auto options = bucket.options();
  const renewing role;
  options.credentials = role;
  CHECK(mds::store_size(s3(threads, bucket.fake.s3_url(), options), "a") == 7);
  CHECK(*role.asked == 2);
  CHECK(bucket.sessions == 1);
  const renewing lost{.renews = false};
  options.credentials = lost;
  expect_error([&] { (void)mds::store_size(s3(threads, bucket.fake.s3_url(), options), "a"); },
               errc::permission_denied,
               {"the session with the bucket data--euz1-az1--x-s3", "ExpiredToken", "the test"});
  CHECK(*lost.asked == 2);
}

TEST_CASE("directories are listed, in whatever order, and what was not asked for left out",
          "[s3]") {
  mds::runtime threads(1);
  directory_bucket bucket;
  const auto inner = bucket.fake.instead;
  bucket.fake.instead = [&](const question& asked) -> std::optional<answer> {
    if (auto own = inner(asked)) return own;
    if (asked.query.count("list-type") == 0) return std::nullopt;
    const bool first = asked.query.count("continuation-token") == 0;
    const auto object = [](const char* key) {
      return "<Contents><Key>" + std::string(key) +
             "</Key><Size>1</Size><ETag>\"d41d8cd98f00b204e9800998ecf8427e\"</ETag></Contents>";
    };
    return answer{200, "<ListBucketResult>" +
                           (first ? object("c4/train/b") + object("c4/index.json") +
                                        "<IsTruncated>true</IsTruncated><NextContinuationToken>n"
                                        "</NextContinuationToken>"
                                  : object("c4/train/a")) +
                           "</ListBucketResult>"};
  };
  const s3 store(threads, bucket.fake.s3_url("c4"), bucket.options());
  CHECK(keys_of(store, "tr") == std::vector<std::string>{"train/a", "train/b"});
  std::vector<std::string> prefixes;
  for (const scripted_request& each : bucket.fake.requests()) {
    if (each.target.find("prefix=") != std::string::npos)
      prefixes.push_back(fake_s3::between(each.target + '&', "prefix=", "&"));
  }
  CHECK(prefixes == std::vector<std::string>{"c4%2F", "c4%2F"});
  // An ETag of a directory bucket is no MD5, whatever it looks like.
  for (const auto& each : mds::store_list(store, "")) {
    CHECK(each.digest.empty());
    CHECK_FALSE(each.tag.empty());
  }
}

TEST_CASE("an answer that is no session is refused, and nothing of it quoted", "[s3]") {
  mds::runtime threads(1);
  const std::string end = directory_bucket::iso(mds::net::wall_clock::now());
  const std::string whole = session_text("SESSION1", "hush-token", end);
  for (const std::string& text :
       {std::string("hush"), whole.substr(0, whole.size() / 2), session_text("", "hush", end),
        session_text("SESSION1", "", end), session_text("SESSION1", "hush", "hush"),
        session_text("SESSION1", "hush", ""), std::string("<hush/>")}) {
    INFO(text);
    directory_bucket bucket;
    bucket.said = text;
    const s3 store(threads, bucket.fake.s3_url(), bucket.options());
    expect_error([&] { (void)mds::store_size(store, "a"); }, errc::permission_denied,
                 {"the session with the bucket data--euz1-az1--x-s3", "gave no credentials"});
    CHECK(bucket.fake.requests().size() == 1);
  }
}

TEST_CASE("a session is not asked for over http, nor without credentials", "[s3]") {
  mds::runtime threads(1);
  directory_bucket bucket;
  auto options = bucket.options();
  options.endpoint = "http://store.example";
  const s3 far(threads, bucket.fake.s3_url(), options);
  expect_error([&] { (void)mds::store_size(far, "a"); }, errc::permission_denied,
               {"over http", "store.example"});
  options = bucket.options();
  options.credentials = mds::net::anonymous_aws_credentials();
  const s3 nobody(threads, bucket.fake.s3_url(), options);
  expect_error([&] { (void)mds::store_size(nobody, "a"); }, errc::permission_denied,
               {"directory bucket", "credentials"});
  CHECK(bucket.fake.requests().empty());
}

TEST_CASE("a URL of a directory bucket is signed with the session", "[s3]") {
  mds::runtime threads(1);
  directory_bucket bucket;
  const s3 store(threads, bucket.fake.s3_url(), bucket.options());
  const std::string url = store.presigned_url("a", std::chrono::minutes(2));
  CHECK(url.find("X-Amz-S3session-Token=token%2B1&") != std::string::npos);
  CHECK(url.find("X-Amz-Credential=SESSION1%2F") != std::string::npos);
  CHECK(url.find("s3express") != std::string::npos);
  CHECK(url.find("Security-Token") == std::string::npos);
}

TEST_CASE("sessions can be turned off", "[s3]") {
  mds::runtime threads(1);
  fake_s3::server fake;
  fake.bucket = "data--euz1-az1--x-s3";
  fake.put("a", "content");
  auto options = options_for(fake);
  options.variables =
      keys::variables({{"HOME", "/nonexistent"}, {"AWS_S3_DISABLE_EXPRESS_SESSION_AUTH", "true"}});
  CHECK(mds::store_size(s3(threads, fake.s3_url(), options), "a") == 7);
  REQUIRE(fake.requests().size() == 1);
  CHECK(fake.requests().front().header("authorization").find("/s3express/aws4_request") !=
        std::string::npos);
}

}  // namespace s3_express_test
