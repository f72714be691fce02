#include <mdstream/core/json/value.hpp>
#include <mdstream/store/detail/cloud/checksums.hpp>
#include <mdstream/store/detail/cloud/client.hpp>
#include <mdstream/store/detail/s3/api.hpp>

#include <mdstream/store/detail/s3/part_tags.hpp>
#include <mdstream/store/retrying.hpp>
#include <mdstream/store/s3.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "net/http_calls.hpp"
#include "s3/with_fake.hpp"
#include "store/conformance.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace s3_multipart_test {

using namespace with_fake;
using fake_s3::refusal;
using mds::store::s3_options;
using mds::store::s3_payload;

const std::vector<std::byte> large = conformance::noise(1050, 5);

s3_options in_parts(const fake_s3::server& fake) {
  s3_options options = options_for(fake);
  options.part_bytes = 100;
  return options;
}

bool is_part(const question& asked) {
  return asked.raw.method == "PUT" && asked.query.count("partNumber") != 0;
}
bool is_end(const question& asked) {
  return asked.raw.method == "POST" && asked.query.count("uploadId") != 0;
}

std::string stored(fake_s3::server& fake) { return fake.objects()["large"]; }
std::string sent() { return std::string(mds::as_text(large)); }

TEST_CASE("what no signature covers is uploaded with its CRC32C", "[s3]") {
  for (const bool service_knows : {true, false}) {
    fake_s3::server fake;
    fake.afterwards = [&](const question& asked, answer& out) {
      if (service_knows && asked.query.count("uploads") != 0) {
        out.headers += "x-amz-checksum-algorithm: CRC32C\r\n";
      }
    };
    mds::runtime threads(1);
    s3_options options = in_parts(fake);
    options.payload = s3_payload::none;
    const s3 store(threads, fake.s3_url(), options);
    mds::store_write(store, "large", large);
    mds::store_write(store, "small", mds::bytes_view(large).first(50));
    CHECK(stored(fake) == sent());
    for (const auto& each : fake.requests()) {
      const auto asks = [&](const char* what) {
        return each.target.find(what) != std::string::npos;
      };
      const bool carries = each.method == "PUT" && (service_knows || !asks("partNumber="));
      INFO(each.method << ' ' << each.target);
      CHECK(each.header("x-amz-checksum-crc32c") ==
            (carries ? mds::detail::cloud::crc32c_text(mds::as_bytes(each.body), {}) : ""));
      CHECK((each.header("x-amz-checksum-algorithm") == "CRC32C") == asks("?uploads"));
      const bool ends = each.method == "POST" && asks("uploadId=");
      CHECK((each.body.find("<ChecksumCRC32C>") != std::string::npos) == (ends && service_knows));
    }
  }
}

TEST_CASE("the fake takes no upload whose checksum is another's", "[s3]") {
  fake_s3::server fake;
  fake.is_public = true;
  mds::runtime threads(1);
  const mds::net::http_client client(threads);
  const auto put = [&](const std::string& name, const std::string& checksum) {
    return http_calls::send(client, {.method = "PUT",
                                     .url = fake.url() + "/bucket/digits",
                                     .headers = {{"x-amz-checksum-" + name, checksum}},
                                     .body = mds::net::http_body::of(mds::as_bytes("123456789"))})
        .answer.status;
  };
  CHECK(put("crc32c", "4waSgw==") == 200);
  CHECK(put("crc32c", "4waSgA==") == 400);
  CHECK(put("unheard-of", "4waSgw==") == 400);
}

TEST_CASE("parts are large enough that S3 takes their number", "[s3]") {
  const mds::detail::upload_plan plan{.part_bytes = 16 << 20};
  CHECK(plan.part_size(1) == 16 << 20);
  CHECK(plan.part_size(std::uint64_t{5} << 40) == ((std::uint64_t{5} << 40) + 9999) / 10000);
  CHECK(mds::detail::upload_plan{.part_bytes = 0}.part_size(0) == 1);
}

