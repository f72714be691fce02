#include <mdstream/store/detail/digest.hpp>
#include <mdstream/store/store.hpp>

#include "store/archetypes.hpp"
#include "store/conformance.hpp"
#include "support/catch.hpp"

namespace store_test {

namespace mds = mdstream;

TEST_CASE("the scheme of a URL is what Python's urlparse says", "[store]") {
  CHECK(mds::url_scheme("s3://bucket/x") == "s3");
  CHECK(mds::url_scheme("azure-dl://x") == "azure-dl");
  CHECK(mds::url_scheme("dbfs:/Volumes/x") == "dbfs");
  CHECK(mds::url_scheme("/data/a:b").empty());
  CHECK(mds::url_scheme("./a:b").empty());
  CHECK(mds::url_scheme("data/a:b").empty());
  CHECK(mds::url_scheme("1s:x").empty());
  CHECK(mds::url_scheme(":x").empty());
  CHECK(mds::url_scheme("").empty());
}

TEST_CASE("keys join with one slash", "[store]") {
  CHECK(mds::join_key("", "a") == "a");
  CHECK(mds::join_key("train", "a/b") == "train/a/b");
  CHECK(mds::join_key("train//", "a") == "train/a");
  CHECK(mds::join_key("train/", "") == "train");
}

TEST_CASE("the archetypes of both kinds conform", "[store]") {
  conformance::check_store(archetypes::blocking_only(0));
  mds::runtime threads(2);
  conformance::check_store(archetypes::async_only(threads));
}

TEST_CASE("an ETag is a digest where it has the form of one", "[store]") {
  using mdstream::detail::digest_of_tag;
  const std::string hex = "d41d8cd98f00b204e9800998ecf8427e";
  CHECK(digest_of_tag('"' + hex + '"') == "md5:" + hex);
  CHECK(digest_of_tag("D41D8CD98F00B204E9800998ECF8427E") == "md5:" + hex);
  CHECK(digest_of_tag('"' + hex + "-12\"") == "md5-of-parts:" + hex + "-12");
  for (const std::string& none :
       {std::string(), std::string("\""), std::string("\"\""), hex.substr(1), hex + '0', hex + '-',
        hex + "-x", hex + "-1-2", hex + "-123456", "W/\"" + hex + '"', "x" + hex.substr(1),
        std::string("0x8DD"), "-" + hex}) {
    INFO(none);
    CHECK(digest_of_tag(none).empty());
  }
}

TEST_CASE("digests of base64 have their length", "[store]") {
  using mdstream::detail::digest_of_base64;
  CHECK(digest_of_base64("md5", 16, "1B2M2Y8AsgTpgAmY7PhCfg==") ==
        "md5:d41d8cd98f00b204e9800998ecf8427e");
  CHECK(digest_of_base64("crc32c", 4, "AAAAAA==") == "crc32c:00000000");
  for (const char* none :
       {"", "1B2M2Y8AsgTpgAmY7PhCfg", "AAAAAA==", "?", "1B2M2Y8AsgTpgAmY7PhCfgAA"}) {
    INFO(none);
    CHECK(digest_of_base64("md5", 16, none).empty());
  }
}

TEST_CASE("digests tell of the same bytes where they are of one kind", "[store]") {
  using mdstream::detail::same_bytes;
  CHECK(same_bytes("md5:1", "md5:1") == true);
  CHECK(same_bytes("md5:1", "md5:2") == false);
  CHECK(same_bytes("md5-of-parts:1-2", "md5-of-parts:1-2") == true);
  CHECK(same_bytes("md5-of-parts:1-2", "md5-of-parts:2-2") == false);
  CHECK_FALSE(same_bytes("md5-of-parts:1-2", "md5-of-parts:1-3"));
  CHECK_FALSE(same_bytes("md5:1", "md5-of-parts:1-2"));
  CHECK_FALSE(same_bytes("md5:1", "crc32c:1"));
  CHECK_FALSE(same_bytes("", "md5:1"));
  CHECK_FALSE(same_bytes("", ""));
  CHECK(same_bytes("md5:1 crc32c:1", "crc32c:1") == true);
  CHECK(same_bytes("crc32c:2", "md5:1 crc32c:1") == false);
  CHECK(same_bytes("md5:1 crc32c:1", "md5:1 crc32c:2") == false);
  CHECK_FALSE(same_bytes("md5:1 crc32c:1", "sha256:1"));
  CHECK_FALSE(same_bytes(" ", " "));
}

}  // namespace store_test
