#include <mdstream/core/json/value.hpp>
#include <mdstream/store/detail/s3/access.hpp>

#include <mdstream/store/retrying.hpp>
#include <mdstream/store/s3.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "s3/with_fake.hpp"
#include "store/conformance.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace s3_client_test {

using namespace with_fake;
using fake_s3::refusal;
using mds::store::s3_options;
using mds::store::s3_payload;

/// A provider that gives other keys each time it is asked.
class renewing {
 public:
  explicit renewing(std::vector<std::string> tokens) : tokens_(std::move(tokens)) {}
  void async_find(std::stop_token, mds::diagnostics&,
                  mds::net::aws_credentials_handler done) const {
    mds::net::aws_credentials keys = right_keys();
    keys.session_token = tokens_[std::min(*asked_, tokens_.size() - 1)];
    ++*asked_;
    done({}, keys);
  }

 private:
  std::vector<std::string> tokens_;
  std::shared_ptr<std::size_t> asked_ = std::make_shared<std::size_t>(0);
};

TEST_CASE("every request has a signature that stands up to a strict server", "[s3]") {
  mds::runtime threads(2);
  for (const auto payload : {s3_payload::automatic, s3_payload::chunks, s3_payload::none}) {
    fake_s3::server fake;
    fake.page = 2;
    s3_options options = options_for(fake);
    options.payload = payload;
    conformance::check_store(s3(threads, fake.s3_url("a prefix/ü"), options));
    for (const auto& each : fake.requests()) CHECK_FALSE(each.header("authorization").empty());
  }
}

bool is_in(const fake_s3::scripted_request& asked, const std::string& text) {
  return asked.target.find(text) != std::string::npos;
}

TEST_CASE("uploads say how they are stored, encrypted and tagged; all requests who owns the bucket",
          "[s3]") {
  mds::runtime threads(1);
  fake_s3::server fake;
  s3_options options = options_for(fake);
  options.storage_class = "STANDARD_IA";
  options.server_side_encryption = "aws:kms";
  options.kms_key_id = "arn:aws:kms:eu-west-1:1:key/a";
  options.tags = {{"team", "a b"}, {"run", "7&8"}};
  options.headers = {{"x-amz-expected-bucket-owner", "123456789012"}};
  options.part_bytes = {5U << 20U};
  const s3 store(threads, fake.s3_url(), options);
  mds::store_write(store, "small", mds::as_bytes("1"));
  CHECK(mds::read_all(store, "small").size() == 1);
  mds::store_write(store, "large", std::vector<std::byte>(6U << 20U));
  std::size_t begun = 0;
  for (const auto& each : fake.requests()) {
    INFO(each.method << ' ' << each.target);
    const bool begins = is_in(each, "uploads=") || (each.method == "PUT" && !is_in(each, "?"));
    begun += begins ? 1U : 0U;
    const auto says = [&](const std::string& name, const std::string& value) {
      CHECK(each.header(name) == (begins ? value : ""));
    };
    CHECK(each.header("x-amz-expected-bucket-owner") == "123456789012");
    says("x-amz-storage-class", "STANDARD_IA");
    says("x-amz-server-side-encryption", "aws:kms");
    says("x-amz-server-side-encryption-aws-kms-key-id", options.kms_key_id);
    says("x-amz-tagging", "team=a%20b&run=7%268");
  }
  CHECK(begun == 2);
}

TEST_CASE("a customer's key goes along with what reads or writes an object, and into no message",
          "[s3]") {
  mds::runtime threads(1);
  fake_s3::server fake;
  s3_options options = options_for(fake);
  options.customer_key = "0123456789abcdefghijklmnopqrstuv";
  options.part_bytes = {5U << 20U};
  const s3 store(threads, fake.s3_url(), options);
  const std::string prefix = "x-amz-server-side-encryption-customer-";
  const std::string text = "MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dXY=";
  mds::store_write(store, "a", std::vector<std::byte>(6U << 20U));
  CHECK(mds::read_all(store, "a").size() == 6U << 20U);
  CHECK(mds::store_list(store, "").size() == 1);
  mds::store_remove(store, "a");
  for (const auto& each : fake.requests()) {
    INFO(each.method << ' ' << each.target);
    const bool of_object = is_in(each, "/bucket/a") && each.method != "DELETE";
    CHECK(each.header(prefix + "key") == (of_object ? text : ""));
    CHECK(each.header(prefix + "algorithm") == (of_object ? "AES256" : ""));
    CHECK(each.header(prefix + "key-md5") == (of_object ? "qkvGcbTBx6OOKYAPUO9jRg==" : ""));
  }
  fake.instead = [&](const question&) -> std::optional<answer> {
    return answer{403,
                  "<Error><Code>AccessDenied</Code><Message>not " + text + "</Message></Error>"};
  };
  const auto failure = error_of([&] { (void)mds::read_all(store, "a"); });
  REQUIRE(failure);
  CHECK(std::string(failure->what()).find("not ") != std::string::npos);
  CHECK(std::string(failure->what()).find(text) == std::string::npos);
  expect_error([&] { (void)store.presigned_url("a", std::chrono::seconds(5)); }, errc::unsupported,
               {"customer_key"});
}