TEST_CASE("an upload in parts is the object, with every part sent once", "[s3]") {
  mds::runtime threads(2);
  fake_s3::server fake;
  mds::store_write(s3(threads, fake.s3_url(), in_parts(fake)), "large", large);
  CHECK(stored(fake) == sent());
  CHECK(fake.uploads() == 0);
  CHECK(fake.requests().size() == 13);
}

TEST_CASE("what was read for an upload is reported, stretch by stretch", "[s3]") {
  const auto [payload, times] =
      GENERATE(table<s3_payload, std::size_t>({{s3_payload::whole, 2},  // hashed, then sent
                                               {s3_payload::chunks, 1},
                                               {s3_payload::none, 1}}));
  INFO("payload " << static_cast<int>(payload));
  mds::runtime threads(2);
  fake_s3::server fake;
  s3_options options = options_for(fake);
  options.part_bytes = 3 << 20;
  options.payload = payload;
  const std::vector<std::byte> object = conformance::noise(7 << 20, 6);
  std::mutex mutex;
  std::size_t read = 0, longest = 0;
  options.http.body_read = [&](mds::bytes_view some) {
    const std::lock_guard lock(mutex);
    const bool of_object =
        some.data() >= object.data() && some.data() + some.size() <= object.data() + object.size();
    if (!of_object) return;  // a message's text
    read += some.size();
    longest = std::max(longest, some.size());
  };
  mds::store_write(s3(threads, fake.s3_url(), options), "large", object);
  CHECK((fake.objects()["large"] == mds::as_text(object)));
  const std::lock_guard lock(mutex);
  CHECK(read == times * object.size());
  CHECK(longest <= 1 << 20);
}

TEST_CASE("a part that fails is sent again, and nothing else is", "[s3]") {
  mds::runtime threads(2);
  fake_s3::server fake;
  std::set<std::string> failed;
  fake.instead = [&](const question& asked) -> std::optional<answer> {
    if (!is_part(asked)) return std::nullopt;
    const bool first = failed.insert(asked.query.at("partNumber")).second;
    if (!first) return std::nullopt;
    return refusal(503, "SlowDown");
  };
  mds::store_write(s3(threads, fake.s3_url(), in_parts(fake)), "large", large);
  CHECK(stored(fake) == sent());
  CHECK(fake.requests().size() == 13 + 11);
}

TEST_CASE("an upload that fails is aborted", "[s3]") {
  mds::runtime threads(2);
  const auto fails = [&](auto instead, errc code) {
    fake_s3::server fake;
    fake.instead = instead;
    const s3 store(threads, fake.s3_url(), in_parts(fake));
    expect_error([&] { mds::store_write(store, "large", large); }, code, {"s3://bucket/large"});
    CHECK(fake.uploads() == 0);
    CHECK(fake.objects().empty());
  };
  fails(
      [](const question& asked) -> std::optional<answer> {
        if (is_part(asked) && asked.query.at("partNumber") == "7")
          return refusal(403, "AccessDenied");
        return std::nullopt;
      },
      errc::permission_denied);
  fails(
      [](const question& asked) -> std::optional<answer> {
        if (is_part(asked)) return refusal(503, "SlowDown");
        return std::nullopt;
      },
      errc::unavailable);
  fails(
      [](const question& asked) -> std::optional<answer> {
        if (is_part(asked)) return answer{200};  // without a tag
        return std::nullopt;
      },
      errc::corrupt);
  fails(
      [](const question& asked) -> std::optional<answer> {
        if (is_end(asked)) return refusal(400, "EntityTooSmall");
        return std::nullopt;
      },
      errc::invalid_argument);
  fails(
      [](const question& asked) -> std::optional<answer> {
        if (is_end(asked)) return refusal(200, "InternalError");  // 200 came before it was known
        return std::nullopt;
      },
      errc::unavailable);
  fails(
      [](const question& asked) -> std::optional<answer> {
        if (is_end(asked)) return refusal(412, "PreconditionFailed");  // of a condition nobody set
        return std::nullopt;
      },
      errc::corrupt);
  fails(
      [](const question& asked) -> std::optional<answer> {
        if (asked.query.count("uploads") != 0) return refusal(403, "AccessDenied");
        return std::nullopt;
      },
      errc::permission_denied);
  fails(
      [](const question& asked) -> std::optional<answer> {
        if (asked.query.count("uploads") != 0) return answer{200, "<html>"};
        return std::nullopt;
      },
      errc::corrupt);
}

