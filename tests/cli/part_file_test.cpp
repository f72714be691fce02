#include "cli/part_file.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include "store/scratch.hpp"
#include "support/catch.hpp"

namespace part_file_test {

namespace fs = std::filesystem;
namespace mds = mdstream;
using cli::part_file;
using scratch_directory::scratch;

std::size_t files(const std::string& directory) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
}

TEST_CASE("a file left behind is gone on with, and that of another version deleted", "[cli]") {
  const scratch to;
  {
    part_file part(to.path(), "0123", "first", 10, 2);
    part.write(0, mds::as_bytes("right"));
    part.mark(0);
    CHECK_THROWS_AS(part_file(to.path(), "0123", "first", 10, 2), mds::error);
  }
  CHECK(files(to.path()) == 1);
  CHECK(part_file(to.path(), "0123", "first", 10, 2).has(0));
  const part_file other(to.path(), "4567", "first", 10, 2);
  CHECK(files(to.path()) == 2);
  const part_file second(to.path(), "0123", "second", 10, 2);
  CHECK_FALSE(second.has(0));
  CHECK(files(to.path()) == 2);  // the other object's and the second version
}

TEST_CASE("a file of no version, or of one that is no more, goes", "[cli]") {
  const scratch to;
  {
    const part_file part(to.path(), "0123", "", 10, 2);
  }
  part_file(to.path(), "0123", "first", 10, 2).discard();
  CHECK(files(to.path()) == 0);
}

TEST_CASE("a whole file has the object's bytes alone, under its name", "[cli]") {
  const scratch to;
  part_file part(to.path(), "0123", "first", 5, 1);
  part.write(0, mds::as_bytes("bytes"));
  part.publish(to / "object");
  CHECK(fs::file_size(to / "object") == 5);
  CHECK(files(to.path()) == 1);
}

TEST_CASE("a link or a file without a name is nothing that others could have made", "[cli]") {
  const scratch to, elsewhere;
  const auto staged = part_file::unnamed(to.path(), 10, 1);
  CHECK_FALSE(staged.has(0));
  CHECK(files(to.path()) == 0);
  std::ofstream(elsewhere / "file") << "kept";
  fs::create_symlink(elsewhere / "file", to / ".mdstream-part-0123-first.tmp");
  CHECK_THROWS_AS(part_file(to.path(), "0123", "first", 10, 1), mds::error);
  CHECK(fs::file_size(elsewhere / "file") == 4);
}

}  // namespace part_file_test
