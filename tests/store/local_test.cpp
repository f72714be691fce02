#include <mdstream/store/local.hpp>

#include <filesystem>
#include <fstream>

#include "store/conformance.hpp"
#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace local_test {

namespace mds = mdstream;
using mds::errc;
using scratch_directory::scratch;
using support::expect_error;

TEST_CASE("the local store conforms", "[store]") {
  const scratch root;
  conformance::check_store(mds::store::local(root.path()));
}

TEST_CASE("a local store makes its directory when it is written to, and lists none before",
          "[store]") {
  const scratch root;
  const mds::store::local store(root / "not/yet/");
  CHECK(store.list("").empty());
  store.write("x", mds::as_bytes("1"));
  CHECK(store.url("x") == root / "not/yet/x");
  CHECK(store.list("").size() == 1);
}

TEST_CASE("a write leaves nothing behind but its object", "[store]") {
  const scratch root;
  const mds::store::local store(root.path());
  store.write("dir/x", mds::as_bytes("1"));
  store.publish("dir/y", mds::as_bytes("2"));
  std::filesystem::create_directory(root / "dir/z");
  expect_error([&] { store.write("dir/z", mds::as_bytes("3")); }, errc::io_error, {"dir/z"});
  std::size_t entries = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator(root / "dir")) {
    ++entries;
  }
  CHECK(entries == 3);
}

TEST_CASE("a temporary file of a writer that was killed is not an object", "[store]") {
  const scratch root;
  std::ofstream(root / ".mdstream-0123456789abcdef.tmp") << "half";
  CHECK(mds::store::local(root.path()).list("").empty());
}

TEST_CASE("which URLs are local paths", "[store]") {
  CHECK(mds::store::local::serves("/data"));
  CHECK(mds::store::local::serves("relative/path"));
  CHECK_FALSE(mds::store::local::serves("s3://x"));
  CHECK_FALSE(mds::store::local::serves("file:///data"));
  CHECK_FALSE(mds::store::local::serves(""));
  expect_error([] { (void)mds::store::local::open(""); }, errc::invalid_argument);
}

}  // namespace local_test