TEST_CASE("a service's late words do not repeat the token that was sent to it", "[s3]") {
  mds::runtime threads(1);
  fake_s3::server fake;
  fake.instead = [&](const question& asked) -> std::optional<answer> {
    if (!is_end(asked)) return std::nullopt;
    return answer{200, "<Error><Code>Odd</Code><Message>no " +
                           asked.raw.header("x-amz-security-token") + "</Message></Error>"};
  };
  s3_options options = in_parts(fake);
  mds::net::aws_credentials keys = right_keys();
  keys.session_token = "tokentoken";
  options.credentials = mds::net::explicit_aws_credentials(keys);
  const auto failure =
      error_of([&] { mds::store_write(s3(threads, fake.s3_url(), options), "large", large); });
  REQUIRE(failure);
  CHECK(std::string(failure->what()).find("Odd") != std::string::npos);
  CHECK(std::string(failure->what()).find("tokentoken") == std::string::npos);
}

TEST_CASE("an end that takes its time is waited for, not sent again", "[s3]") {
  mds::runtime threads(1);
  fake_s3::server fake;
  int ends = 0;
  fake.afterwards = [&](const question& asked, answer&) {
    if (!is_end(asked)) return;
    ++ends;
    // Beyond the window. A client that gives up later than this would pass, a right one never
    // fails.
    std::this_thread::sleep_for(std::chrono::seconds(3));
  };
  s3_options options = in_parts(fake);
  options.http.time.window = std::chrono::seconds(1);
  mds::store_write(s3(threads, fake.s3_url(), options), "large", large);
  CHECK(stored(fake) == sent());
  CHECK(ends == 1);
}

TEST_CASE("an end whose answer is lost is found to have come", "[s3]") {
  mds::runtime threads(2);
  fake_s3::server fake;
  bool lost = false;
  fake.afterwards = [&](const question& asked, answer& given) {
    if (is_end(asked) && !std::exchange(lost, true)) given = refusal(500, "InternalError");
  };
  mds::store_write(s3(threads, fake.s3_url(), in_parts(fake)), "large", large);
  CHECK(stored(fake) == sent());
}

TEST_CASE("only S3's own word makes an upload complete", "[s3]") {
  mds::runtime threads(2);
  for (const char* text :
       {"", "<html>signed in</html>", "<Error><Code>Intern", "<Error/>", "<a/>",
        "<CompleteMultipartUploadResult>", "<CompleteMultipartUploadResult/><a/>"}) {
    INFO(text);
    fake_s3::server fake;
    fake.instead = [&](const question& asked) -> std::optional<answer> {
      if (is_end(asked)) return answer{200, text};
      return std::nullopt;
    };
    const s3 store(threads, fake.s3_url(), in_parts(fake));
    expect_error([&] { mds::store_write(store, "large", large); }, errc::unavailable,
                 {"s3://bucket/large"});
    CHECK(fake.uploads() == 0);  // aborted
    CHECK(fake.objects().empty());
  }
  fake_s3::server fake;
  fake.afterwards = [](const question& asked, answer& given) {
    if (is_end(asked) && given.status == 200) {
      given.body =
          "<?xml version=\"1.0\"?>\n   \n <CompleteMultipartUploadResult "
          "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><ETag>&quot;x&quot;</ETag>"
          "</CompleteMultipartUploadResult>\n";
    }
  };
  mds::store_write(s3(threads, fake.s3_url(), in_parts(fake)), "large", large);
  CHECK(stored(fake) == sent());
}

