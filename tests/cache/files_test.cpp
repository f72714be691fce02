// The small parts beneath the cache: mappings, temporary files, locks.

#include <mdstream/cache/file_lock.hpp>
#include <mdstream/cache/mapping.hpp>
#include <mdstream/cache/temporary_file.hpp>

#include <cstring>
#include <string>

#include "cache/fixture.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace files_test {

using namespace cache_test;
using mds::errc;
using support::expect_error;

TEST_CASE("a mapping stays valid when its file is unlinked", "[cache]") {
  const scratch root;
  write_file(root / "x", mds::as_bytes("content"));
  mds::unique_fd fd = mds::detail::open_file(root / "x", O_RDONLY);
  mds::file_mapping mapping = mds::file_mapping::of(fd.get(), 7, root / "x");
  fd.reset();
  fs::remove(root / "x");
  const mds::file_mapping moved = std::move(mapping);
  CHECK(mds::as_text(moved.bytes()) == "content");
  CHECK(mapping.bytes().empty());
  CHECK(mds::file_mapping::of(-1, 0, "empty").bytes().empty());
  expect_error([] { (void)mds::file_mapping::of(-1, 5, "bad"); }, errc::io_error, {"bad"});
}

TEST_CASE("a temporary file is published whole or vanishes", "[cache]") {
  const scratch root;
  const std::size_t size = GENERATE(std::size_t{1}, std::size_t{4096}, std::size_t{10'000});
  {
    mds::temporary_file dropped(root / "dropped", size);
    CHECK(fs::file_size(root / "dropped") == size);
  }
  CHECK_FALSE(fs::exists(root / "dropped"));

  mds::temporary_file file(root / "tmp", size + 1);
  const std::vector<std::byte> bytes = shard_bytes(1, 2, size);
  std::memcpy(file.bytes().data(), bytes.data(), size);
  file.shrink(size);
  CHECK(file.bytes().size() == size);
  const mds::file_mapping mapping = std::move(file).publish(root / "final");
  CHECK(std::equal(mapping.bytes().begin(), mapping.bytes().end(), bytes.begin(), bytes.end()));
  CHECK(read_file(root / "final") == bytes);
  CHECK_FALSE(fs::exists(root / "tmp"));
}

TEST_CASE("what can not be made or named is an error that leaves nothing", "[cache]") {
  const scratch root;
  write_file(root / "there", {});
  expect_error([&] { mds::temporary_file(root / "there", 1); }, errc::io_error, {"there"});
  expect_error([&] { mds::temporary_file(root / "no/such/x", 1); }, errc::not_found, {"no/such"});
  {
    mds::temporary_file file(root / "tmp", 1);
    expect_error([&] { (void)std::move(file).publish(root / "no/such"); }, errc::not_found);
  }
  CHECK_FALSE(fs::exists(root / "tmp"));
}

TEST_CASE("locks of two descriptions exclude each other as they should", "[cache]") {
  using mds::lock_kind;
  const scratch root;
  const std::string path = root / "lock";
  const mds::unique_fd first = mds::detail::try_lock_path(path, lock_kind::shared);
  REQUIRE(first);
  CHECK(mds::detail::try_lock_path(path, lock_kind::shared));
  CHECK_FALSE(mds::detail::try_lock_path(path, lock_kind::exclusive));
  REQUIRE(mds::detail::try_lock_file(first.get(), lock_kind::exclusive, path));
  CHECK_FALSE(mds::detail::try_lock_path(path, lock_kind::shared));
  REQUIRE(mds::detail::try_lock_file(first.get(), lock_kind::shared, path));
  CHECK(mds::detail::try_lock_path(path, lock_kind::shared));

  fs::remove(path);
  CHECK_FALSE(mds::detail::is_linked(first.get()));
  const mds::unique_fd anew = mds::detail::try_lock_path(path, lock_kind::exclusive);
  REQUIRE(anew);  // the old file's lock does not count for the new one
  CHECK(mds::detail::is_linked(anew.get()));
}

}  // namespace files_test
