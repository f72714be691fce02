// The small parts beneath the cache: mappings, temporary files, locks.

#include <mdstream/cache/detail/cache_directory.hpp>
#include <mdstream/cache/detail/file_lock.hpp>
#include <mdstream/cache/detail/mapping.hpp>
#include <mdstream/cache/detail/temporary_file.hpp>
#include <mdstream/core/detail/mapped_files.hpp>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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
  mds::detail::unique_fd fd = mds::detail::open_file(root / "x", O_RDONLY);
  mds::detail::file_mapping mapping = mds::detail::file_mapping::of(fd.get(), 7, root / "x");
  fd.reset();
  fs::remove(root / "x");
  const mds::detail::file_mapping moved = std::move(mapping);
  CHECK(mds::as_text(moved.bytes()) == "content");
  CHECK(mapping.bytes().empty());
  CHECK(mds::detail::file_mapping::of(-1, 0, "empty").bytes().empty());
  expect_error([] { (void)mds::detail::file_mapping::of(-1, 5, "bad"); }, errc::io_error, {"bad"});
}

TEST_CASE("a mapping begins anywhere, and one of a file that is cut is read with an error",
          "[cache]") {
  const scratch root;
  const std::vector<std::byte> bytes = shard_bytes(1, 1, 20'000);
  write_file(root / "x", bytes);
  const mds::detail::unique_fd fd = mds::detail::open_file(root / "x", O_RDONLY);
  const auto whole = mds::detail::file_mapping::of(fd.get(), bytes.size(), root / "x");
  const auto part = mds::detail::file_mapping::of_range(fd.get(), 4'999, 15'001, root / "x");
  CHECK(mds::detail::file_mapping::of_range(fd.get(), 5, 0, root / "x").bytes().empty());
  REQUIRE(part.bytes().size() == 15'001);
  CHECK(std::equal(part.bytes().begin(), part.bytes().end(), bytes.begin() + 4'999));
  const auto copy = [](const mds::detail::file_mapping& of) {
    return mds::detail::read_mapped(
        [&] { return std::vector<std::byte>(of.bytes().begin(), of.bytes().end()); });
  };
  CHECK(copy(whole) == bytes);
  fs::resize_file(root / "x", 4'096);
  expect_error([&] { (void)copy(whole); }, errc::io_error, {root / "x", "cut short"});
  expect_error([&] { (void)copy(part); }, errc::io_error, {root / "x", "cut short"});
}

TEST_CASE("a temporary file is published whole or vanishes", "[cache]") {
  const scratch root;
  const std::size_t size =
      GENERATE(std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{10'000});
  {
    mds::detail::temporary_file dropped(root / "dropped", size);
    CHECK(fs::file_size(root / "dropped") == size);
  }
  CHECK_FALSE(fs::exists(root / "dropped"));

  const std::vector<std::byte> bytes = shard_bytes(1, 2, size);
  const bool to_spare = GENERATE(false, true);
  const bool put = GENERATE(false, true);
  std::optional<mds::detail::temporary_file> file;
  if (put) {
    file.emplace(root / "tmp", size + to_spare);
    const std::size_t half = size / 2;
    file->put(half, mds::bytes_view(bytes).subspan(half));
    file->put(0, mds::bytes_view(bytes).first(half));
  } else {
    file.emplace(root / "tmp", size + to_spare);
    const mds::mutable_bytes memory = file->memory();
    REQUIRE(memory.size() == size + to_spare);
    std::copy(bytes.begin(), bytes.end(), memory.begin());
  }
  file->resize(size);
  CHECK(file->size() == size);
  CHECK(fs::file_size(root / "tmp") == size);
  CHECK(std::equal(bytes.begin(), bytes.end(), file->view().begin(), file->view().end()));
  const mds::detail::file_mapping mapping = std::move(*file).publish(root / "final");
  CHECK(std::equal(mapping.bytes().begin(), mapping.bytes().end(), bytes.begin(), bytes.end()));
  CHECK(read_file(root / "final") == bytes);
  CHECK_FALSE(fs::exists(root / "tmp"));
}

TEST_CASE("what is put and what is written to memory are one file, in any order", "[cache]") {
  const scratch root;
  mds::detail::temporary_file file(root / "tmp", 10'000);
  const mds::mutable_bytes memory = file.memory();
  memory[1] = std::byte{1};
  CHECK(file.memory().data() == memory.data());
  CHECK(memory[1] == std::byte{1});
  file.put(9'000, mds::as_bytes("put"));
  const mds::bytes_view view = file.view();
  memory[2] = std::byte{2};
  CHECK(view.data() == memory.data());
  CHECK(mds::as_text(view.subspan(9'000, 3)) == "put");
  file.resize(5'000);
  file.resize(3);
  memory[0] = std::byte{3};
  CHECK(read_file(root / "tmp") == std::vector{std::byte{3}, std::byte{1}, std::byte{2}});
  file.resize(0);
  CHECK(file.view().empty());
  CHECK(std::move(file).publish(root / "final").bytes().empty());
  CHECK(fs::file_size(root / "final") == 0);

  mds::detail::temporary_file pieces(root / "pieces", 5);
  CHECK(pieces.view().size() == 5);
  pieces.put(0, mds::as_bytes("later"));
  CHECK(mds::as_text(pieces.view()) == "later");
}

TEST_CASE("another local is advised where the place is why a cache cannot be written", "[cache]") {
  const scratch root;
  write_file(root / "file", {});
  const std::string advice = "the cache directory cannot be written: choose another local";
  expect_error([&] { mds::detail::make_cache_directory(root / "file/cache"); }, errc::not_found,
               {advice, "file/cache"});
  mds::detail::make_cache_directory(root / "a/b");
  CHECK(fs::is_directory(root / "a/b"));
  const auto of = [](int failure) { return mds::detail::no_cache_directory(failure, "/cache"); };
  for (const int refused : {EACCES, EPERM, EROFS}) {
    CHECK(of(refused).code() == errc::permission_denied);
    CHECK(std::string(of(refused).what()).starts_with(advice + " (/cache)"));
  }
  for (const auto& [failure, code] : {std::pair{ENOSPC, errc::no_space},
                                      {EDQUOT, errc::no_space},
                                      {EMFILE, errc::unavailable},
                                      {EIO, errc::io_error}}) {
    CHECK(of(failure).code() == code);
    CHECK(std::string(of(failure).what()).starts_with("the cache directory cannot be written ("));
  }
}

TEST_CASE("what can not be made or named is an error that leaves nothing", "[cache]") {
  const scratch root;
  write_file(root / "there", {});
  expect_error([&] { mds::detail::temporary_file(root / "there", 1); }, errc::io_error, {"there"});
  expect_error([&] { mds::detail::temporary_file(root / "no/such/x", 1); }, errc::not_found,
               {"no/such"});
  {
    mds::detail::temporary_file file(root / "tmp", 1);
    expect_error([&] { (void)std::move(file).publish(root / "no/such"); }, errc::not_found);
  }
  CHECK_FALSE(fs::exists(root / "tmp"));
}

TEST_CASE("locks of two descriptions exclude each other as they should", "[cache]") {
  using mds::detail::lock_kind;
  const scratch root;
  const std::string path = root / "lock";
  const mds::detail::unique_fd first = mds::detail::try_lock_path(path, lock_kind::shared);
  REQUIRE(first);
  CHECK(mds::detail::try_lock_path(path, lock_kind::shared));
  CHECK_FALSE(mds::detail::try_lock_path(path, lock_kind::exclusive));
  REQUIRE(mds::detail::try_lock_file(first.get(), lock_kind::exclusive, path));
  CHECK_FALSE(mds::detail::try_lock_path(path, lock_kind::shared));
  REQUIRE(mds::detail::try_lock_file(first.get(), lock_kind::shared, path));
  CHECK(mds::detail::try_lock_path(path, lock_kind::shared));

  fs::remove(path);
  CHECK_FALSE(mds::detail::is_linked(first.get()));
  const mds::detail::unique_fd anew = mds::detail::try_lock_path(path, lock_kind::exclusive);
  REQUIRE(anew);  // the old file's lock does not count for the new one
  CHECK(mds::detail::is_linked(anew.get()));
}

}  // namespace files_test
