#include <mdstream/format/file_info.hpp>

#include <string>

#include "support/catch.hpp"

TEST_CASE("files have the reference's names", "[file_info]") {
  using mdstream::shard_file_name;
  using mdstream::shard_format;
  CHECK(shard_file_name(0, shard_format::mds, false, "") == "shard.00000.mds");
  CHECK(shard_file_name(17, shard_format::mds, false, "zstd") == "shard.00017.mds.zstd");
  CHECK(shard_file_name(99999, shard_format::json, true, "gz") == "shard.99999.json.meta.gz");
  CHECK(shard_file_name(100000, shard_format::csv, false, "") == "shard.100000.csv");
}

TEST_CASE("names that leave the directory are unsafe", "[file_info]") {
  using mdstream::unsafe_file_name;
  for (const char* good : {"shard.00000.mds", "0/shard.00000.mds", "a/b/c", "..x", "x..", "a b"})
    CHECK_FALSE(unsafe_file_name(good));
  for (const char* bad : {"", "/etc/passwd", "..", "../x", "a/../../x", "a/..", "a//b", "./a", "a/",
                          ".mdstream/x", "a/.mdstream/x", "index.json", "0/index.json"})
    CHECK(unsafe_file_name(bad));
  CHECK(unsafe_file_name(std::string_view("a\0b", 3)));
}

TEST_CASE("a digest is found by name", "[file_info]") {
  const mdstream::file_info file{
      .name = "x", .bytes = 1, .hashes = {{"md5", "00"}, {"xxh64", "11"}}};
  REQUIRE(file.hash("xxh64") != nullptr);
  CHECK(*file.hash("xxh64") == "11");
  CHECK(file.hash("sha1") == nullptr);
}
