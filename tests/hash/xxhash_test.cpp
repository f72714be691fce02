#include <mdstream/hash/xxhash.hpp>

#include <mdstream/hash/choice.hpp>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/golden_file.hpp"

namespace xxhash_test {

using mdstream::any_xxhash;
using mdstream::as_bytes;

std::string golden_file(const std::string& name) {
  std::ifstream in(support::golden_file("mds/all_hashes/data/" + name), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace xxhash_test

TEST_CASE("the xxHash family gives the digests of the reference", "[hash]") {
  using namespace xxhash_test;
  const std::string zip = golden_file("shard.00000.mds.zstd");
  const auto index = nlohmann::json::parse(golden_file("index.json"));
  int checked = 0;
  for (const auto& [name, hex] : index.at("shards")[0].at("zip_data").at("hashes").items()) {
    if (!any_xxhash::serves(name)) continue;
    INFO(name);
    CHECK(mdstream::hash_of<any_xxhash>(name, as_bytes(zip)) == hex.get<std::string>());
    ++checked;
  }
  CHECK(checked == 5);
}

TEST_CASE("xxHash values of the empty input", "[hash]") {
  using namespace xxhash_test;
  CHECK(mdstream::hash_of<any_xxhash>("xxh32", {}) == "02cc5d05");
  CHECK(mdstream::hash_of<any_xxhash>("xxh64", {}) == "ef46db3751d8e999");
  CHECK(mdstream::hash_of<any_xxhash>("xxh3_64", {}) == "2d06800538d394c2");
  CHECK(mdstream::hash_of<any_xxhash>("xxh3_128", {}) == "99aa06d3014798d86001c324468d497f");
  CHECK(mdstream::hash_of<any_xxhash>("xxh128", {}) == "99aa06d3014798d86001c324468d497f");
}

TEST_CASE("a hash over pieces is the hash over the whole, and copies go on apart", "[hash]") {
  using namespace xxhash_test;
  std::string text;
  for (int i = 0; i < 3000; ++i) text += static_cast<char>(i * 7);
  for (const char* name : {"xxh32", "xxh64", "xxh3_64", "xxh3_128"}) {
    INFO(name);
    any_xxhash pieces = any_xxhash::open(name);
    for (std::size_t at = 0; at < text.size(); at += 17)
      pieces.update(as_bytes(std::string_view(text).substr(at, 17)));
    CHECK(pieces.hex() == mdstream::hash_of<any_xxhash>(name, as_bytes(text)));
    any_xxhash longer = pieces;
    longer.update(as_bytes("x"));
    CHECK(longer.hex() != pieces.hex());
  }
}

TEST_CASE("each hash serves its own names only", "[hash]") {
  CHECK(mdstream::hash::xxh128::serves("xxh3_128"));
  CHECK(mdstream::hash::xxh128::serves("xxh128"));
  CHECK_FALSE(mdstream::hash::xxh64::serves("xxh3_64"));
  support::expect_error([] { (void)mdstream::hash::xxh64::open("sha1"); },
                        mdstream::errc::unsupported, {"(xxh64)", "sha1"});
}
