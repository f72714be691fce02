#include <mdstream/codec/full.hpp>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "support/catch.hpp"
#include "support/golden_file.hpp"

namespace codec_full_test {

std::string golden(const std::string& name) {
  std::ifstream in(support::golden_file("mds/" + name), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace codec_full_test

TEST_CASE("what Python compressed is decompressed to the size that the index says", "[codec]") {
  using mdstream::full_codec;
  CHECK(full_codec::served() == "zstd, gz, bz2, br, snappy");
  for (const std::string name : {"text_zstd", "text_zstd_22", "text_gz", "text_gz_1", "text_bz2",
                                 "text_bz2_1", "text_br", "text_br_0", "text_snappy"}) {
    const auto index = nlohmann::json::parse(codec_full_test::golden(name + "/data/index.json"));
    std::string first;  // the raw bytes hold the compression's name, so only sizes are alike
    for (const auto& shard : index.at("shards")) {
      const auto text = shard.at("compression").get<std::string>();
      const std::string zip = codec_full_test::golden(
          name + "/data/" + shard.at("zip_data").at("basename").get<std::string>());
      REQUIRE(zip.size() == shard.at("zip_data").at("bytes").get<std::size_t>());
      std::string raw(shard.at("raw_data").at("bytes").get<std::size_t>(), '\0');
      mdstream::diagnostics where;
      INFO(name << " " << where.what);
      REQUIRE_FALSE(full_codec::open(text).decompress(
          mdstream::as_bytes(zip), std::as_writable_bytes(std::span(raw)), where));
      CHECK(mdstream::load<std::uint32_t>(mdstream::as_bytes(raw).data()) ==
            shard.at("samples").get<std::uint32_t>());
      CHECK(raw.find("\"compression\": \"" + text + '"') != std::string::npos);
    }
  }
}
