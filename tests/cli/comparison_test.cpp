#include "cli/comparison.hpp"

#include <cstdint>
#include <fstream>
#include <stop_token>
#include <string>
#include <vector>

#include "store/scratch.hpp"
#include "support/catch.hpp"

namespace comparison_test {

using cli::compare;
using cli::compare_by;
using cli::comparison;
using cli::copy_end;
using cli::file_has;
using scratch_directory::scratch;

TEST_CASE("two ends are compared by what listings say, and read where that shows more", "[cli]") {
  const copy_end file{.bytes = 7, .is_file = true}, mute{.bytes = 7}, one{7, "md5:1"},
      other{7, "md5:2"}, crc{7, "crc32c:1"};
  struct {
    copy_end from, to;
    comparison expected;
  } const cases[] = {{file, {8, "", true}, comparison::different},
                     {one, {8, "md5:1"}, comparison::different},
                     {one, one, comparison::same},
                     {one, other, comparison::different},
                     {one, crc, comparison::same_size},
                     {one, mute, comparison::same_size},
                     {mute, mute, comparison::same_size},
                     {file, mute, comparison::same_size},
                     {mute, file, comparison::same_size},
                     {file, one, comparison::unread},
                     {one, file, comparison::unread},
                     {file, file, comparison::unread},
                     {{0, "", true}, {0, "md5:1"}, comparison::same}};
  for (const auto& each : cases) {
    INFO(each.from.digest << " file " << each.from.is_file << ", " << each.to.digest << " file "
                          << each.to.is_file << ", " << each.to.bytes);
    CHECK(compare(compare_by::hash, each.from, each.to) == each.expected);
    CHECK(compare(compare_by::size, each.from, each.to) ==
          (each.from.bytes != each.to.bytes ? comparison::different
           : each.from.bytes == 0           ? comparison::same
                                            : comparison::same_size));
  }
}

TEST_CASE("parts have the sizes that tools take by default, ours first", "[cli]") {
  constexpr std::uint64_t mib = 1 << 20;
  using sizes = std::vector<std::uint64_t>;
  CHECK(cli::likely_part_sizes(20 * mib, 2) == sizes{16 * mib, 15 * mib, 10 * mib});
  CHECK(cli::likely_part_sizes(100 * mib, 5) ==
        sizes{20 * mib, 21 * mib, 22 * mib, 23 * mib, 24 * mib});
  CHECK(cli::likely_part_sizes(64 * mib, 8) == sizes{8 * mib, 9 * mib});
  CHECK(cli::likely_part_sizes(64 * mib, 9).empty());
  CHECK(cli::likely_part_sizes(64 * mib, 1) == sizes{64 * mib});
  CHECK(cli::likely_part_sizes(64 * mib, 0).empty());
  const std::uint64_t huge = std::uint64_t{1} << 40;  // of as many parts as S3 takes
  CHECK(cli::likely_part_sizes(huge, 10'000).size() == 1);
}

// The digests were computed by md5sum, sha256sum, git hash-object and, of the parts, by md5sum of
// their digests.
TEST_CASE("a file is held against digests of all kinds", "[cli]") {
  const scratch files;
  const std::string path = files / "a";
  std::ofstream(path, std::ios::binary) << "hello\n";
  const auto has = [&](const char* digest) { return file_has(path, 6, digest); };
  CHECK(has("md5:b1946ac92492d2347c6235b4d2611184") == true);
  CHECK(has("md5:b1946ac92492d2347c6235b4d2611185") == false);
  CHECK(has("sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03") == true);
  CHECK(has("git-sha1:ce013625030ba8dba906f756967f9e9ca394464a") == true);
  CHECK(has("git-sha1:f572d396fae9206628714fb2ce00f72e94f2258f") == false);  // without Git's head
  CHECK(has("crc32c:353dd8be") == true);
  CHECK(has("crc32c:00000000") == false);
  CHECK(has("md5-of-parts:6a6d8d4533507d490ab007dfe8314ab7-1") == true);
  CHECK(has("md5-of-parts:b1946ac92492d2347c6235b4d2611184-2") == false);
  CHECK_FALSE(has("md4:00"));
  CHECK(has("md4:00 crc32c:353dd8be") == true);
  CHECK(has("md4:00 crc32c:353dd8bf md5:b1946ac92492d2347c6235b4d2611184") == false);
  std::ofstream(path, std::ios::binary) << std::string(17 << 20, 'x');
  const auto parts = [&](const char* digest) { return file_has(path, 17 << 20, digest); };
  CHECK(parts("md5-of-parts:5dfb44dab8a9f13f0d127b93a03158f9-2") == true);
  CHECK(parts("md5-of-parts:cde7d994d6d541da683b3c9ddd09d7e7-2") == true);
  CHECK(parts("md5-of-parts:c7d9d08e65a62c714f9b392a22af8ed1-3") == true);
  CHECK(parts("md5-of-parts:c7d9d08e65a62c714f9b392a22af8ed1-2") == false);
  CHECK(parts("md5-of-parts:c7d9d08e65a62c714f9b392a22af8ed1-9") == false);
}

TEST_CASE("where reading tells nothing the size decides, and is known to have", "[cli]") {
  const scratch files;
  const std::string path = files / "a";
  std::ofstream(path, std::ios::binary) << "hello\n";
  const copy_end file{.bytes = 6, .is_file = true};
  const auto seen = [&](const char* digest) {
    const copy_end with_digest{.bytes = 6, .digest = digest};
    CHECK(cli::compare_bytes(with_digest, "", file, path) ==
          cli::compare_bytes(file, path, with_digest, ""));
    return cli::compare_bytes(file, path, with_digest, "");
  };
  CHECK(seen("md5:b1946ac92492d2347c6235b4d2611184") == comparison::same);
  CHECK(seen("md5:b1946ac92492d2347c6235b4d2611185") == comparison::different);
  CHECK(seen("md4:00") == comparison::same_size);
  CHECK(cli::compare_bytes(file, path, file, path) == comparison::same);
}

TEST_CASE("two files are compared to their ends", "[cli]") {
  const scratch files;
  const auto write = [&](const char* name, const std::string& text) {
    std::ofstream(files / name, std::ios::binary) << text;
    return files / name;
  };
  const std::string whole(600'000, 'x');
  std::string last = whole;
  last.back() = 'y';
  const std::string one = write("one", whole), two = write("two", whole),
                    other = write("other", last), longer = write("longer", whole + 'x'),
                    empty = write("empty", "");
  CHECK(cli::same_files(one, two));
  CHECK_FALSE(cli::same_files(one, other));
  CHECK_FALSE(cli::same_files(one, longer));
  CHECK_FALSE(cli::same_files(longer, one));
  CHECK(cli::same_files(empty, empty));
}

TEST_CASE("a stop ends the reading of files", "[cli]") {
  const scratch files;
  std::ofstream(files / "a") << "text";
  std::stop_source stop;
  const copy_end file{.bytes = 4, .is_file = true};
  CHECK(cli::compare_bytes(file, files / "a", file, files / "a", stop.get_token()) ==
        comparison::same);
  stop.request_stop();
  try {
    (void)cli::compare_bytes(file, files / "a", file, files / "a", stop.get_token());
    FAIL("it went on");
  } catch (const mdstream::error& e) {
    CHECK(e.code() == mdstream::errc::canceled);
  }
}

}  // namespace comparison_test
