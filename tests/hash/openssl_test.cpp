#include <mdstream/hash/openssl.hpp>

#include <mdstream/hash/choice.hpp>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "support/catch.hpp"
#include "support/golden_file.hpp"

namespace openssl_test {

using mdstream::any_openssl_hash;
using mdstream::as_bytes;

std::string golden_file(const std::string& name) {
  std::ifstream in(support::golden_file("mds/all_hashes/data/" + name), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace openssl_test

TEST_CASE("OpenSSL's hashes give the digests of the reference", "[hash]") {
  using namespace openssl_test;
  const std::string zip = golden_file("shard.00000.mds.zstd");
  const auto index = nlohmann::json::parse(golden_file("index.json"));
  int checked = 0;
  for (const auto& [name, hex] : index.at("shards")[0].at("zip_data").at("hashes").items()) {
    if (!any_openssl_hash::serves(name)) continue;
    INFO(name);
    CHECK(mdstream::hash_of<any_openssl_hash>(name, as_bytes(zip)) == hex.get<std::string>());
    CHECK(mdstream::digest_bytes(name) == hex.get<std::string>().size() / 2);
    ++checked;
  }
  CHECK(checked == 12);
}

TEST_CASE("digests may be taken midway, and copies go on apart", "[hash]") {
  using namespace openssl_test;
  for (const char* name : {"sha1", "blake2s", "sha3_224"}) {
    INFO(name);
    any_openssl_hash one = any_openssl_hash::open(name);
    one.update(as_bytes("some "));
    any_openssl_hash other = one;
    CHECK(one.hex() == mdstream::hash_of<any_openssl_hash>(name, as_bytes("some ")));
    one.update(as_bytes("text"));
    other = one;
    CHECK(other.hex() == mdstream::hash_of<any_openssl_hash>(name, as_bytes("some text")));
  }
  CHECK(mdstream::hash_of<mdstream::hash::md5>("md5", {}) == "d41d8cd98f00b204e9800998ecf8427e");
}
