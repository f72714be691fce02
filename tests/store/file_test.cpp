#include <mdstream/store/detail/file.hpp>

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/no_descriptors.hpp"

namespace file_test {

namespace mds = mdstream;
using mds::errc;
using scratch_directory::scratch;
using support::expect_error;

TEST_CASE("errors of files name the path and the reason", "[store]") {
  const scratch root;
  expect_error([&] { (void)mds::detail::open_file(root / "absent", O_RDONLY); }, errc::not_found,
               {root / "absent", "No such file"});
  const mds::detail::unique_fd fd = mds::detail::open_file(root.path(), O_RDONLY);
  expect_error([&] { (void)mds::detail::file_size(fd.get(), root.path()); }, errc::io_error,
               {"regular file"});
}

TEST_CASE("a file that cannot be opened is not one that is missing", "[store]") {
  const scratch root;
  using mds::detail::open_if_there;
  mds::detail::replace_file(root / "file", mds::as_bytes("x"), mds::detail::durability::cached);
  CHECK(open_if_there(root / "file", O_RDONLY));
  CHECK_FALSE(open_if_there(root / "absent", O_RDONLY));
  CHECK_FALSE(open_if_there(root / "file/absent", O_RDONLY));
  expect_error([&] { (void)open_if_there(root.path(), O_RDWR); }, errc::io_error,
               {root.path(), "directory"});
  const support::no_descriptors none;
  expect_error([&] { (void)open_if_there(root / "file", O_RDONLY); }, errc::unavailable,
               {root / "file", "Too many open files"});
}

TEST_CASE("directories are made with those above them", "[store]") {
  const scratch root;
  CHECK(mds::detail::make_directories(root / "a/b/c") == 0);
  CHECK(mds::detail::make_directories(root / "a/b/c") == 0);
  mds::detail::replace_file(root / "a/file", mds::as_bytes("x"), mds::detail::durability::cached);
  CHECK(mds::detail::make_directories(root / "a/file") == ENOTDIR);
  CHECK(mds::detail::make_directories(root / "a/file/b") == ENOTDIR);
}

TEST_CASE("a file is reserved and cut", "[store]") {
  const scratch root;
  const std::string path = root / "file";
  const mds::detail::unique_fd fd = mds::detail::open_file(path, O_RDWR | O_CREAT);
  const std::uint64_t large = (4 << 20) + 1;  // faults/interrupt.cpp lets no such piece end
  REQUIRE(mds::detail::reserve_file(fd.get(), large) == 0);
  CHECK(mds::detail::file_size(fd.get(), path) == large);
  mds::detail::cut_file(fd.get(), 5, path);
  CHECK(mds::detail::file_size(fd.get(), path) == 5);
  CHECK(mds::detail::reserve_file(fd.get(), 0) == 0);
  CHECK(mds::detail::file_size(fd.get(), path) == 5);
  CHECK(mds::detail::reserve_file(-1, 1) == EBADF);
}

TEST_CASE("a file whose size nobody tells is read to its end", "[store]") {
  const scratch root;
  const std::string text(10'000, 'x');
  mds::detail::replace_file(root / "file", mds::as_bytes(text), mds::detail::durability::cached);
  CHECK(mds::detail::read_unsized(root / "file") == text);
  CHECK(mds::detail::read_unsized(root / "absent").empty());
  CHECK(mds::detail::read_unsized("/proc/self/stat").ends_with('\n'));
}

TEST_CASE("the parent of a path", "[store]") {
  CHECK(mds::detail::parent_of("/a/b") == "/a");
  CHECK(mds::detail::parent_of("/a") == "/");
  CHECK(mds::detail::parent_of("a") == ".");
}

TEST_CASE("a descriptor has one owner", "[store]") {
  const scratch root;
  mds::detail::unique_fd one = mds::detail::open_file(root / "x", O_RDWR | O_CREAT);
  const int number = one.get();
  mds::detail::unique_fd two = std::move(one);
  CHECK(two.get() == number);
  two.reset();
  CHECK(::fcntl(number, F_GETFD) == -1);
}

TEST_CASE("a file is what was appended to it, whatever place was reserved", "[store]") {
  const scratch root;
  mds::detail::replacement_file file(root / "file");
  file.reserve(1 << 20);
  file.append(mds::as_bytes("one "));
  file.append(mds::as_bytes("two"));
  CHECK(file.size() == 7);
  CHECK_FALSE(std::filesystem::exists(root / "file"));
  file.publish(mds::detail::durability::cached);
  std::ifstream text(root / "file");
  CHECK(std::string(std::istreambuf_iterator<char>(text), {}) == "one two");
}

TEST_CASE("a file whose name goes to another keeps its bytes, one that is written to does not",
          "[store]") {
  const scratch root;
  const std::string path = root / "file";
  std::ofstream(path) << "one";
  const mds::detail::unique_fd fd = mds::detail::open_file(path, O_RDONLY);
  const mds::detail::file_state before(fd.get(), path);
  std::ofstream(root / "other") << "two";
  std::filesystem::rename(root / "other", path);
  const mds::detail::file_state renamed(fd.get(), path);
  CHECK(renamed.has_bytes_of(before));
  CHECK_FALSE(mds::detail::file_state(mds::detail::open_file(path, O_RDONLY).get(), path)
                  .has_bytes_of(before));
  const mds::detail::unique_fd now = mds::detail::open_file(path, O_RDONLY);
  const mds::detail::file_state whole(now.get(), path);
  std::ofstream(path, std::ios::app) << "more";
  CHECK_FALSE(mds::detail::file_state(now.get(), path).has_bytes_of(whole));
}

TEST_CASE("a file has one tag on all machines that mount its file system", "[store]") {
  const scratch root;
  const std::string path = root / "file";
  std::ofstream(path) << "one";
  struct stat info{};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  const mds::detail::file_state original(info);
  ++info.st_dev;
  const mds::detail::file_state elsewhere(info);
  CHECK(elsewhere.tag() == original.tag());
  CHECK_FALSE(elsewhere == original);
  ++info.st_ino;
  CHECK(mds::detail::file_state(info).tag() != original.tag());
}

TEST_CASE("names are not repeated", "[store]") {
  std::set<std::string> names;
  for (int i = 0; i < 1000; ++i) names.insert(mds::detail::unique_name());
  CHECK(names.size() == 1000);
  CHECK(names.begin()->size() == 16);
}

}  // namespace file_test
