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

}  // namespace store_test
