#include <mdstream/stream/detail/places.hpp>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace mds = mdstream;

namespace {

mds::detail::dataset_places settle(const std::vector<mds::detail::stream_request>& requests,
                                   const std::string& local,
                                   const std::string& working = "/home/trainer") {
  return mds::detail::settle_places(requests, local, "/tmp", working);
}

}  // namespace

TEST_CASE("a stream's own directory is used as Python uses it") {
  const auto places =
      settle({{.remote = "s3://bucket/c4", .local = "/cache/c4/", .split = "train"}}, "");
  REQUIRE(places.streams.size() == 1);
  CHECK(places.streams[0].directory == "/cache/c4/train");
  CHECK(places.streams[0].name == "s3://bucket/c4");
  CHECK(places.root == "/cache/c4");
}

TEST_CASE("streams without a directory get one each below the loader's") {
  const auto places = settle(
      {{.remote = "s3://a/corpus", .split = "train"}, {.remote = "s3://b/corpus/"}}, "/nvme/cache");
  CHECK(places.root == "/nvme/cache");
  const auto& first = places.streams[0].directory;
  const auto& second = places.streams[1].directory;
  CHECK(first.starts_with("/nvme/cache/corpus-"));
  CHECK(first.ends_with("/train"));
  CHECK(second.starts_with("/nvme/cache/corpus-"));
  CHECK(first.substr(0, first.size() - 6) != second);
  // The same remote is found again by the next run.
  CHECK(settle({{.remote = "s3://b/corpus"}}, "/nvme/cache").streams[0].directory == second);
}

TEST_CASE("without any directory the system's temporary one holds the cache") {
  const auto places = settle({{.remote = "/data/..hidden name"}}, "");
  CHECK(places.streams[0].directory.starts_with("/tmp/_.hidden_name-"));
  CHECK(places.root == places.streams[0].directory);
}

TEST_CASE("programs in different directories do not share what relative paths name") {
  const auto directory = [](const std::string& remote, const std::string& working) {
    return settle({{.remote = remote}}, "", working).streams[0].directory;
  };
  CHECK(directory("data", "/home/a") != directory("data", "/home/b"));
  CHECK(directory("data", "/home/a") == directory("/home/a/./data/", "/home/b"));
  CHECK(directory("../b/data", "/home/a") == directory("data", "/home/b"));
  CHECK(directory("s3://data", "/home/a") == directory("s3://data", "/home/b"));
}

TEST_CASE("samples that are made of one remote's files in two ways have a directory each") {
  const auto directory = [](const std::string& reading) {
    return settle({{.remote = "s3://b/logs", .reading = reading}}, "").streams[0].directory;
  };
  CHECK(directory("a") != directory("b"));
  CHECK(directory("a") != directory(""));
  CHECK(directory("a") == directory("a"));
  CHECK(
      settle({{.remote = "s3://b/logs", .reading = "a"}, {.remote = "s3://b/logs", .reading = "b"}},
             "/cache")
          .streams.size() == 2);
  // Names of earlier versions: what they have cached is found again.
  CHECK(directory("") == "/tmp/logs-5bd7c1d15b0bcae0");
}

TEST_CASE("the cache's root holds all streams that have a remote") {
  const auto root = [](const std::string& a, const std::string& b) {
    return settle({{.remote = "r1", .local = a}, {.remote = "r2", .local = b}}, "").root;
  };
  CHECK(root("/cache/a", "/cache/b") == "/cache");
  CHECK(root("/cache/ab", "/cache/a") == "/cache");
  CHECK(root("/cache/a", "/cache/a/b") == "/cache/a");
  CHECK(root("/x/a", "/y/a") == "/");
  CHECK(root("data/a", "data/b") == "data");
  CHECK(settle({{.local = "/data/only"}}, "").root.empty());
}

TEST_CASE("a stream in no place, and two streams in one, are refused") {
  support::expect_error([] { (void)settle({{}}, "/cache"); }, mds::errc::invalid_argument,
                        {"stream 0", "neither a remote nor a local"});
  support::expect_error(
      [] { (void)settle({{.remote = "a", .local = "/c"}, {.remote = "b", .local = "/c/"}}, ""); },
      mds::errc::invalid_argument, {"two streams", "/c"});
}