TEST_CASE("temporary keys send their token, signed", "[s3]") {
  mds::runtime threads(1);
  fake_s3::server fake;
  s3_options options = options_for(fake);
  options.credentials = renewing({"to/ken+="});
  mds::store_write(s3(threads, fake.s3_url(), options), "x", mds::as_bytes("1"));
  CHECK(fake.requests().front().header("x-amz-security-token") == "to/ken+=");
}

TEST_CASE("who has no keys signs nothing", "[s3]") {
  mds::runtime threads(1);
  fake_s3::server fake;
  fake.is_public = true;
  fake.put("x", "public");
  s3_options options = options_for(fake);
  options.credentials.reset();  // and the environment has none
  CHECK(mds::read_all(s3(threads, fake.s3_url(), options), "x").size() == 6);
  CHECK(mds::read_all(s3(threads, fake.s3_url() + "?anonymous=true", options_for(fake)), "x")
            .size() == 6);
  for (const auto& each : fake.requests()) {
    for (const auto& [name, value] : each.headers) CHECK_FALSE(name.starts_with("x-amz-"));
    CHECK(each.header("authorization").empty());
  }
  fake.is_public = false;
  expect_error([&] { (void)mds::store_size(s3(threads, fake.s3_url(), options), "x"); },
               errc::permission_denied, {"nobody (anonymous)"});
}

TEST_CASE("a store says where its credentials came from, and not what they are", "[s3]") {
  mds::runtime threads(1);
  fake_s3::server fake;
  fake.put("x", "1");
  s3_options options = options_for(fake);
  options.credentials = mds::net::explicit_aws_credentials(right_keys());
  const s3 store(threads, fake.s3_url(), options);
  const mds::opened_store around = mds::retrying(threads, store, {});
  CHECK(around.credentials().empty());  // nothing was asked yet
  CHECK(mds::read_all(store, "x").size() == 1);
  CHECK(around.credentials() == "the test");
  CHECK(store.credentials() == "the test");
  const s3 of_nobody(threads, fake.s3_url() + "?anonymous=true", options_for(fake));
  fake.is_public = true;
  CHECK(mds::read_all(of_nobody, "x").size() == 1);
  CHECK(of_nobody.credentials() == "nobody (anonymous)");
}

TEST_CASE("a bucket's region is learnt from its refusal, once", "[s3]") {
  mds::runtime threads(1);
  fake_s3::server fake;
  s3_options options = options_for(fake);
  options.region = "us-east-1";
  const s3 store(threads, fake.s3_url(), options);
  mds::store_write(store, "x", mds::as_bytes("1"));
  CHECK(mds::store_size(store, "x") == 1);
  CHECK(fake.requests().size() == 3);  // one was refused

  const s3 by_head(threads, fake.s3_url(),
                   options);  // whose answer has the region in a header alone
  CHECK(mds::store_size(by_head, "x") == 1);
  CHECK(fake.requests().size() == 5);
}

TEST_CASE("who has no keys learns a public bucket's region, too", "[s3]") {
  mds::runtime threads(1);
  fake_s3::server fake;
  fake.is_public = true;
  fake.put("x", "public");
  bool redirected = false;
  fake.instead = [&](const question&) -> std::optional<answer> {
    if (std::exchange(redirected, true)) return std::nullopt;
    return refusal(301, "PermanentRedirect", "", "x-amz-bucket-region: eu-south-7\r\n");
  };
  s3_options options = options_for(fake);
  options.region = "us-east-1";
  options.credentials.reset();
  const s3 store(threads, fake.s3_url(), options);
  CHECK(mds::store_size(store, "x") == 6);
  CHECK(fake.requests().size() == 2);
  CHECK(mds::read_all(store, "x").size() == 6);
}

TEST_CASE("a region that helps nothing is tried once", "[s3]") {
  mds::runtime threads(1);
  fake_s3::server fake;
  fake.instead = [](const question&) {
    return refusal(301, "PermanentRedirect", "",
                   "x-amz-bucket-region: nowhere-1\r\n"
                   "Location: http://127.0.0.1:1/\r\n");
  };
  const s3 store(threads, fake.s3_url(), options_for(fake));
  CHECK(error_of([&] { (void)mds::store_list(store, ""); }).has_value());
  CHECK(fake.requests().size() == 2);
}