TEST_CASE("an upload whose part fails for good is not begun anew", "[s3]") {
  mds::runtime threads(2);
  fake_s3::server fake;
  std::map<std::string, int> parts;
  int begun = 0;
  fake.instead = [&](const question& asked) -> std::optional<answer> {
    begun += asked.query.count("uploads") != 0 ? 1 : 0;
    if (!is_part(asked)) return std::nullopt;
    const std::string number = asked.query.at("partNumber");
    ++parts[number];
    if (number != "7") return std::nullopt;
    return refusal(503, "SlowDown");
  };
  const mds::retrying store(threads, s3(threads, fake.s3_url(), in_parts(fake)),
                            {.attempts = 8, .pause = std::chrono::microseconds(10)});
  expect_error([&] { mds::store_write(store, "large", large); }, errc::unavailable,
               {"s3://bucket/large"});
  CHECK(begun == 1);
  CHECK(parts["7"] == 4);
  CHECK(parts["1"] == 1);
  CHECK(fake.uploads() == 0);
}

/// Shows what its uploads share.
struct seen_s3 : s3 {
  using s3::client;
  using s3::s3;
};

TEST_CASE("the requests of all uploads share a budget, and get fewer where the store is overloaded",
          "[s3]") {
  mds::runtime threads(2);
  fake_s3::server fake;
  std::atomic<int> asked_for{0};
  fake.instead = [&](const question& asked) -> std::optional<answer> {
    if (!is_part(asked)) return std::nullopt;
    ++asked_for;
    return refusal(503, "SlowDown");
  };
  s3_options options = in_parts(fake);
  options.part_retry.attempts = 1000;
  options.parallel_parts = 1;
  const seen_s3 store(threads, fake.s3_url(), options);
  const std::size_t at_first = store.client().uploads()->most();
  while (store.client().budget().try_take()) {
  }
  store.client().budget().give_back(5);
  for (int i = 0; i < 3; ++i) {
    expect_error([&] { mds::store_write(store, "large", large); }, errc::unavailable,
                 {"the retry budget is spent"});
  }
  // What begins and aborts an upload succeeds, and earns half a repetition.
  CHECK(asked_for >= 3 + 5);
  CHECK(asked_for <= 3 + 5 + 3);
  CHECK(store.client().uploads()->most() < at_first);
  CHECK(store.client().uploads()->in_flight() == 0);
}

TEST_CASE("another's object of the same size is not taken for the upload", "[s3]") {
  mds::runtime threads(2);
  fake_s3::server fake;
  int ends = 0;
  fake.instead = [&](const question& asked) -> std::optional<answer> {
    if (!is_end(asked)) return std::nullopt;
    return ++ends == 1 ? refusal(500, "InternalError") : refusal(404, "NoSuchUpload");
  };
  fake.put("large", std::string(large.size(), 'x'));
  const s3 store(threads, fake.s3_url(), in_parts(fake));
  expect_error([&] { mds::store_write(store, "large", large); }, errc::not_found, {"NoSuchUpload"});
}

TEST_CASE("the ETag of parts is S3's, where they are MD5s", "[s3]") {
  // As Python's hashlib makes it of the parts "a" and "b".
  CHECK(mds::detail::tag_of_parts(
            {"\"0cc175b9c0f1b6a831c399e269772661\"", "\"92eb5ffee6ae2fec3ad71c777531578f\""}) ==
        "\"96e024ba2074fe77e8e965ba43a704be-2\"");
  CHECK_FALSE(mds::detail::tag_of_parts({"\"0cc175b9c0f1b6a831c399e269772661\"", "\"x\""}));
  CHECK_FALSE(mds::detail::tag_of_parts({"\"0cc175b9c0f1b6a831c399e26977266g\""}));
}

TEST_CASE("a stopped upload is aborted once, not for as long as uploads are tried", "[s3]") {
  mds::runtime threads(2);
  std::stop_source stop;  // before the server, whose threads use it
  int aborts = 0;
  fake_s3::server fake;
  fake.instead = [&](const question& asked) -> std::optional<answer> {
    if (asked.raw.method == "DELETE") {
      ++aborts;
      return refusal(503, "SlowDown");
    }
    if (is_part(asked)) stop.request_stop();
    return std::nullopt;
  };
  const s3 store(threads, fake.s3_url(), in_parts(fake));
  mds::diagnostics where;
  std::promise<std::error_code> over;
  store.async_write("large", large, stop.get_token(), where,
                    [&](std::error_code code) { over.set_value(code); });
  CHECK(over.get_future().get() == errc::canceled);
  CHECK(aborts == 1);
}

