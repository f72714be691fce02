#include <mdstream/cache/detail/resident_shards.hpp>
#include <mdstream/cache/detail/shard_ref.hpp>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cache/fixture.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

// Shards that lie in a directory, found and mapped without a word to other processes, and the
// references to them.

namespace resident_shards_test {

using namespace cache_test;

/// Shards `0.bin`, `1.bin`, ... of `10 + number` bytes; odd ones have a meta file of 5 bytes.
struct setting {
  scratch root{};
  mds::detail::shard_catalog catalog{root.path(), {stream()}};
  mds::detail::resident_shards shards{catalog, 2};

  [[nodiscard]] mds::detail::catalog_stream stream() const {
    return {.name = "numbers",
            .directory = root.path(),
            .shards = 4,
            .files =
                [](std::uint32_t i) {
                  mds::detail::shard_files files{
                      {.raw_name = std::to_string(i) + ".bin", .raw_bytes = 10 + i}};
                  if (i % 2 == 1)
                    files.meta = mds::detail::shard_file{.raw_name = std::to_string(i) + ".meta",
                                                         .raw_bytes = 5};
                  return files;
                },
            .sizes = [](std::uint32_t i) { return mds::detail::shard_sizes{10 + i, 0}; }};
  }
  void put(const std::string& name, std::size_t size) const {
    write_file(root / name, std::vector<std::byte>(size, static_cast<std::byte>(size)));
  }
};

TEST_CASE("a shard is found once all of its files lie there", "[cache]") {
  setting at;
  CHECK_FALSE(at.shards.find(0));
  CHECK_FALSE(at.shards.has_file(0));
  at.put("0.bin", 10);
  CHECK(at.shards.has_file(0));
  const std::optional<mds::detail::shard_ref> plain = at.shards.find(0);
  REQUIRE(plain);
  CHECK(plain->bytes().size() == 10);
  CHECK(at.shards.slots().mapped() == 1);

  at.put("1.bin", 11);
  CHECK_FALSE(at.shards.find(1));
  at.put("1.meta", 5);
  const std::optional<mds::detail::shard_ref> two = at.shards.find(1);
  REQUIRE(two);
  const std::size_t meta = mds::detail::file_mapping::whole_pages(11);
  REQUIRE(two->bytes().size() == meta + 5);
  CHECK(two->bytes()[10] == std::byte{11});
  CHECK(two->bytes()[meta] == std::byte{5});

  at.put("2.bin", 11);
  support::expect_error([&] { (void)at.shards.find(2); }, mds::errc::corrupt,
                        {"11 bytes", "index says 12"});
}

TEST_CASE("more shards than may be mapped push out those that nobody holds", "[cache]") {
  setting at;
  at.put("0.bin", 10);
  at.put("2.bin", 12);
  at.put("3.bin", 13);
  at.put("3.meta", 5);
  const std::optional<mds::detail::shard_ref> held = at.shards.find(0);
  CHECK(at.shards.find(2));
  CHECK(at.shards.find(3));
  CHECK(at.shards.slots().mapped() == 2);
  CHECK(held->bytes().size() == 10);
  CHECK_FALSE(at.shards.slots().try_acquire(2));
}

TEST_CASE("a shard in the making gets its name, and a damaged file goes", "[cache]") {
  setting at;
  const std::string made = at.shards.temporary_name(0);
  CHECK(made != at.shards.temporary_name(0));
  mds::detail::temporary_file file(made, 10);
  file.memory()[9] = std::byte{7};
  const mds::detail::shard_ref ref =
      at.shards.hold(0, at.shards.publish(0, {.raw = std::move(file)}), mds::detail::unique_fd());
  CHECK(ref.bytes()[9] == std::byte{7});
  CHECK_FALSE(std::filesystem::exists(made));
  at.shards.discard(at.shards.path(0));
  CHECK_FALSE(at.shards.has_file(0));
  CHECK(ref.bytes()[9] == std::byte{7});  // the mapping stays
}

TEST_CASE("references are counted, and what was found out of a mapping is kept with it",
          "[cache]") {
  CHECK_FALSE(static_cast<bool>(mds::detail::shard_ref()));
  setting at;
  at.put("0.bin", 10);
  mds::detail::shard_ref one = *at.shards.find(0);
  mds::detail::shard_ref two = one;
  mds::detail::shard_ref three = std::move(one);
  CHECK_FALSE(static_cast<bool>(one));
  one = two;
  CHECK(one.bytes().data() == three.bytes().data());
  const auto refuse = []() -> const std::byte* { throw std::runtime_error("not yet"); };
  const std::byte* const fifth = two.bytes().data() + 5;
  CHECK_THROWS_AS(two.landmark(refuse), std::runtime_error);
  CHECK(two.landmark([&] { return fifth; }) == fifth);
  CHECK(three.landmark(refuse) == fifth);
  for (mds::detail::shard_ref* each : {&one, &two, &three}) {
    CHECK_FALSE(at.shards.slots().unmap(0));
    *each = {};
  }
  CHECK(at.shards.slots().unmap(0));
  const mds::detail::shard_ref anew = *at.shards.find(0);
  CHECK_THROWS_AS(anew.landmark(refuse), std::runtime_error);
}

}  // namespace resident_shards_test