TEST_CASE("a clock that is wrong is set by the server's, once", "[s3]") {
  mds::runtime threads(1);
  for (const auto ahead : {std::chrono::hours(3), std::chrono::hours(-24 * 400)}) {
    fake_s3::server fake;
    fake.ahead = ahead;
    const s3 store(threads, fake.s3_url(), options_for(fake));
    mds::store_write(store, "x", mds::as_bytes("1"));
    CHECK(mds::store_size(store, "x") == 1);
    CHECK(fake.requests().size() == 3);
    const s3 by_head(threads, fake.s3_url(), options_for(fake));
    CHECK(mds::store_size(by_head, "x") == 1);
    CHECK(fake.requests().size() == 5);
  }
}

TEST_CASE("a stop while credentials are renewed is what the call ends with", "[s3]") {
  struct stopping {
    void async_find(std::stop_token, mds::diagnostics& where,
                    mds::net::aws_credentials_handler done) const {
      if (std::exchange(*asked, true)) {
        where.what = "stopped";
        return done(errc::canceled, std::nullopt);
      }
      mds::net::aws_credentials keys = right_keys();
      keys.session_token = "old";
      done({}, keys);
    }
    std::shared_ptr<bool> asked = std::make_shared<bool>(false);
  };
  mds::runtime threads(1);
  fake_s3::server fake;
  fake.expired_tokens = {"old"};
  s3_options options = options_for(fake);
  options.credentials = stopping();
  expect_error([&] { (void)mds::store_size(s3(threads, fake.s3_url(), options), "x"); },
               errc::canceled);
}

TEST_CASE("expired credentials are asked for again; the same ones are an error", "[s3]") {
  mds::runtime threads(1);
  fake_s3::server fake;
  fake.expired_tokens = {"old"};
  s3_options options = options_for(fake);
  options.credentials = renewing({"old", "new"});
  const s3 store(threads, fake.s3_url(), options);
  mds::store_write(store, "x", mds::as_bytes("1"));
  mds::store_write(store, "y", mds::as_bytes("1"));
  CHECK(fake.requests().size() == 3);
  options.credentials = renewing({"old", "new"});
  CHECK(mds::store_size(s3(threads, fake.s3_url(), options), "x") == 1);  // HEAD: a bare 400

  options.credentials = renewing({"old"});
  const s3 stuck(threads, fake.s3_url(), options);
  const std::size_t before = fake.requests().size();
  expect_error([&] { (void)mds::store_list(stuck, ""); }, errc::permission_denied,
               {"ExpiredToken", "the test", "s3://bucket"});
  CHECK(fake.requests().size() == before + 1);
  expect_error([&] { (void)mds::store_size(stuck, "x"); }, errc::permission_denied, {"the test"});
  CHECK(fake.requests().size() == before + 2);
}

TEST_CASE("expired credentials that cannot be renewed are an error with the reason", "[s3]") {
  struct failing {
    errc later;
    std::shared_ptr<bool> asked = std::make_shared<bool>(false);
    void async_find(std::stop_token, mds::diagnostics& where,
                    mds::net::aws_credentials_handler done) const {
      if (std::exchange(*asked, true)) {
        where = {.what = "STS does not answer", .url = "https://sts", .cause = "no route"};
        return done(later, std::nullopt);
      }
      mds::net::aws_credentials keys = right_keys();
      keys.session_token = "old";
      done({}, keys);
    }
  };
  mds::runtime threads(1);
  fake_s3::server fake;
  fake.expired_tokens = {"old"};
  s3_options options = options_for(fake);
  const auto code_after = [&](errc later) {
    options.credentials = failing{later};
    const s3 store(threads, fake.s3_url(), options);
    const auto e = error_of([&] { (void)mds::store_list(store, ""); });
    REQUIRE(e);
    const std::string text = e->what();
    INFO(text);
    for (const char* each : {"ExpiredToken", "STS does not answer", "https://sts", "no route"}) {
      CHECK(text.find(each) != std::string::npos);
    }
    return e->code();
  };
  CHECK(code_after(errc::unavailable) == errc::unavailable);
  CHECK(code_after(errc::invalid_argument) == errc::permission_denied);
}

