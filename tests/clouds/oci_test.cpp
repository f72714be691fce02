// What the scripted service of OCI does not do: answers that are lost.

#include <mdstream/store/detail/oci/api.hpp>
#include <mdstream/store/oci.hpp>

#include <mdstream/store/operations.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/scripted_server.hpp"

namespace clouds_oci_test {

namespace mds = mdstream;
using mds::errc;
using support::expect_error;
using support::scripted_request;

// By Python's hashlib and base64: the MD5s of 8 and of 2 bytes `x`, and that of both, of two parts.
const std::string first_md5 = "Cwz8B/yoHJVquRgdhXb0qA==", second_md5 = "kzbr8lCH2RyBjubp7Cn4wQ==";

const std::string whole_md5 = "KA+uGNMsr8H208QhSmXxnA==-2";

/// Takes uploads, and loses the answer to their end: what asks again finds no upload, but an object
/// of this size and hash.
struct bucket {
  bucket(std::string object_md5, std::size_t object_bytes,
         const std::string& second_end = "404 Not Found")
      : server([=, this](auto& to, const scripted_request& request) {
          const bool is_end = request.method == "POST" && !request.target.ends_with("/u");
          if (request.method == "HEAD") {
            to.send("HTTP/1.1 200 OK\r\nopc-multipart-md5: " + object_md5 +
                    "\r\nContent-Length: " + std::to_string(object_bytes) + "\r\n\r\n");
          } else if (is_end && std::exchange(ended, true)) {
            to.answer(second_end, R"({"code":"NoSuchUpload","message":""})");
          } else if (is_end) {
            to.answer("503 Service Unavailable", "");
          } else if (request.method == "PUT") {
            const std::string& md5 = request.body.size() == 8 ? first_md5 : second_md5;
            to.answer("200 OK", "", "ETag: t\r\nopc-content-md5: " + md5 + "\r\n");
          } else {
            to.answer("200 OK", R"({"uploadId":"u"})");
          }
        }) {}

  void write() { mds::store_write(store, "large", mds::as_bytes("xxxxxxxxxx")); }
  bool create() {
    return mds::detail::wait_for<bool>([this](auto& where, auto done) {
      store.async_create("large", mds::as_bytes("xxxxxxxxxx"), {}, where, std::move(done));
    });
  }

  bool ended = false;
  support::scripted_server server;
  mds::runtime threads{1};
  mds::store::oci store{threads,
                        "oci://box@space",
                        {{.endpoint = server.url(),
                          .part_bytes = mds::byte_size(8),
                          .part_retry = {.pause = std::chrono::milliseconds(0)},
                          .variables = [](const std::string&) -> std::optional<std::string> {
                            return std::nullopt;
                          }}}};
};

TEST_CASE("an end of OCI's whose answer is lost is found to have come", "[clouds]") {
  bucket box(whole_md5, 10);
  box.write();
  CHECK(box.server.requests().back().method == "HEAD");
}

TEST_CASE("an object of OCI's that was made by an end whose answer is lost is one's own",
          "[clouds]") {
  bucket own(whole_md5, 10, "412 Precondition Failed");
  CHECK(own.create());
  bucket other(second_md5 + "-2", 10, "412 Precondition Failed");
  CHECK_FALSE(other.create());
}

TEST_CASE("another's object is not taken for the upload to OCI", "[clouds]") {
  bucket other(second_md5 + "-2", 10), longer(whole_md5, 11);
  expect_error([&] { other.write(); }, errc::not_found, {"NoSuchUpload"});
  expect_error([&] { longer.write(); }, errc::not_found, {"NoSuchUpload"});
}

TEST_CASE("the hash of an object of parts", "[clouds]") {
  CHECK(mds::detail::oci::md5_of_parts({first_md5, second_md5}) == whole_md5);
  CHECK_FALSE(mds::detail::oci::md5_of_parts({first_md5, ""}));
  CHECK_FALSE(mds::detail::oci::md5_of_parts({first_md5, "nTNnsCBdDhzi9YVyMrQ="}));
}

}  // namespace clouds_oci_test
