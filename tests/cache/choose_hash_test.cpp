#include <mdstream/cache/detail/choose_hash.hpp>

#include <mdstream/hash/xxhash.hpp>

#include <cstddef>
#include <string>

#include "cache/fixture.hpp"
#include "support/catch.hpp"

namespace choose_hash_test {

using namespace cache_test;

std::string chosen(const mds::file_info& file, std::string_view asked) {
  const mds::file_hash* const found =
      mds::detail::choose_hash(file, asked, mds::detail::hash_set::of<mds::any_xxhash>());
  return found == nullptr ? "" : found->name;
}

}  // namespace choose_hash_test

TEST_CASE("a file is checked by the hash asked for, else by the cheapest that can be computed",
          "[cache]") {
  using namespace choose_hash_test;
  const mds::file_info file{
      .name = "x", .hashes = {{"sha256", "1"}, {"xxh64", "2"}, {"own", "3"}, {"xxh3_64", "4"}}};
  CHECK(chosen(file, "") == "xxh3_64");
  CHECK(chosen(file, "xxh64") == "xxh64");
  CHECK(chosen(file, "sha256") == "sha256");  // whether it can be computed is told by who does
  CHECK(chosen(file, "md5").empty());
  CHECK(chosen(file, mds::detail::no_hash).empty());
  CHECK(chosen({.name = "x", .hashes = {{"sha256", "1"}, {"own", "3"}}}, "").empty());
  CHECK(chosen({.name = "x"}, "").empty());
}

TEST_CASE("the hash of an open file is that of its bytes, whatever their number", "[cache]") {
  using namespace choose_hash_test;
  const scratch root;
  const std::string path = root / "file";
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{7}, std::size_t{1} << 20,
                                  (std::size_t{1} << 20) + 1, std::size_t{2} << 20}) {
    std::string content(bytes, 'x');
    for (std::size_t i = 0; i < bytes; i += 97) content[i] = static_cast<char>(i);
    write_file(path, mds::as_bytes(content));
    const mds::detail::unique_fd fd = mds::detail::open_file(path, O_RDONLY);
    CHECK(mds::detail::hash_of_file(mds::detail::hash_set::of<mds::any_xxhash>(), "xxh3_64",
                                    fd.get(), path) ==
          mds::hash_of<mds::any_xxhash>("xxh3_64", mds::as_bytes(content)));
  }
}