TEST_CASE("wrong credentials are an error after one round trip", "[s3]") {
  mds::runtime threads(1);
  fake_s3::server fake;
  s3_options options = options_for(fake);
  mds::net::aws_credentials keys = right_keys();
  keys.secret_access_key = "hush-hush";
  options.credentials = mds::net::explicit_aws_credentials(keys);
  expect_error([&] { (void)mds::store_list(s3(threads, fake.s3_url(), options), ""); },
               errc::permission_denied, {"SignatureDoesNotMatch", "the test"});
  keys.access_key_id = "unknown";
  options.credentials = mds::net::explicit_aws_credentials(keys);
  expect_error([&] { (void)mds::store_list(s3(threads, fake.s3_url(), options), ""); },
               errc::permission_denied, {"InvalidAccessKeyId", "the test"});
  CHECK(fake.requests().size() == 2);
}

TEST_CASE("the error of a provider that fails has what it says", "[s3]") {
  mds::runtime threads(1);
  fake_s3::server fake;
  s3_options options = options_for(fake);
  options.credentials =
      mds::net::environment_aws_credentials(keys::variables({{"AWS_ACCESS_KEY_ID", "x"}}));
  expect_error([&] { (void)mds::store_size(s3(threads, fake.s3_url(), options), "x"); },
               errc::permission_denied, {"AWS_SECRET_ACCESS_KEY", "s3://bucket/x"});
  CHECK(fake.requests().empty());
}

TEST_CASE("who pays is said on every request, and who may read on uploads", "[s3]") {
  mds::runtime threads(1);
  fake_s3::server fake;
  fake.requester_pays = true;
  s3_options options = options_for(fake);
  expect_error([&] { (void)mds::store_list(s3(threads, fake.s3_url(), options), ""); },
               errc::permission_denied, {"MOSAICML_STREAMING_AWS_REQUESTER_PAYS"});
  options.requester_pays = true;
  options.canned_acl = "bucket-owner-full-control";
  options.part_bytes = 100;
  const s3 store(threads, fake.s3_url(), options);
  mds::store_write(store, "x", std::vector<std::byte>(250));
  mds::store_write(store, "y", mds::as_bytes("1"));
  CHECK(mds::store_list(store, "").size() == 2);
  mds::store_remove(store, "x");
  std::size_t with_acl = 0;
  for (const auto& each : fake.requests()) {
    with_acl += each.header("x-amz-acl") == "bucket-owner-full-control" ? 1 : 0;
  }
  CHECK(with_acl == 2);  // the upload in parts when it begins, and the PUT
}

TEST_CASE("nothing that was sent in secret comes back in a message", "[s3]") {
  mds::runtime threads(1);
  fake_s3::server fake;
  s3_options options = options_for(fake);
  options.credentials = renewing({"the-token"});
  fake.instead = [](const question& asked) {
    return answer{403, "<Error><Code>AccessDenied</Code><Message>" +
                           asked.raw.header("authorization") +
                           asked.raw.header("x-amz-security-token") + "\n\x01</Message></Error>"};
  };
  const auto e = error_of([&] { (void)mds::store_list(s3(threads, fake.s3_url(), options), ""); });
  REQUIRE(e);
  const std::string text = e->what();
  INFO(text);
  for (const char* secret : {"the-token", "AKFAKE", "Signature=", "se/cret"}) {
    CHECK(text.find(secret) == std::string::npos);
  }
}

TEST_CASE("answers that pass are told apart from those that do not", "[s3]") {
  mds::runtime threads(1);
  fake_s3::server fake;
  const s3 store(threads, fake.s3_url(), options_for(fake));
  const auto code_for = [&](answer given) {
    fake.instead = [given](const question&) { return given; };
    const auto e = error_of([&] { mds::store_write(store, "x", mds::as_bytes("1")); });
    REQUIRE(e);
    return e->code();
  };
  CHECK(code_for(refusal(503, "SlowDown")) == errc::unavailable);
  CHECK(code_for(refusal(500, "InternalError")) == errc::unavailable);
  CHECK(code_for(refusal(400, "RequestTimeout")) == errc::unavailable);
  CHECK(code_for(refusal(409, "OperationAborted")) == errc::unavailable);
  CHECK(code_for(refusal(403, "AccessDenied")) == errc::permission_denied);
  CHECK(code_for(refusal(404, "NoSuchBucket")) == errc::not_found);
  CHECK(code_for(refusal(400, "EntityTooLarge")) == errc::invalid_argument);
  CHECK(code_for({502, "<html>"}) == errc::unavailable);
}

TEST_CASE("the pause that a server asks for is passed on", "[s3]") {
  mds::runtime threads(1);
  fake_s3::server fake;
  fake.instead = [](const question&) { return refusal(503, "SlowDown", "", "Retry-After: 7\r\n"); };
  const s3 store(threads, fake.s3_url(), options_for(fake));
  const auto e = error_of([&] { (void)mds::store_list(store, ""); });
  REQUIRE(e);
  CHECK(e->where().retry_after == std::chrono::seconds(7));
}

}  // namespace s3_client_test
