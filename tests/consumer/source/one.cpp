// Reads what the other translation unit wrote: with CONSUMER_READS in batches. Without, it leaves
// the library to the other, as both would take the compiler a while.
#ifdef CONSUMER_READS
#include "consumer.hpp"
#endif

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

void write_dataset(const std::string& where);

namespace {

#ifdef CONSUMER_READS
// Every sample once, with the value that was written for it.
bool reads_all(const std::string& from, const std::string& cache) {
  mds::loader<policies> loader({.remote = from, .local = cache, .batch_size = 8});
  std::set<std::uint32_t> seen;
  for (auto& batch : loader.epoch()) {
    const auto tokens = batch.get<"token">();
    const auto weights = batch.get<"weight">();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (weights[i] != tokens[i] * 0.5) return false;
      seen.insert(tokens[i]);
    }
  }
  return seen.size() == sample_count && *seen.rbegin() == sample_count - 1;
}
#else
bool reads_all(const std::string& from, const std::string&) {
  return std::filesystem::exists(from + "/index.json");
}
#endif

}  // namespace

int main() {
  std::string folder = (std::filesystem::temp_directory_path() / "consumer-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  write_dataset(folder + "/store");
  const bool good = reads_all(folder + "/store", folder + "/cache");
  std::filesystem::remove_all(folder);
  std::puts(good ? "all samples were read back" : "samples are missing or wrong");
  return good ? 0 : 1;
}
