#include <mdstream/stream/detail/places.hpp>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace mds = mdstream;

TEST_CASE("a stream's own directory is used as Python uses it") {
  const auto places = mds::detail::settle_places(
      {{.remote = "s3://bucket/c4", .local = "/cache/c4/", .split = "train"}}, "", "/tmp");
  REQUIRE(places.streams.size() == 1);
  CHECK(places.streams[0].directory == "/cache/c4/train");
  CHECK(places.streams[0].name == "s3://bucket/c4");
  CHECK(places.root == "/cache/c4");
}

TEST_CASE("streams without a directory get one each below the loader's") {
  const auto places = mds::detail::settle_places(
      {{.remote = "s3://a/corpus", .split = "train"}, {.remote = "s3://b/corpus/"}}, "/nvme/cache",
      "/tmp");
  CHECK(places.root == "/nvme/cache");
  const auto& first = places.streams[0].directory;
  const auto& second = places.streams[1].directory;
  CHECK(first.starts_with("/nvme/cache/corpus-"));
  CHECK(first.ends_with("/train"));
  CHECK(second.starts_with("/nvme/cache/corpus-"));
  CHECK(first.substr(0, first.size() - 6) != second);
  // The same remote is found again by the next run.
  CHECK(mds::detail::settle_places({{.remote = "s3://b/corpus"}}, "/nvme/cache", "/tmp")
            .streams[0]
            .directory == second);
}

TEST_CASE("without any directory the system's temporary one holds the cache") {
  const auto places = mds::detail::settle_places({{.remote = "/data/..hidden name"}}, "", "/tmp");
  CHECK(places.streams[0].directory.starts_with("/tmp/_.hidden_name-"));
  CHECK(places.root == places.streams[0].directory);
}

TEST_CASE("the cache's root holds all streams that have a remote") {
  const auto root = [](const std::string& a, const std::string& b) {
    return mds::detail::settle_places({{.remote = "r1", .local = a}, {.remote = "r2", .local = b}},
                                      "", "/tmp")
        .root;
  };
  CHECK(root("/cache/a", "/cache/b") == "/cache");
  CHECK(root("/cache/ab", "/cache/a") == "/cache");
  CHECK(root("/cache/a", "/cache/a/b") == "/cache/a");
  CHECK(root("/x/a", "/y/a") == "/");
  CHECK(root("data/a", "data/b") == "data");
  CHECK(mds::detail::settle_places({{.local = "/data/only"}}, "", "/tmp").root.empty());
}

TEST_CASE("a stream in no place, and two streams in one, are refused") {
  support::expect_error([] { (void)mds::detail::settle_places({{}}, "/cache", "/tmp"); },
                        mds::errc::invalid_argument, {"stream 0", "neither a remote nor a local"});
  support::expect_error(
      [] {
        (void)mds::detail::settle_places(
            {{.remote = "a", .local = "/c"}, {.remote = "b", .local = "/c/"}}, "", "/tmp");
      },
      mds::errc::invalid_argument, {"two streams", "/c"});
}
