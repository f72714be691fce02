// Runs every fuzz target on its corpus, on the golden files, and on these with bytes cut off and
// changed.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "fuzz/targets.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

namespace fuzz_replay {

namespace fs = std::filesystem;

const std::string data = MDSTREAM_TEST_DATA;

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// With its size in front.
std::string part(const std::string& bytes) {
  const auto size = static_cast<std::uint32_t>(bytes.size());
  return std::string(reinterpret_cast<const char*>(&size), 4) + bytes;
}

std::vector<std::string> corpus_of(const std::string& target) {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(data + "/fuzz/corpus/" + target))
    out.push_back(read(entry.path()));
  for (const auto& entry : fs::recursive_directory_iterator(data + "/golden/mds")) {
    const fs::path& path = entry.path();
    if ((target == "index" && path.filename() == "index.json") ||
        (target == "mds_shard" && path.extension() == ".mds") ||
        (target == "json" && path.filename() == "dataset.json"))
      out.push_back(read(path));
    if (target == "row_shard" && path.extension() == ".meta")
      out.push_back(part(read(path)) + read(fs::path(path).replace_extension()));
    if (target == "collate" && path.filename() == "shard.00000.mds" &&
        fs::exists(path.parent_path() / "index.json"))
      out.push_back(part(read(path.parent_path() / "index.json")) + read(path));
    if (target == "codec" && path.stem().extension() == ".mds")
      out.push_back(path.extension().string().substr(1) + "\n" + read(path));
  }
  for (const auto& entry : fs::directory_iterator(data + "/golden/raw")) {
    const fs::path& path = entry.path();
    if ((target == "raw_jsonl" && path.extension() == ".jsonl") ||
        ((target == "raw_csv" || target == "raw_text") && path.extension() == ".csv") ||
        (target == "raw_tar" && path.extension() == ".tar") ||
        (target == "raw_parquet" && path.extension() == ".parquet"))
      out.push_back(read(path));
    if (target == "raw_tokens" && path.extension() == ".bin") {
      const fs::path index = fs::path(path).replace_extension(".idx");
      out.push_back(part(fs::exists(index) ? read(index) : "") + read(path));
    }
  }
  return out;
}

}  // namespace fuzz_replay

TEST_CASE("fuzz targets stand their corpus, whole, cut and changed", "[fuzz]") {
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (const fuzz::target& target : fuzz::targets) {
    INFO(target.name);
    const std::vector<std::string> corpus = fuzz_replay::corpus_of(target.name);
    REQUIRE(corpus.size() > 1);
    for (const std::string& input : corpus) {
      CHECK_NOTHROW(target.run(input));
      const bool large = input.size() > 50'000;
      for (int i = 0; i < (large ? 2 : 20) && !input.empty(); ++i) {
        std::string changed =
            input.substr(0, random() % 4 == 0 ? random() % input.size() : input.size());
        for (auto n = random() % 4; n > 0 && !changed.empty(); --n) {
          // at the front, or at the end, where some formats tell what they hold
          const std::size_t at = random() % std::min<std::size_t>(changed.size(), 200);
          changed[random() % 2 == 0 ? at : changed.size() - 1 - at] = static_cast<char>(random());
        }
        CHECK_NOTHROW(target.run(changed));
      }
    }
  }
}
