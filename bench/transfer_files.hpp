#pragma once

// Objects that a server has as files, programs that fetch them, and what the programs have fetched.

#include "support/harness.hpp"
#include "support/program.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench {

inline constexpr std::size_t mib = std::size_t{1} << 20;
inline const std::string at_once = "16";  ///< copies under way

/// A directory that goes with this object.
class folder {
 public:
  explicit folder(std::filesystem::path where) : path_(std::move(where)) { empty(); }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  ~folder() { std::filesystem::remove_all(path_); }

  void empty() const {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ / name; }
  [[nodiscard]] std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Objects of one size with different bytes, as files of `bucket/`.
struct objects {
  objects(const folder& where, std::size_t count, std::size_t size) : bytes(size) {
    std::vector<std::uint64_t> words(size / sizeof(std::uint64_t));
    std::mt19937_64 random(1);
    for (std::uint64_t& word : words) word = random();
    std::filesystem::create_directories(where / "bucket");
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t at = i % 64; at < words.size(); at += 64) words[at] += i;
      names.push_back("object-" + std::to_string(i));
      std::ofstream(where / ("bucket/" + names.back()), std::ios::binary)
          .write(reinterpret_cast<const char*>(words.data()), static_cast<std::streamsize>(size));
    }
  }
  [[nodiscard]] std::uint64_t total() const { return bytes * names.size(); }

  std::vector<std::string> names{};
  std::size_t bytes;
};

inline void write_lines(const std::string& path, const std::vector<std::string>& names,
                        const std::function<std::string(const std::string&)>& line) {
  std::ofstream out(path);
  for (const std::string& name : names) out << line(name) << '\n';
}

inline bool same_bytes(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::ifstream left(a, std::ios::binary), right(b, std::ios::binary);
  std::vector<char> x(mib), y(mib);
  while (left && right) {
    left.read(x.data(), static_cast<std::streamsize>(x.size()));
    right.read(y.data(), static_cast<std::streamsize>(y.size()));
    if (left.gcount() != right.gcount() ||
        !std::equal(x.begin(), x.begin() + left.gcount(), y.begin())) {
      return false;
    }
  }
  return !left && !right;
}

/// The files that have the names of objects, wherever a program has put them, are those objects:
/// all bytes of them the first time, their number and sizes later.
inline void check(const std::filesystem::path& from, const std::filesystem::path& into,
                  const objects& expected, bool every_byte) {
  std::size_t found = 0;
  for (const auto& each : std::filesystem::recursive_directory_iterator(into)) {
    if (!each.is_regular_file() || each.path().filename().string().starts_with(".")) continue;
    if (each.file_size() != expected.bytes ||
        (every_byte && !same_bytes(each.path(), from / each.path().filename()))) {
      throw std::runtime_error("a copy has other bytes: " + each.path().string());
    }
    ++found;
  }
  if (found != expected.names.size()) throw std::runtime_error("objects are missing in a copy");
}

/// A program that fills an empty folder with the objects.
inline contender download(const std::string& who, std::vector<std::string> words,
                          const folder& from, const folder& into, const objects& expected) {
  auto first = std::make_shared<bool>(true);
  return contender::measured(who, [=, &from, &into, &expected] {
    into.empty();
    const program_cost cost = run_program(words);
    check(from / "bucket", into.path(), expected, std::exchange(*first, false));
    into.empty();
    return turn{static_cast<double>(expected.total()), cost.seconds, cost.cpu_s, cost.resident_mb};
  });
}

}  // namespace bench
