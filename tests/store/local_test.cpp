#include <mdstream/store/detail/file.hpp>
#include <mdstream/store/local.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "store/conformance.hpp"
#include "store/scratch.hpp"
#include "support/as_nobody.hpp"
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

TEST_CASE("with its last object a directory goes, and what killed writers left in it", "[store]") {
  const scratch root;
  const mds::store::local store(root.path());
  const std::string left = root / "a/b/.mdstream-0123456789abcdef.tmp",
                    lives = root / "a/b/.mdstream-fedcba9876543210.tmp";
  const auto write_all = [&] {
    store.write("a/b/x", mds::as_bytes("1"));
    std::ofstream(left) << "half";
  };
  write_all();
  store.remove("a/b/x");
  CHECK(std::filesystem::is_empty(root.path()));
  CHECK(std::filesystem::exists(root.path()));

  // Not beside another object, another file, or one that is being written.
  write_all();
  store.write("a/b/y", mds::as_bytes("2"));
  store.remove("a/b/x");
  CHECK(std::filesystem::exists(left));
  CHECK(store.list("").size() == 1);
  std::filesystem::rename(root / "a/b/y", root / "a/b/.mdstream-notes");
  store.remove("a/b/x");
  CHECK(std::filesystem::exists(left));
  CHECK(std::filesystem::exists(root / "a/b/.mdstream-notes"));
  std::filesystem::remove(root / "a/b/.mdstream-notes");
  {
    std::ofstream(lives) << "half";
    const mds::detail::unique_fd writer = mds::detail::open_file(lives, O_RDONLY);
    REQUIRE(mds::detail::lock_descriptor(writer.get(), LOCK_EX | LOCK_NB) == 0);
    store.remove("a/b/x");
    CHECK(std::filesystem::exists(lives));
  }
  store.remove("a/b/x");  // there is none; the writer was killed meanwhile
  CHECK(std::filesystem::is_empty(root.path()));
}

TEST_CASE("a listing that cannot see what an entry is fails, and leaves out none", "[store]") {
  const scratch root;
  std::filesystem::create_directories(root / "seen/below");
  std::ofstream(root / "seen/x") << "1";
  REQUIRE(::chmod(root.path().c_str(), 0755) == 0);
  REQUIRE(::chmod((root / "seen").c_str(), 0744) == 0);  // names are read, and nothing of them
  const mds::store::local store(root.path());
  {
    const support::as_nobody self;
    expect_error([&] { (void)store.list(""); }, errc::permission_denied,
                 {"cannot list", root / "seen/"});
  }
  CHECK(store.list("").size() == 1);
}

TEST_CASE("which URLs are local paths", "[store]") {
  CHECK(mds::store::local::serves("/data"));
  CHECK(mds::store::local::serves("relative/path"));
  CHECK_FALSE(mds::store::local::serves("s3://x"));
  CHECK_FALSE(mds::store::local::serves("file:///data"));
  CHECK_FALSE(mds::store::local::serves(""));
  expect_error([] { (void)mds::store::local::open(""); }, errc::invalid_argument);
}

TEST_CASE("a file is of another version when it was written to or replaced", "[store]") {
  const scratch root;
  const mds::store::local store(root.path());
  store.write("x", mds::as_bytes("one"));
  const mds::object_version first = store.version("x");
  CHECK(first.bytes == 3);
  CHECK(first == store.version("x"));
  std::byte into[8];
  CHECK(store.read_version("x", first, 1, into) == 2);
  SECTION("replaced") { store.write("x", mds::as_bytes("two")); }
  SECTION("written to") {
    std::fstream(root / "x", std::ios::in | std::ios::out) << "two";
    // Within a tick of the file's clock both would have the same time.
    const timespec times[2]{{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, {.tv_sec = 1, .tv_nsec = 0}};
    REQUIRE(::utimensat(AT_FDCWD, (root / "x").c_str(), times, 0) == 0);
  }
  SECTION("longer") { std::ofstream(root / "x", std::ios::app) << "!"; }
  CHECK_FALSE(first == store.version("x"));
  expect_error([&] { (void)store.read_version("x", first, 0, into); }, errc::corrupt,
               {"changed while it was read", root / "x"});
  CHECK(store.read("x", 0, into) >= 3);
}

TEST_CASE("links to directories above list nothing twice and end", "[store]") {
  namespace fs = std::filesystem;
  const scratch root;
  const mds::store::local store(root.path());
  store.write("a/x", mds::as_bytes("1"));
  store.write("b/y", mds::as_bytes("2"));
  fs::create_directory_symlink("..", root / "a/up");
  fs::create_directory_symlink(root.path(), root / "b/top");
  fs::create_directory_symlink("../a", root / "b/a");
  fs::create_directory_symlink("../b", root / "a/b");
  fs::create_symlink("x", root / "a/same");
  fs::create_symlink("nowhere", root / "a/broken");
  std::vector<std::string> keys;
  for (const mds::object_info& each : store.list("")) keys.push_back(each.key);
  CHECK(keys == std::vector<std::string>{"a/b/y", "a/same", "a/x", "b/a/same", "b/a/x", "b/y"});
  CHECK(store.list("b/a/").size() == 2);
  CHECK(store.list("b/a").size() == 2);
  CHECK(store.list("c").empty());
  std::stop_source stop;
  stop.request_stop();
  expect_error([&] { (void)store.list("", stop.get_token()); }, errc::canceled);
}

}  // namespace local_test
