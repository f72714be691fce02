#pragma once

// What the benchmarks of whole epochs have in common: datasets that are written once, a cache that
// is emptied, and the reader that is started as a trainer would be (support/reader.cpp).

#include "support/harness.hpp"
#include "support/peer.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace fs = std::filesystem;

/// The words `key=value` that a reader printed, and how long it took from its start to its end, by
/// the clock and of processors.
struct reading {
  std::map<std::string, double> said{};
  double seconds = 0, cpu_s = 0;

  [[nodiscard]] double operator[](const std::string& key) const { return said.at(key); }
};

/// Readers that run side by side, one line of arguments each.
inline std::vector<reading> run_readers(const std::vector<std::vector<std::string>>& arguments) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::unique_ptr<child_process>> children;
  for (const std::vector<std::string>& each : arguments) {
    std::vector<std::string> words{BENCH_READER};
    words.insert(words.end(), each.begin(), each.end());
    children.push_back(std::make_unique<child_process>(words));
  }
  std::vector<reading> out;
  for (const auto& child : children) {
    std::istringstream line(child->line());
    reading got;
    for (std::string word; line >> word;) {
      const std::size_t equals = word.find('=');
      got.said[word.substr(0, equals)] = std::stod(word.substr(equals + 1));
    }
    if (got.said.empty()) throw std::runtime_error("a reader failed");
    got.cpu_s = child->wait_for_end();
    got.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    out.push_back(std::move(got));
  }
  return out;
}

inline reading run_reader(const std::vector<std::string>& arguments) {
  return run_readers({arguments}).front();
}

/// A dataset that the reader writes, unless an earlier run has written the same there.
inline void write_once(const fs::path& where, std::vector<std::string> how) {
  const std::string note = where.string() + ".written";
  std::string words;
  for (const std::string& word : how) words += word + '\n';
  std::ostringstream written;
  written << std::ifstream(note).rdbuf();
  if (written.str() == words && fs::exists(where / "index.json")) return;
  fs::remove_all(where);
  how.insert(how.begin(), {"write", where.string()});
  (void)run_reader(how);
  std::ofstream(note) << words;
}

/// A directory that is made anew and goes with the object.
class fresh_directory {
 public:
  explicit fresh_directory(fs::path where) : path_(std::move(where)) { empty(); }
  fresh_directory(const fresh_directory&) = delete;
  fresh_directory& operator=(const fresh_directory&) = delete;
  ~fresh_directory() { fs::remove_all(path_); }

  void empty() const {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

/// Shard files of a dataset, by name.
inline std::vector<std::string> shard_files(const fs::path& of) {
  std::vector<std::string> names;
  for (const auto& each : fs::directory_iterator(of))
    if (each.path().filename().string().starts_with("shard."))
      names.push_back(each.path().filename());
  std::ranges::sort(names);
  return names;
}

}  // namespace bench