TEST_CASE("an upload gone without an object is a failure", "[s3]") {
  mds::runtime threads(2);
  fake_s3::server fake;
  int ends = 0;
  fake.instead = [&](const question& asked) -> std::optional<answer> {
    if (!is_end(asked)) return std::nullopt;
    return ++ends == 1 ? refusal(500, "InternalError") : refusal(404, "NoSuchUpload");
  };
  const s3 store(threads, fake.s3_url(), in_parts(fake));
  expect_error([&] { mds::store_write(store, "large", large); }, errc::not_found, {"NoSuchUpload"});
}

TEST_CASE("a large object is created only where there is none", "[s3]") {
  mds::runtime threads(2);
  fake_s3::server fake;
  const s3 store(threads, fake.s3_url(), in_parts(fake));
  const auto create = [&] {
    return mds::detail::wait_for<bool>([&](mds::diagnostics& where, auto done) {
      store.async_create("large", large, {}, where, std::move(done));
    });
  };
  CHECK(create());
  fake.put("large", "changed");
  const std::size_t before = fake.requests().size();
  CHECK_FALSE(create());
  CHECK(fake.requests().size() == before + 14);  // with an abort, and no second end
  fake.instead = [](const question& asked) -> std::optional<answer> {
    if (is_end(asked)) return refusal(200, "PreconditionFailed");
    return std::nullopt;
  };
  CHECK_FALSE(create());
  CHECK(fake.requests().size() == before + 28);
  CHECK(stored(fake) == "changed");
  CHECK(fake.uploads() == 0);
}

TEST_CASE("an object that was created is known for one's own where the answer was lost", "[s3]") {
  mds::runtime threads(2);
  fake_s3::server fake;
  bool lost = false;
  const s3 store(threads, fake.s3_url(), in_parts(fake));
  const auto create = [&] {
    return mds::detail::wait_for<bool>([&](mds::diagnostics& where, auto done) {
      store.async_create("large", large, {}, where, std::move(done));
    });
  };
  fake.afterwards = [&](const question& asked, answer& given) {
    if (is_end(asked) && !std::exchange(lost, true)) given = refusal(500, "InternalError");
  };
  // Some services ask for the condition before they look for the upload.
  fake.instead = [&](const question& asked) -> std::optional<answer> {
    if (is_end(asked) && lost) return refusal(412, "PreconditionFailed");
    return std::nullopt;
  };
  CHECK(create());
  CHECK(stored(fake) == sent());
  // Another's object, which came first: also where the first answer was lost.
  fake.put("large", std::string(large.size(), 'x'));
  int ends = 0;
  fake.afterwards = {};
  fake.instead = [&](const question& asked) -> std::optional<answer> {
    if (!is_end(asked)) return std::nullopt;
    return ++ends == 1 ? refusal(500, "InternalError") : refusal(412, "PreconditionFailed");
  };
  CHECK_FALSE(create());
  CHECK(stored(fake) == std::string(large.size(), 'x'));
  CHECK(fake.uploads() == 0);
}

TEST_CASE("a stopped upload is aborted, whenever the stop comes", "[s3]") {
  mds::runtime threads(2);
  for (std::size_t at = 1; at <= 13; ++at) {
    std::stop_source stop;
    std::atomic<std::size_t> seen{0};
    fake_s3::server fake;  // last: its threads use them
    fake.afterwards = [&](const question&, answer&) {
      if (++seen == at) stop.request_stop();
    };
    const s3 store(threads, fake.s3_url(), in_parts(fake));
    mds::diagnostics where;
    std::error_code code;
    mds::detail::one_time_event over;
    store.async_write("large", large, stop.get_token(), where, [&](std::error_code c) {
      code = c;
      over.set();
    });
    over.wait();
    INFO("stopped at request " << at << ": " << code.message());
    if (code) {
      CHECK(code == errc::canceled);
      // the answer to the first request may be lost with the id that is in it
      CHECK(fake.uploads() <= (at == 1 ? 1U : 0U));
    } else {
      CHECK(stored(fake) == sent());
    }
  }
}

}  // namespace s3_multipart_test
