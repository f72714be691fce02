#include <mdstream/core/detail/directory_reader.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <set>
#include <string>

#include "store/scratch.hpp"
#include "support/as_nobody.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/no_descriptors.hpp"

namespace mds = mdstream;
using mdstream::detail::directory_reader;
using scratch_directory::scratch;

namespace {

/// All entries, read to the end.
std::set<std::string> entries_of(const std::string& path) {
  directory_reader entries(path);
  std::set<std::string> out;
  while (const char* const name = entries.next()) CHECK(out.insert(name).second);
  entries.check(path);
  CHECK(entries.next() == nullptr);
  return out;
}

}  // namespace

TEST_CASE("the entries of a directory are its files and directories, but not itself", "[core]") {
  const scratch root;
  CHECK(entries_of(root.path()).empty());
  std::set<std::string> names{".hidden",    "..two",      "...",
                              "with space", "with\nline", "\xff\xfe\x01"};
  for (int i = 0; i < 3000; ++i) names.insert("file-" + std::to_string(i));  // several reads
  for (const std::string& name : names) REQUIRE(std::ofstream(root / name).good());
  REQUIRE(::mkdir((root / "directory").c_str(), 0777) == 0);
  REQUIRE(::symlink("nowhere", (root / "link").c_str()) == 0);
  names.insert({"directory", "link"});
  CHECK(entries_of(root.path()) == names);
}

TEST_CASE("a directory that cannot be read has no entries, and its error names it", "[core]") {
  const scratch root;
  const auto refused = [](const std::string& path, int failure, mds::errc code) {
    directory_reader entries(path);
    CHECK(entries.failure() == failure);
    CHECK(entries.next() == nullptr);
    support::expect_error([&] { entries.check(path); }, code, {"cannot list", path});
  };
  refused(root / "missing", ENOENT, mds::errc::not_found);
  REQUIRE(std::ofstream(root / "file").good());
  refused(root / "file", ENOTDIR, mds::errc::not_found);
  REQUIRE(::mkdir((root / "closed").c_str(), 0) == 0);
  {
    const support::as_nobody self;
    refused(root / "closed", EACCES, mds::errc::permission_denied);
  }
  directory_reader entries(root.path());
  const support::no_descriptors none;
  CHECK(entries.next() != nullptr);  // has its descriptor
  CHECK(directory_reader(root.path()).failure() == EMFILE);
}
