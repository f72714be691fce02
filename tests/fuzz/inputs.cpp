// What the targets begin with: the committed corpus and the golden files.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/targets.hpp"

namespace fuzz_inputs {

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

}  // namespace fuzz_inputs

namespace fuzz {

std::vector<std::string> inputs_of(const std::string& target) {
  using namespace fuzz_inputs;
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

std::vector<std::string> corpus_names() {
  std::vector<std::string> out;
  for (const auto& entry : fuzz_inputs::fs::directory_iterator(fuzz_inputs::data + "/fuzz/corpus"))
    out.push_back(entry.path().filename());
  return out;
}

}  // namespace fuzz
